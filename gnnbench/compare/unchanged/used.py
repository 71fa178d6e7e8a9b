"""What a process runs and reads, by file: its benchmarks depend on it.

It is noted in processes that time nothing: a hook for audit events cannot be removed again.
"""

import _frozen_importlib  # the functions that import
import builtins
import importlib.metadata
import os
import site
import sys
import sysconfig
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.machinery import ModuleSpec, SourceFileLoader
from linecache import getlines
from types import CodeType, FrameType, ModuleType
from typing import Any

from ...measure.fingerprint import libraries

_FINDS = _frozen_importlib._find_spec.__code__  # type: ignore[attr-defined]  # noqa: SLF001
_READS_SOURCE = getlines.__code__
_IMPORTS = ("<frozen importlib", importlib.metadata.__file__)
_OWN = __name__.partition(".")[0]
"""The name under which a child process has loaded this package, beside that of its side."""
_PROCESS = "subprocess.Popen"
_STARTS = (_PROCESS, "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn")
"""Audit events of processes, of which nothing is noted."""
_LISTS = ("os.listdir", "os.scandir")
_PATHS = (str, bytes, os.PathLike)
_identity = object.__hash__
"""Other than `id`, it causes no audit event."""
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/share/")
_QUERIES = ("file", "git", "hg", "ldconfig", "lscpu", "nvidia-smi", "uname")
"""Programs that only tell about the repository and the machine, as pytest-benchmark asks."""
_CACHED = f"{os.sep}__pycache__{os.sep}"
_SPAWNS = "multiprocessing.popen_"
_NEAR = 3
"""Frames between a function of ours and a listed folder: those of `os.walk`."""
_COMPILER = "torch._dynamo.convert_frame"
_LIBRARIES = {
    *("torch", "torchgen", "functorch", "numpy", "scipy", "pandas", "sympy", "mpmath", "dateutil"),
    *("typing_extensions", "tqdm", "colorama", "pynvml"),
}
"""Libraries that take long to import, and what they import: they run nothing of others meanwhile."""


def environment_folders() -> tuple[str, ...]:
    """Return the folders of Python and of installed packages, each with a separator at the end."""
    named = ("stdlib", "platstdlib", "purelib", "platlib")
    found = {sysconfig.get_path(name) for name in named} | {
        *site.getsitepackages(),
        site.getusersitepackages(),
    }
    base = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix, "installed_base": sys.base_prefix}
    found |= {sysconfig.get_path(name, vars=base) for name in named}
    found |= {os.path.join(prefix, "lib") for prefix in (sys.prefix, sys.base_prefix)}
    both = {place for folder in found if folder for place in (folder, os.path.realpath(folder))}
    return tuple(sorted(f"{place}{os.sep}" for place in both))


class Used:
    """Notes what this process runs and reads from now on; there is one in a process."""

    def __init__(self) -> None:
        self._left = (*environment_folders(), *_SYSTEM, f"{libraries.kept_hashes()}{os.sep}")
        self._codes: dict[int, tuple[CodeType, str]] = {}
        """By identity: the code of each function that ran, and the name of its module."""
        self._shared: dict[int, tuple[CodeType, str]] = {}
        """Those that ran while something was set up that several benchmarks share."""
        self._asked: set[str] = set()
        self._read: set[str] = set()
        self._written: set[str] = set()
        self._listed: set[str] = set()
        self._unseen = ""
        self._is_paused = False
        self._noting: Mapping[str, Callable[[str, tuple[Any, ...]], None]] = {
            "open": self._opened,
            **dict.fromkeys(_LISTS, self._looked_into),
            **dict.fromkeys(_STARTS, self._started),
        }
        sys.addaudithook(self._audited)
        sys.meta_path.insert(0, self)
        threading.settrace(self._traced)
        sys.settrace(self._traced)

    def _traced(self, frame: FrameType, _event: str, _argument: Any) -> None:
        code = frame.f_code
        key = _identity(code)
        if key in self._codes:
            return
        if code is _FINDS:
            self._asked.add(frame.f_locals["name"])
        elif code is _READS_SOURCE:
            self._read.add(os.path.abspath(frame.f_locals["filename"]))
        else:
            self._codes[key] = code, str(frame.f_globals.get("__name__"))

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find a module as the other finders do, to trace nothing while one of `_LIBRARIES` is imported."""
        self._asked.add(name)
        top = name.partition(".")[0]
        is_library = top in _LIBRARIES
        if (is_library or top in sys.stdlib_module_names) if self._is_paused else not is_library:
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is None:
            return None
        if self._is_paused:
            self._is_paused = False  # for good: the library may call what this module has
            sys.settrace(self._traced)
        elif type(spec.loader) is SourceFileLoader and not self._may_run(spec.loader.path):
            vars(spec.loader)["exec_module"] = partial(self._run_untraced, spec.loader.exec_module)
        return spec

    def _run_untraced(self, run: Callable[[ModuleType], None], module: ModuleType) -> None:
        if sys.gettrace() != self._traced:
            run(module)
            return
        sys.settrace(None)
        self._is_paused = True
        try:
            run(module)
        finally:
            self._is_paused = False
            sys.settrace(self._traced)

    def _may_run(self, path: str) -> bool:
        """Whether the import of a file may run functions that are noted: its own, or those that import."""
        hooks = (*sys.meta_path, *sys.path_hooks, builtins.__import__)
        names = {str(getattr(hook, "__module__", "")) for hook in hooks}
        modules = [sys.modules.get(name) for name in names if name.partition(".")[0] != _OWN]
        files = [path, *filter(None, (getattr(one, "__file__", None) for one in modules))]
        return any(self._counts(os.path.abspath(file)) for file in files)

    def _audited(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in self._noting:  # there are millions of others, as for each call that is traced
            self._noting[event](event, arguments)

    def _opened(self, _event: str, arguments: tuple[Any, ...]) -> None:
        path, mode, flags = arguments
        if not isinstance(path, _PATHS):
            return
        name = os.path.abspath(os.fsdecode(path))
        how = flags & os.O_ACCMODE
        if mode is not None:
            writes = os.O_WRONLY if set(mode) & set("wax") else os.O_RDONLY
            how = os.O_RDWR if "r+" in mode.replace("b", "") else writes
        if how != os.O_RDONLY:
            self._written.add(name)
        if how != os.O_WRONLY and not (_CACHED in name or (name.endswith(".py") and _is_import())):
            self._read.add(name)

    def _looked_into(self, _event: str, arguments: tuple[Any, ...]) -> None:
        if isinstance(arguments[0], _PATHS) and not (_is_import() or _is_own()):
            name = os.path.abspath(os.fsdecode(arguments[0]))
            if not f"{name}{os.sep}".endswith(_CACHED):  # where Python adds files at any time
                self._listed.add(name)

    def _started(self, event: str, arguments: tuple[Any, ...]) -> None:
        program = arguments[0] if event == _PROCESS else ""
        if not (isinstance(program, str) and os.path.basename(program) in _QUERIES):
            self._unseen = self._unseen or "a process was started"

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Note that what runs meanwhile sets up something that several benchmarks share."""
        codes, self._codes = self._codes, {}
        try:
            yield
        finally:
            self._shared |= self._codes
            self._codes = codes

    @contextmanager
    def resumed(self) -> Iterator[None]:
        """Note functions also where pytest-benchmark has paused tracers."""
        before = sys.gettrace()
        sys.settrace(self._traced)
        try:
            yield
        finally:
            sys.settrace(before)

    def take(self, every: Collection[str] = ()) -> dict[str, Any]:
        """Return what was noted since the last time, as JSON.

        Args:
            every: the functions that run in every call of a benchmark, as a fingerprint names them.

        Returns:
            `once` and `every`: qualified names of functions by file; `<module>` is a file that was imported.
            `asked`: names of modules that were looked for. `read`, `written`, `listed`, `native`: files that
            were read or written, folders that were listed, and native libraries that were loaded, without
            those of Python and of installed packages. `path`: the folders in which modules are searched,
            without these. `unseen`: why something was not noted; empty: nothing.
        """
        once: dict[str, set[str]] = {}
        often: dict[str, set[str]] = {}
        for codes, known in ((self._shared, ()), (self._codes, every)):
            for code, module in list(codes.values()):  # this function is noted, too
                if self._counts(code.co_filename) and module.partition(".")[0] != _OWN:
                    kind = often if f"{module}:{code.co_qualname}" in known else once
                    kind.setdefault(os.path.abspath(code.co_filename), set()).add(code.co_qualname)
                if module == _COMPILER and code.co_name.startswith("_compile"):
                    self._unseen = self._unseen or "torch.compile inlines functions"
                if module.startswith(_SPAWNS) and code.co_name != "<module>":
                    self._unseen = self._unseen or "a process was started"
        if sys.gettrace() != self._traced:
            self._unseen = self._unseen or "another function traces"
        if "numba" in sys.modules:
            self._unseen = self._unseen or "numba compiles functions from their bytecode"
        native = map(str, libraries.loaded.__wrapped__(0))  # which may be loaded without an import
        taken = {
            "once": {file: sorted(names) for file, names in once.items()},
            "every": {file: sorted(names) for file, names in often.items()},
            "asked": sorted(self._modules()),
            "written": sorted(filter(self._counts, list(self._written))),
            "read": sorted(filter(self._counts, list(self._read))),
            "listed": sorted(filter(self._counts, list(self._listed))),
            "native": sorted(filter(self._counts, native)),
            "path": [path for path in map(os.path.abspath, sys.path) if self._counts(path)],
            "unseen": self._unseen,
        }
        self._codes, self._shared = {}, {}
        self._asked, self._read, self._written, self._listed = set(), set(), set(), set()
        return taken

    def _counts(self, file: str) -> bool:
        """Whether a file or folder is neither Python's, nor installed, nor the system's."""
        if not file.startswith(os.sep) or f"{file}{os.sep}".startswith(self._left):
            return False
        return not f"{os.path.realpath(file)}{os.sep}".startswith(self._left)

    def _modules(self) -> Iterator[str]:
        """Yield the names that were looked for; of what is installed, only the first part."""
        for name in list(self._asked):
            top = name.partition(".")[0]
            if top not in sys.stdlib_module_names:
                file = getattr(sys.modules.get(top), "__file__", None)
                yield top if file and not self._counts(os.path.abspath(file)) else name


def _is_import() -> bool:
    """Whether an audit event was caused by Python's import, or by its search for packages' metadata."""
    return sys._getframe(3).f_code.co_filename.startswith(_IMPORTS)  # noqa: SLF001


def _is_own() -> bool:
    """Whether this package caused an audit event: it looks for native libraries in packages' folders."""
    frame: FrameType | None = sys._getframe(3)  # noqa: SLF001
    for _ in range(_NEAR):
        if frame is None:
            break
        if str(frame.f_globals.get("__name__")).partition(".")[0] == _OWN:
            return True
        frame = frame.f_back
    return False
