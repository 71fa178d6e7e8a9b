"""What makes a host's clock right for kernels that run on a device."""

from collections.abc import Callable
from typing import Any

import torch


def synchronized(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with a wait for the GPU at its end, so that a clock around it times the kernels.

    Without it only their launch is timed.
    """

    def synchronized_run(*inputs: Any) -> Any:
        output = run(*inputs)
        torch.cuda.synchronize()
        return output

    return synchronized_run
