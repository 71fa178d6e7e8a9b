"""Notes what a process runs and reads, by file: its benchmarks depend on these files.

Only processes that time nothing are observed, because a hook for audit events cannot be removed again.
"""

import importlib.metadata
import importlib.util
import itertools
import linecache
import os
import site
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import CodeType
from typing import Any

from ...measure.fingerprint import libraries
from ..variants.import_roots import Trees
from .crossings import Crossings
from .executed import Executed

_IMPORTS = ("<frozen importlib", importlib.metadata.__file__)
_PACKAGE = __file__.removesuffix(os.path.join("engine", "process", "unchanged", "used.py"))
"""This package's folder as its own functions name it, unlike those of the side: see `child._BOOT`."""
_PAUSING = (os.path.join("pytest_benchmark", "fixture.py"), os.path.join(os.sep, "threading.py"))
"""Files that may set a profile function: to pause profilers, and to set that of a new thread."""
_PROCESS = "subprocess.Popen"
_STARTS = (_PROCESS, "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn")
"""Audit events of starting processes, in which nothing is noted."""
_LISTS = ("os.listdir", "os.scandir")
_PATHS = (str, bytes, os.PathLike)
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/share/")
_QUERIES = ("file", "git", "hg", "ldconfig", "lscpu", "nvidia-smi", "uname")
"""Programs that only describe the repository and the machine; pytest-benchmark runs some of them."""
_CACHED = f"{os.sep}__pycache__{os.sep}"
_SPAWNS = f"{os.sep}multiprocessing{os.sep}popen_"
_NEAR = 3
"""Frames between a function of this package and a listed folder: those of `os.walk`."""
_COMPILER = os.path.join("torch", "_dynamo", "convert_frame.py")


def environment_folders() -> tuple[str, ...]:
    """Return the folders of Python and of installed packages, each with a separator at the end."""
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    base = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix, "installed_base": sys.base_prefix}
    folders = {sysconfig.get_path(kind, vars=prefixes) for kind in kinds for prefixes in ({}, base)}
    folders |= {os.path.join(prefix, "lib") for prefix in (sys.prefix, sys.base_prefix)}
    folders |= {*site.getsitepackages(), site.getusersitepackages()}
    return tuple(sorted(f"{place}{os.sep}" for place in folders | set(map(os.path.realpath, folders))))


class Used:
    """Notes what this process runs and reads from now on; there is one in a process."""

    def __init__(self, trees: Trees) -> None:
        self._trees, self._crossings = trees, Crossings(trees, _PACKAGE)
        self._outside = (*environment_folders(), *_SYSTEM, f"{libraries.hashes_folder()}{os.sep}")
        self._reported = {*sys.stdlib_module_names}
        """Packages that `take` does not return again."""
        self._unseen = False
        self._begin()
        self._setting_up = 0
        """How many fixtures that several benchmarks share are being set up."""
        self._noting: Mapping[str, Callable[[str, tuple[Any, ...]], None]] = {
            "open": self._opened,
            **dict.fromkeys(("sqlite3.connect", "ctypes.dlopen"), self._loaded),
            **dict.fromkeys(_LISTS, self._looked_into),
            **dict.fromkeys(_STARTS, self._started),
            **dict.fromkeys(("sys.settrace", *Executed.disturbing), self._traced),
        }
        sys.addaudithook(self._audited)
        sys.meta_path.insert(0, self)  # to note which packages are looked for
        lines = linecache.getlines

        def reads(filename: str, module_globals: dict[str, Any] | None = None) -> list[str]:
            self._read.add(os.path.abspath(filename))  # although linecache may have its lines already
            return lines(filename, module_globals)

        vars(linecache)["getlines"] = reads
        self._executed = Executed()

    def _begin(self) -> None:
        self._codes: list[CodeType] = []
        """Code of functions that ran, in addition to what `_executed` has."""
        self._shared: list[CodeType] = []
        """Code of functions that ran while something was set up that several benchmarks share."""
        self._packages: set[str] = set()
        self._imported: set[str] = set()
        """Source files that were opened by an import."""
        self._read: set[str] = set()
        self._written: set[str] = set()
        self._listed: set[str] = set()

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> None:
        """Note that a module is looked for; the other finders find it."""
        self._packages.add(name.partition(".")[0])

    def _audited(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in self._noting:
            self._noting[event](event, arguments)

    def _opened(self, _event: str, arguments: tuple[Any, ...]) -> None:
        path, _mode, flags = arguments
        if not isinstance(path, _PATHS):
            return
        self._crossings.note(os.fsdecode(path))
        name, access = os.path.abspath(os.fsdecode(path)), flags & os.O_ACCMODE
        if access != os.O_RDONLY:
            self._written.add(name)
        if access != os.O_WRONLY and _CACHED not in name:
            (self._imported if name.endswith(".py") and _is_loaded() else self._read).add(name)

    def _loaded(self, _event: str, arguments: tuple[Any, ...]) -> None:
        """Note a file that a library written in C opens, if the library raises an audit event."""
        if isinstance(arguments[0], _PATHS):
            name = os.path.abspath(os.fsdecode(arguments[0]))
            self._crossings.note(name)
            self._read.add(name)

    def _looked_into(self, _event: str, arguments: tuple[Any, ...]) -> None:
        path = "." if arguments[0] is None else arguments[0]
        if isinstance(path, _PATHS) and not _is_internal():
            name = os.path.abspath(os.fsdecode(path))
            if not f"{name}{os.sep}".endswith(_CACHED):  # Python adds files there at any time
                self._listed.add(name)

    def _started(self, event: str, arguments: tuple[Any, ...]) -> None:
        program = arguments[0] if event == _PROCESS else ""
        if event == _PROCESS:
            self._crossings.start(*arguments)
        if not (isinstance(program, str) and os.path.basename(program) in _QUERIES):
            self._unseen = True

    def _traced(self, _event: str, _arguments: tuple[Any, ...]) -> None:
        """Note that a trace or profile function is set: functions that run meanwhile may not be seen."""
        file = sys._getframe(2).f_code.co_filename  # noqa: SLF001
        if not (file.startswith(_PACKAGE) or file.endswith(_PAUSING)):
            self._unseen = True

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Note that the context sets up something that several benchmarks share."""
        codes = self._shared if self._setting_up else self._codes
        codes += self._executed.take()
        self._setting_up += 1
        try:
            yield
        finally:
            self._setting_up -= 1
            self._shared += self._executed.take()

    def resumed(self) -> AbstractContextManager[None]:
        """Note functions also where pytest-benchmark has paused profilers."""
        return self._executed.resumed()

    def take(self, calls: Sequence[Sequence[CodeType]] = ()) -> dict[str, Any]:
        """Return what was noted since the last call, as JSON.

        `every` and `once`: qualified names of functions by file: functions that ran in each of the calls, and
        all others; `<module>` is a file that was imported. `packages`: packages first looked for. `read`,
        `written`, `listed`, `native`: files that were read or written, folders that were listed, and native
        libraries that were loaded, excluding Python's and those of installed packages. `path`: folders in
        which packages are searched or were found, with the same exclusions. `crossed`: see `Crossings.take`.
        `unseen`: whether something that ran, now or before, was not noted, as in other processes.
        """
        once: dict[str, set[str]] = {}
        every: dict[str, set[str]] = {}
        in_calls = set.intersection(*(set(map(id, codes)) for codes in calls)) if calls else set[int]()
        ran = [*self._codes, *self._executed.take(), *itertools.chain(*calls)]
        for codes, repeated in ((self._shared, ()), (ran, in_calls)):
            for code in codes:
                if self._counts(code.co_filename) and not code.co_filename.startswith(_PACKAGE):
                    kind = every if id(code) in repeated else once
                    kind.setdefault(os.path.abspath(code.co_filename), set()).add(code.co_qualname)
                compiles = code.co_name.startswith("_compile") and code.co_filename.endswith(_COMPILER)
                spawns = _SPAWNS in code.co_filename and code.co_name != "<module>"
                self._unseen |= compiles or spawns
        self._unseen |= self._executed.unseen or "numba" in sys.modules  # it compiles bytecode
        native = map(str, libraries.loaded.__wrapped__(0))  # which may be loaded without an import
        not_run = self._imported - {*once, *every}  # for example, if an import failed
        packages = self._packages.union(name.partition(".")[0] for name in list(sys.modules)) - self._reported
        self._reported |= packages
        usage = {
            "once": {file: sorted(names) for file, names in once.items()},
            "every": {file: sorted(names) for file, names in every.items()},
            "packages": sorted(packages),
            "written": sorted(filter(self._counts, list(self._written))),
            "read": sorted(filter(self._counts, {*self._read, *not_run})),
            "listed": sorted(filter(self._counts, list(self._listed))),
            "native": sorted(filter(self._counts, native)),
            "path": sorted(filter(self._counts, self._import_folders())),
            "crossed": self._crossings.take(),
            "unseen": self._unseen,
        }
        self._begin()
        return usage

    def _import_folders(self) -> set[str]:
        folders = {os.path.abspath(self._trees.moved(folder) or folder) for folder in sys.path}
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if "." not in name and isinstance(file, str):
                folders.add(os.path.dirname(os.path.dirname(file) if hasattr(module, "__path__") else file))
        return folders

    def _counts(self, file: str) -> bool:
        """Whether a file or folder is neither Python's, nor installed, nor the system's."""
        if not file.startswith(os.sep) or f"{file}{os.sep}".startswith(self._outside):
            return False
        return not f"{os.path.realpath(file)}{os.sep}".startswith(self._outside)


def _is_loaded() -> bool:
    """Whether a file is opened to be imported, and not only for its text."""
    frame = sys._getframe(3)  # noqa: SLF001
    caller = frame.f_back
    is_import = frame.f_code.co_filename.startswith(_IMPORTS)
    return is_import and caller is not None and caller.f_code.co_name == "get_code"


def _is_internal() -> bool:
    """Whether Python's import or this package, which looks for libraries, caused an audit event."""
    frames = itertools.islice(traceback.walk_stack(sys._getframe(3)), _NEAR)  # noqa: SLF001
    files = [frame.f_code.co_filename for frame, _ in frames]
    return files[0].startswith(_IMPORTS) or any(file.startswith(_PACKAGE) for file in files)
