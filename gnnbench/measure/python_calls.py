"""Counts the calls of Python functions that a call makes."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

_WRAPPERS = ("torch._dynamo", "torch.compiler", "torch._jit_internal", "torch_geometric.hash_tensor")
_PATHS = ("posixpath", "ntpath")

PASSED_OVER = _WRAPPERS + _PATHS
"""Modules whose functions are not counted. The first wrap PyTorch's functions after a compilation or an
import of PyG, so whether they run depends on what the process did before. The others are `os.path`: how often
it calls its own functions depends on the depth of the folder."""

Profile = Callable[[FrameType, str, Any], None]
"""A profile function, as `sys.setprofile` takes it."""


def python_calls(run: Callable[[], object], also: Profile | None = None) -> int:
    """Count calls of Python functions, without those of PASSED_OVER.

    Args:
        run: the function, called just before, so that its caches are filled: Python clears its cache of
            `isinstance` checks when a module registers a class with an abstract base class.
        also: gets all events of the counted call.
    """
    calls = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        if event == "call":
            calls += not str(frame.f_globals.get("__name__")).startswith(PASSED_OVER)
        if also:
            also(frame, event, argument)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(before)
    return calls
