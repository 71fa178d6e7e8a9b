"""By how much one call lets the resident set of the process grow.

The system knows the peak of the resident set since it was last reset. Memory that the allocator of C keeps
for later would hide a call's growth, so it is given back before. Not exact: pages count when they are first
written to, and what Python keeps of earlier calls serves again.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path

from .conditions import collector_paused

_RESET = Path("/proc/self/clear_refs")
_PEAK = "5"
"""What resets the peak, see proc(5)."""
_STATUS = Path("/proc/self/status")


def growth_bytes(run: Callable[[], object]) -> int | None:
    """Call a function, in any case, and return by how much the resident set grew at most.

    Returns:
        Bytes beyond what was resident before the call; None: only Linux can tell.
    """
    with collector_paused():
        trim()
        try:
            _RESET.write_text(_PEAK)
        except OSError:
            run()
            return None
        before = _peak_bytes()
        run()
        return max(_peak_bytes() - before, 0)


def trim() -> None:
    """Give memory that the allocator of C keeps for later back to the system, where the C library can."""
    _malloc_trim()(0)


@cache
def _malloc_trim() -> Callable[[int], object]:
    return getattr(ctypes.CDLL(None), "malloc_trim", lambda _: None)


def _peak_bytes() -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024
