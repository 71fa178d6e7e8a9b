"""Which clock times a benchmark: that of the device of its tensors."""

import sys
from collections.abc import Callable, Sequence

from .clock import Clock, HostClock


def clock_for(devices: Sequence[str], timer: Callable[[], float], *, flush: bool) -> Clock:
    """Return the clock for inputs on these kinds of devices.

    Args:
        devices: `cpu`, `cuda`, ... of the inputs' tensors.
        timer: of the host.
        flush: whether the GPU's L2 cache is emptied before each round.

    Raises:
        ClockError: the timer stands still.
    """
    torch = sys.modules.get("torch")
    # A function may hold its tensors where nobody sees them; a GPU that nobody uses is not initialised.
    if "cuda" in devices or (torch and torch.cuda.is_initialized()):
        from .cuda_clock import CudaClock

        return CudaClock(flush=flush, inputs_there="cuda" in devices)
    return HostClock.of(timer)
