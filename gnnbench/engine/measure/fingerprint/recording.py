"""What one call runs: Python functions, C functions, operators with their arguments."""

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
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
"""C functions after which code runs that is not recorded."""

_WRAPPERS = ("torch._dynamo", "torch.compiler", "torch._jit_internal", "torch_geometric.hash_tensor")
_PATHS = ("posixpath", "ntpath")

PASSED_OVER = _WRAPPERS + _PATHS
"""Modules whose functions are not counted. The first wrap PyTorch's functions after a compilation or an
import of PyG, so whether they run depends on what the process did before. The others are `os.path`: how often
it calls its own functions depends on the depth of the folder."""
_PACKAGE = __name__.partition(".")[0]
_UNRECORDED = (
    *(*PASSED_OVER, "_pytest."),
    *(f"{_PACKAGE}.{part}." for part in ("engine", "suite.plugin")),
)
"""Modules whose functions are not recorded: also those of pytest, and of gnnbench's engine and plugin."""
_IMPORT = "<frozen importlib"
"""Beginning of the files of Python's import."""
_MODULE = "<module>"
Profile = Callable[[FrameType, str, Any], None]
"""A profile function, as `sys.setprofile` takes it."""
_CHECKED = 1000
"""Events between two looks at the time."""
_DEEPEST = 2
"""Containers among the arguments are searched for objects up to this level."""
_READS_VARIABLE = type(os.environ).__getitem__.__code__
_OWN = Call.__call__.__code__
identity = object.__hash__
"""The number of a live object that `id` returns, too. But `id` raises an audit event, as reading `f_code`
does, and with an audit hook that takes longer than everything else in this module."""


class Recording:
    """What one call ran; the methods are called while it runs.

    Objects that the functions got as arguments are kept until the recording is dropped, but no tensors.
    """

    def __init__(self, contents: Contents, expired: Callable[[], bool] = lambda: False) -> None:
        """`contents` describes values; `expired` tells whether the call has been recorded for too long."""
        contents.begin()
        self._contents, self._expired = contents, expired
        self._events = 0
        self._passed_over: set[int] = set()
        """Identities of the code of functions that do not count; nor do the C functions that these call."""
        self.functions: dict[int, tuple[CodeType, Mapping[str, Any]]] = {}
        """Code and global names of each Python function, by the identity of its code."""
        self.calls: Counter[int] = Counter()
        """Number of calls of each function, by the identity of its code."""
        self.objects: dict[int, Any] = {}
        """Arguments and closures of the functions, by identity, without plain values and tensors."""
        self.types: set[type] = set()
        """Types of their tensors and arrays: `x[index]` calls nothing that is seen."""
        self.captured: dict[int, dict[tuple[int, ...], tuple[Any, ...]]] = {}
        """Values of the closures of each function, by the identities of its code and of them."""
        self.c_functions: set[tuple[str, str]] = set()
        """Module and name of each."""
        self.variables: set[str] = set()
        """Environment variables that were read."""
        self.operators: list[tuple[str, str]] = []
        """Names of operators, in order, and their arguments."""
        self.namespaces: set[str] = set()
        """Namespaces of the operators: `aten`, `torch_sparse`; `torch` is among them."""
        self.unseen: str | None = None
        """Why a part of the call is not recorded."""
        self.given_up = False
        """Whether recording took too long: then the call went on unrecorded."""
        self.disturbed: str | None = None
        """Name of another Python thread that ran meanwhile, perhaps for the call."""

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        """Note a call; a profile function as `sys.setprofile` takes it."""
        self._events += 1
        if self.given_up or (self._events % _CHECKED == 0 and self._expired()):
            self.given_up = True
        elif event == "call":
            if not self._is_passed_over(frame.f_globals, frame.f_code):
                self._called(frame, frame.f_code)
        elif event == "c_call":
            key = argument.__module__ or type(argument.__self__).__module__, argument.__qualname__
            if key not in self.c_functions and identity(frame.f_code) not in self._passed_over:
                self.c_functions.add(key)
                if frame.f_code is not python_calls.__code__:
                    self.unseen = self.unseen or _UNSEEN.get(key)

    def _is_passed_over(self, scope: Mapping[str, Any], code: CodeType) -> bool:
        key = identity(code)
        if key in self.functions or key in self._passed_over:
            return key in self._passed_over
        is_import = code.co_filename.startswith(_IMPORT)
        if is_import or str(scope.get("__name__")).startswith(_UNRECORDED):
            self._passed_over.add(key)
        return code is _OWN or key in self._passed_over

    def _called(self, frame: FrameType, code: CodeType) -> None:
        key = identity(code)
        if key not in self.functions:
            self.functions[key] = code, frame.f_globals
        self.calls[key] += 1
        if code.co_name == _MODULE:  # its names are global
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
                self._keep(value)

    def _keep(self, value: Any, depth: int = 0) -> None:
        if isinstance(value, list | tuple | dict):
            if depth < _DEEPEST:
                for item in list(value.values() if isinstance(value, dict) else value):
                    self._keep(item, depth + 1)
        elif self._contents.is_leaf(value):
            self.types.add(type(value))
        else:
            self.objects[identity(value)] = value

    def operator(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
        """Note an operator that was dispatched."""
        if self.given_up or self._expired():
            self.given_up = True
            return
        self.namespaces |= {"torch", name.partition("::")[0]}
        arguments = f"{self._contents.text(args)} {self._contents.text(kwargs) if kwargs else ''}"
        self.operators.append((name, arguments))
        self._contents.made(result)


@contextmanager
def watched_threads(recording: Recording) -> Iterator[None]:
    """Note in the recording whether another Python thread runs meanwhile: its code is not recorded.

    Linux counts how often a thread has run (proc_pid_schedstat). Without counts, any other thread is noted.
    """
    before = _runs()
    yield
    after = _runs()
    for thread in before | after:
        runs = after.get(thread)
        if runs is None or before.get(thread) != runs:
            recording.disturbed = thread.name


def _runs() -> dict[threading.Thread, str | None]:
    """Return how often each other Python thread has run. None if unknown."""
    runs = dict[threading.Thread, str | None]()
    for thread in {*threading.enumerate()} - {threading.current_thread()}:
        runs[thread] = None
        with suppress(OSError):
            text = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text(encoding="ascii")
            runs[thread] = text.split()[-1]
    return runs


def python_calls(run: Callable[[], object], recorder: Profile | None = None) -> int:
    """Count calls of Python functions, without those of PASSED_OVER; `recorder` gets all events.

    The caller has just called the function, so that its caches are filled: Python clears its cache of
    `isinstance` checks when a module registers a class with an abstract base class.
    """
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
