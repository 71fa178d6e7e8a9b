"""Records the Python functions, C functions and operators that one call runs."""

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from ..clock import Call
from .digest import ATOMS, Contents

_STARTS = ("fork", "forkpty", "posix_spawn", "posix_spawnp", "system")
_UNSEEN = {
    ("_posixsubprocess", "fork_exec"): "the call starts a process",
    **{("posix", name): "the call starts a process" for name in _STARTS},
    **{("_thread", f"start_{kind}_thread"): "the call starts a thread" for kind in ("new", "joinable")},
    ("sys", "setprofile"): "the call sets a profile function",
    ("cProfile", "Profile.enable"): "the call starts a profiler",
}
"""C functions that start code that is not recorded, with the reason for `Recording.unseen`."""

_WRAPPERS = ("torch._dynamo", "torch.compiler", "torch._jit_internal", "torch_geometric.hash_tensor")
PASSED_OVER = (*_WRAPPERS, "posixpath")
"""Functions of these modules are not counted. Some wrap PyTorch's functions after a compilation or an import
of PyG. The number of calls in `os.path` depends on the depth of the folder."""
_PACKAGE = __name__.partition(".")[0]
_UNRECORDED = (
    *(*PASSED_OVER, "_pytest."),
    *(f"{_PACKAGE}.{part}." for part in ("engine", "suite.plugin")),
)
"""Functions of these modules are not recorded: PASSED_OVER, pytest, and gnnbench's engine and plugin."""
_IMPORT = "<frozen importlib"
"""Prefix of the file names of Python's import system."""
_MODULE = "<module>"
Profile = Callable[[FrameType, str, Any], None]
"""A profile function, as `sys.setprofile` takes it."""
_EVENTS_PER_CHECK = 1000
"""Number of events between two checks of the time limit."""
_DEEPEST = 2
"""Containers in arguments are searched for objects up to this depth."""
_READS_VARIABLE = type(os.environ).__getitem__.__code__
_CALL = Call.__call__.__code__
identity = object.__hash__
"""Returns the same number as `id`, without an audit event: hooks would take more time than the recording."""


class Recording:
    """The functions and operators of one call, with references to all arguments except tensors."""

    def __init__(self, contents: Contents, expired: Callable[[], bool] = lambda: False) -> None:
        """`contents` describes values; `expired` returns whether the recording takes too long."""
        contents.begin()
        self._contents, self._expired = contents, expired
        self._events = 0
        self._passed_over: set[int] = set()
        """Identities of the code of functions that are not recorded, and whose C calls are not recorded."""
        self.functions: dict[int, tuple[CodeType, Mapping[str, Any]]] = {}
        """Code and globals of each Python function, by the identity of its code."""
        self.calls: Counter[int] = Counter()
        """Numbers of calls of functions, by the identity of their code."""
        self.objects: dict[int, Any] = {}
        """Arguments and captured values of the functions, by identity, without plain values and tensors."""
        self.types: set[type] = set()
        """Types of tensors and arrays among the arguments: `x[i]` uses their library, but no Python frame."""
        self.captured: dict[int, dict[tuple[int, ...], tuple[Any, ...]]] = {}
        """Captured values of each function, by the identity of its code and by the values' identities."""
        self.c_functions: set[tuple[str, str]] = set()
        """Modules and names of C functions."""
        self.variables: set[str] = set()
        """Names of the environment variables that were read."""
        self.operators: list[tuple[str, str]] = []
        """Names and arguments of operators, in order."""
        self.namespaces: set[str] = set()
        """`torch`, and the namespaces of the operators, such as `aten` and `torch_sparse`."""
        self.unseen: str | None = None
        """Why a part of the call was not recorded. None if the whole call was recorded."""
        self.timed_out = False
        """Whether the recording took too long, and ended before the call did."""
        self.other_thread: str | None = None
        """Name of another Python thread that ran during the recording. None if none ran."""

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        """Record a call of a function; `sys.setprofile` takes this method."""
        self._events += 1
        if self.timed_out or (self._events % _EVENTS_PER_CHECK == 0 and self._expired()):
            self.timed_out = True
        elif event == "call":
            if not self._is_passed_over(frame.f_globals, frame.f_code):
                self._add_call(frame, frame.f_code)
        elif event == "c_call":
            key = argument.__module__ or type(argument.__self__).__module__, argument.__qualname__
            if key not in self.c_functions and identity(frame.f_code) not in self._passed_over:
                self.c_functions.add(key)
                if frame.f_code is not python_calls.__code__:  # which calls sys.setprofile itself
                    self.unseen = self.unseen or _UNSEEN.get(key)

    def _is_passed_over(self, scope: Mapping[str, Any], code: CodeType) -> bool:
        """Return whether a function, given its globals and its code, is not recorded."""
        key = identity(code)
        if key in self.functions or key in self._passed_over:
            return key in self._passed_over
        is_import = code.co_filename.startswith(_IMPORT)
        if is_import or str(scope.get("__name__")).startswith(_UNRECORDED):
            self._passed_over.add(key)
        return code is _CALL or key in self._passed_over

    def _add_call(self, frame: FrameType, code: CodeType) -> None:
        """Record a call of a Python function, with its arguments and captured values."""
        key = identity(code)
        if key not in self.functions:
            self.functions[key] = code, frame.f_globals
        self.calls[key] += 1
        if code.co_name == _MODULE:  # its local names are globals
            return
        local = frame.f_locals
        if code is _READS_VARIABLE:
            self.variables.add(str(local["key"]))
        if code.co_freevars:
            closure = (local.get(name) for name in code.co_freevars)
            values = tuple(value for value in closure if not isinstance(value, self._contents.tensors))
            self.captured.setdefault(key, {})[tuple(map(identity, values))] = values
        for value in local.values():
            if type(value) not in ATOMS and identity(value) not in self.objects:
                self._add_argument(value)

    def _add_argument(self, value: Any, depth: int = 0) -> None:
        """Add an argument, or the objects in it if it is a container."""
        if isinstance(value, list | tuple | dict):
            if depth < _DEEPEST:
                for item in list(value.values() if isinstance(value, dict) else value):
                    self._add_argument(item, depth + 1)
        elif self._contents.is_leaf(value):
            self.types.add(type(value))
        else:
            self.objects[identity(value)] = value

    def operator(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
        if self.timed_out or self._expired():
            self.timed_out = True
            return
        self.namespaces |= {"torch", name.partition("::")[0]}
        arguments = f"{self._contents.text(args)} {self._contents.text(kwargs) if kwargs else ''}"
        self.operators.append((name, arguments))
        self._contents.add_made(result)


def thread_runs() -> dict[threading.Thread, str | None]:
    """Return how often each other Python thread has run, from its file `schedstat`; None if unknown."""
    runs = dict[threading.Thread, str | None]()
    for thread in {*threading.enumerate()} - {threading.current_thread()}:
        runs[thread] = None
        with suppress(OSError):
            text = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text(encoding="ascii")
            runs[thread] = text.split()[-1]
    return runs


def python_calls(run: Callable[[], object], recorder: Profile | None = None) -> int:
    """Call `run`, and count its Python calls. Its caches must be filled. `recorder` gets all events."""
    calls = 0

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        if event == "call":
            calls += not str(frame.f_globals.get("__name__")).startswith(PASSED_OVER)
        if recorder:
            recorder(frame, event, argument)

    profiler = sys.getprofile()
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(profiler)
    return calls
