"""How much memory the process has allocated, exactly, to see what a call keeps."""

import ctypes
import sys
from functools import cache
from typing import Any

_FIELDS = (
    *("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks"),
    "keepcost",
)
_BLOCK_BYTES = 64
"""A block of Python's allocator has about so many; larger ones come from C's."""


class _Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in _FIELDS]


@cache
def _mallinfo() -> Any:
    """Return glibc's `mallinfo2`, see mallinfo(3); None with another C library."""
    function = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if function is not None:
        function.restype = _Info
    return function


def allocated_bytes() -> int:
    """Return what is allocated by C and Python, and on the GPU; what is mapped otherwise is not counted."""
    info = _mallinfo() and _mallinfo()()
    torch = sys.modules.get("torch")
    on_gpu = torch.cuda.memory_allocated() if torch and torch.cuda.is_initialized() else 0
    of_python = _BLOCK_BYTES * sys.getallocatedblocks()
    return of_python + on_gpu + (info.uordblks + info.hblkhd if info else 0)
