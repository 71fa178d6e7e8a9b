"""Chooses the clock that times a benchmark, by the device of its tensors."""

import sys
from collections.abc import Callable, Sequence

from .clock import Clock, HostClock


def clock_for(devices: Sequence[str], timer: Callable[[], float], *, flush: bool) -> Clock:
    """Return the clock for inputs on these devices.

    Args:
        devices: types of the devices of the inputs' tensors: `cpu`, `cuda`, ...
        timer: the host's timer, in seconds.
        flush: whether the GPU's L2 cache is flushed before each round.

    Raises:
        ClockError: the timer does not advance.
    """
    torch = sys.modules.get("torch")
    # A closure may hold tensors on the GPU that are no inputs. CUDA is then initialised.
    if "cuda" in devices or (torch and torch.cuda.is_initialized()):
        from .cuda_clock import CudaClock

        return CudaClock(flush=flush, inputs_there="cuda" in devices)
    return HostClock.of(timer)
