"""Notes which code a process runs and which files it uses: these are the dependencies of its benchmarks.

Only processes that time nothing do this, because Python cannot remove an audit hook.
"""

import importlib.metadata
import importlib.util
import itertools
import os
import site
import sys
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any
from urllib.parse import unquote, urlsplit

from ...measure.fingerprint import libraries
from ..variants.import_roots import Trees
from .callers_files import CallersFiles, mapped_files
from .executed import FunctionRecorder

_IMPORTS = ("<frozen importlib", importlib.metadata.__file__)
_PACKAGE = __file__.removesuffix(os.path.join("engine", "process", "unchanged", "used.py"))
"""The folder of this package, as its functions name it; a side's gnnbench has another, see `child._BOOT`."""
_PAUSING = (os.path.join("pytest_benchmark", "fixture.py"), os.path.join(os.sep, "threading.py"))
"""Files that may set a profile function: one pauses profilers, the other sets that of a new thread."""
_PROCESS = "subprocess.Popen"
_STARTS = (_PROCESS, "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn")
"""Audit events of starting other processes, in which nothing is noted."""
_PATHS = (str, bytes, os.PathLike)
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")
_QUERIES = ("file", "git", "hg", "ldconfig", "lscpu", "nvidia-smi", "uname")
"""Programs that only describe the repository and the machine; pytest-benchmark runs some of them."""
_CACHED = f"{os.sep}__pycache__{os.sep}"
_SPAWNS = f"{os.sep}multiprocessing{os.sep}popen_"
_NEAR = 3
"""Number of frames to search for a function of this package that lists a folder, such as by `os.walk`."""
_COMPILER = os.path.join("torch", "_dynamo", "convert_frame.py")


def environment_folders() -> tuple[str, ...]:
    """Return the folders of Python and of installed packages, each with a separator at the end."""
    names = ("lib", sys.platlibdir)
    folders = {os.path.join(prefix, name) for prefix in (sys.prefix, sys.base_prefix) for name in names}
    folders |= {*site.getsitepackages(), site.getusersitepackages()}
    return tuple(sorted(f"{folder}{os.sep}" for folder in folders | set(map(os.path.realpath, folders))))


class UsageRecorder:
    """Notes what this process runs and reads from now on; there is one instance in a process."""

    def __init__(self, trees: Trees) -> None:
        self._trees, self._callers_files = trees, CallersFiles(trees, _PACKAGE)
        unchanging = libraries.hashes_folder(), os.path.realpath(sys.executable)
        self._outside = (*environment_folders(), *_SYSTEM, *(f"{path}{os.sep}" for path in unchanging))
        self._reported = {*sys.stdlib_module_names}
        """Packages that `take` does not return again."""
        self._made: set[str] = set()
        """Paths of files that this process wrote before it read them."""
        self._has_gaps = False
        """Whether something that ran was not noted."""
        self._is_collected = False
        """Whether the tests were imported."""
        self._reset()
        self._setting_up = 0
        """How many fixtures of several benchmarks are being set up at the moment."""
        self._handlers: Mapping[str, Callable[[str, tuple[Any, ...]], None]] = {
            **dict.fromkeys(("open", "sqlite3.connect", "ctypes.dlopen"), self._note_open),
            **dict.fromkeys(("os.listdir", "os.scandir"), self._note_listing),
            **dict.fromkeys((*_STARTS, "socket.connect"), self._note_process),
            **dict.fromkeys(("sys.settrace", *FunctionRecorder.disturbing), self._note_tracing),
        }
        sys.addaudithook(self._note_event)
        sys.meta_path.insert(0, self)  # to note which packages are looked for
        self._functions = FunctionRecorder()
        self.noting = self._functions.noting

    def _reset(self) -> None:
        self._shared: list[CodeType] = []
        """Code of functions that ran before or in the set-up of a fixture that several benchmarks share."""
        self._packages: set[str] = set()
        self._files: defaultdict[str, set[str]] = defaultdict(set)
        """Paths that were `read`, `listed`, or `imported` (opened by an import)."""

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> None:
        """Note that a module is looked for; the other finders find it."""
        self._packages.add(name.partition(".")[0])

    def _note_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in self._handlers:
            self._handlers[event](event, arguments)

    def _note_open(self, event: str, arguments: tuple[Any, ...]) -> None:
        path, flags = arguments[0], (arguments[2] if event == "open" else os.O_RDONLY)
        if not isinstance(path, _PATHS):
            return
        path = os.fsdecode(path)
        if path.startswith("file:") and event != "open":  # a URI of SQLite
            path = unquote(urlsplit(path).path)
        self._callers_files.note(path)
        name = os.path.abspath(path)
        is_made = flags & os.O_TRUNC or (flags & os.O_EXCL and not os.path.exists(name))
        if is_made and name not in self._files["read"]:
            self._made.add(name)
        elif flags & os.O_ACCMODE != os.O_WRONLY and _CACHED not in name:
            self._files["imported" if name.endswith(".py") and _is_loaded() else "read"].add(name)

    def _note_listing(self, _event: str, arguments: tuple[Any, ...]) -> None:
        path = "." if arguments[0] is None else arguments[0]
        if isinstance(path, _PATHS) and not _is_internal():
            name = os.path.abspath(os.fsdecode(path))
            if not f"{name}{os.sep}".endswith(_CACHED):  # Python adds files there at any time
                self._files["listed"].add(name)

    def _note_process(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note another process or a server, whose files stay unknown. Programs like `uname` do not count."""
        program = arguments[0] if event == _PROCESS else ""
        if event == _PROCESS:
            is_shared = not self._is_collected or self._setting_up > 0
            self._callers_files.note_process(*arguments, is_shared=is_shared)
        if not (isinstance(program, str) and os.path.basename(program) in _QUERIES):
            self._has_gaps = True

    def _note_tracing(self, _event: str, _arguments: tuple[Any, ...]) -> None:
        """Note that a trace or profile function is set, so that functions may run unseen."""
        caller = sys._getframe(1).f_back  # noqa: SLF001 - None when the interpreter ends
        file = caller.f_code.co_filename if caller else _PACKAGE
        self._has_gaps |= not (file.startswith(_PACKAGE) or file.endswith(_PAUSING))

    @contextmanager
    def shared_setup(self) -> Iterator[None]:
        """Return a context for the set-up of a fixture that several benchmarks share."""
        self._setting_up += 1
        try:
            yield
        finally:
            self._setting_up -= 1
            self._shared += self._functions.take()

    def take(self, calls: Sequence[Sequence[CodeType]] = ()) -> dict[str, Any]:
        """Return what was noted since the last call of `take`, as JSON.

        `calls`: the code of the functions that ran in each recorded call of the benchmark.

        `every` has, by file, the qualified names of functions that ran in each recorded call, `once` those of
        all others. The name `<module>` stands for an imported file. `packages` are those not returned before.
        `read`, `listed` and `mapped` have files that were read, folders that were listed, and files that are
        mapped into memory, such as native libraries. `path` has the folders in which packages are looked for
        or were found. None of these has files of Python or of installed packages. `callers_files` is the
        result of `CallersFiles.take`; `unseen` is whether anything ran unnoticed, such as in another process.
        """
        once: defaultdict[str, set[str]] = defaultdict(set)
        every: defaultdict[str, set[str]] = defaultdict(set)
        in_calls = set.intersection(*(set(map(id, codes)) for codes in calls)) if calls else set[int]()
        ran = [*self._functions.take(), *itertools.chain(*calls)]
        for codes, repeated in ((self._shared, ()), (ran, in_calls)):
            for code in codes:
                if self._is_counted(code.co_filename) and not code.co_filename.startswith(_PACKAGE):
                    functions = every if id(code) in repeated else once
                    functions[os.path.abspath(code.co_filename)].add(code.co_qualname)
                compiles = code.co_name.startswith("_compile") and code.co_filename.endswith(_COMPILER)
                spawns = _SPAWNS in code.co_filename and code.co_name != "<module>"
                self._has_gaps |= compiles or spawns
        self._has_gaps |= self._functions.has_gaps or "numba" in sys.modules  # it compiles bytecode
        self._files["read"] |= self._files["imported"] - {*once, *every}  # for example, if an import failed
        self._files["mapped"] = mapped_files()  # some are opened by native code
        self._files["path"] = self._import_folders()
        packages = self._packages.union(name.partition(".")[0] for name in list(sys.modules)) - self._reported
        self._reported |= packages
        usage: dict[str, Any] = {
            "once": {file: sorted(names) for file, names in once.items()},
            "every": {file: sorted(names) for file, names in every.items()},
            "packages": sorted(packages),
            "callers_files": self._callers_files.take(),
            "unseen": self._has_gaps,
        }
        for kind in ("read", "listed", "mapped", "path"):
            usage[kind] = sorted(filter(self._is_counted, self._files[kind] - self._made))
        self._is_collected = True
        self._reset()
        return usage

    def _import_folders(self) -> set[str]:
        folders = {os.path.abspath(self._trees.side_path(folder) or folder) for folder in sys.path}
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if "." not in name and isinstance(file, str):
                folders.add(os.path.dirname(os.path.dirname(file) if hasattr(module, "__path__") else file))
        return folders

    def _is_counted(self, file: str) -> bool:
        """Whether a file or folder is outside of Python, installed packages and the operating system."""
        if file.startswith("/dev/shm/"):  # noqa: S108 - its files are data, unlike devices
            return True
        if not file.startswith(os.sep) or f"{file}{os.sep}".startswith(self._outside):
            return False
        return not f"{os.path.realpath(file)}{os.sep}".startswith(self._outside)


def _is_loaded() -> bool:
    """Whether the current audit event opens a file to import it, and not only to read its text."""
    frame = sys._getframe(3)  # noqa: SLF001
    caller = frame.f_back
    is_import = frame.f_code.co_filename.startswith(_IMPORTS)
    return is_import and caller is not None and caller.f_code.co_name == "get_code"


def _is_internal() -> bool:
    """Whether the current audit event comes from an import, pytest's `tmp_path`, or this package."""
    frames = itertools.islice(traceback.walk_stack(sys._getframe(3)), _NEAR)  # noqa: SLF001
    codes = [frame.f_code for frame, _ in frames]
    if codes[0].co_filename.startswith(_IMPORTS) or codes[0].co_name == "find_prefixed":  # of pytest
        return True
    return any(code.co_filename.startswith(_PACKAGE) for code in codes)
