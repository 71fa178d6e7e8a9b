"""How much memory one call needs: that of PyTorch's allocators, and the growth of the resident set.

The system knows the peak of the resident set since it was last reset. Memory that the allocator of C keeps
for later would hide a call's growth, so it is given back before. Not exact: pages count when they are first
written to, and what Python keeps of earlier calls serves again.
"""

import ctypes
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .clock import Call
from .conditions import collector_paused

_RESET = Path("/proc/self/clear_refs")
_PEAK = "5"
"""What resets the peak, see proc(5)."""
_STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class Weight:
    """The memory of one call beside its inputs."""

    peak_bytes: int | None
    """From PyTorch's allocators; None: it has no tensors among its inputs, or cannot be traced."""
    resident_bytes: int | None
    """Growth of the resident set; None: only Linux can tell."""

    @property
    def limited_bytes(self) -> int | None:
        """What `max_memory` limits: the allocators' peak where there is one."""
        return self.resident_bytes if self.peak_bytes is None else self.peak_bytes


def weigh(call: Call, devices: Collection[str]) -> Weight:
    """Measure the memory of one call.

    Args:
        call: the function with its inputs. It is called several times.
        devices: types of the devices of the tensors among the inputs.
    """
    peak = None
    if devices:
        from . import memory

        peak = memory.trace(call.__call__, "cuda" if "cuda" in devices else "cpu").peak_bytes
    return Weight(peak, growth_bytes(call.__call__))


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
