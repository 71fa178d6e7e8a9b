"""What a process uses, which its benchmarks depend on: files, folders, packages.

It is noted in processes that time nothing: a hook for audit events cannot be removed again.
"""

import importlib.metadata
import importlib.util
import itertools
import os
import site
import sys
import sysconfig
import traceback
from typing import Any

from ...measure.fingerprint import libraries
from ..variants.import_roots import Trees
from .crossings import Crossings

_IMPORTS = ("<frozen importlib", importlib.metadata.__file__)
_OWN = __file__.removesuffix(os.path.join("engine", "process", "unchanged", "used.py"))
"""The folder of this package as its functions name it, and those of the side do not: see `child._BOOT`."""
_PROCESS = "subprocess.Popen"
_STARTS = (_PROCESS, "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn")
"""Audit events of processes, of which nothing is noted."""
_LISTS = ("os.listdir", "os.scandir")
_PATHS = (str, bytes, os.PathLike)
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/share/")
_QUERIES = ("file", "git", "hg", "ldconfig", "lscpu", "nvidia-smi", "uname")
"""Programs that only tell about the repository and the machine, as pytest-benchmark asks."""
_CACHED = f"{os.sep}__pycache__{os.sep}"
_SPAWNS = "multiprocessing.popen_"
"""Beginning of the names of modules that are imported when a process is started."""
_NEAR = 3
"""Frames between a function of ours and a listed folder: those of `os.walk`."""
_MAPPED = "/proc/self/maps"


def environment_folders() -> tuple[str, ...]:
    """Return the folders of Python and of installed packages, each with a separator at the end."""
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    base = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix, "installed_base": sys.base_prefix}
    folders = {sysconfig.get_path(kind, vars=prefixes) for kind in kinds for prefixes in ({}, base)}
    folders |= {os.path.join(prefix, "lib") for prefix in (sys.prefix, sys.base_prefix)}
    folders |= {*site.getsitepackages(), site.getusersitepackages()}
    return tuple(sorted(f"{place}{os.sep}" for place in folders | set(map(os.path.realpath, folders))))


class Used:
    """Notes what this process uses from now on; there is one in a process."""

    def __init__(self, trees: Trees) -> None:
        self._trees, self._crossings = trees, Crossings(trees, _OWN)
        self._outside = (*environment_folders(), *_SYSTEM, f"{libraries.kept_hashes()}{os.sep}")
        self._asked: set[str] = set()
        self._reported = {*sys.stdlib_module_names}
        """Packages of which it was told that they are looked for."""
        self._seen: set[str] = set()
        """Files of modules, and mapped ones, that were noted."""
        self._read: set[str] = set()
        self._written: set[str] = set()
        self._listed: set[str] = set()
        self._started: set[str] = set()
        self._noting = {
            "open": self._note_open,
            **dict.fromkeys(("sqlite3.connect", "ctypes.dlopen"), self._note_loaded),
            **dict.fromkeys(_LISTS, self._note_listed),
            **dict.fromkeys(_STARTS, self._note_started),
        }
        sys.addaudithook(self._audited)
        sys.meta_path.insert(0, self)  # which packages are looked for

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> None:
        """Note that a module is looked for; it is left to the other finders."""
        self._asked.add(name.partition(".")[0])

    def _audited(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in self._noting:
            self._noting[event](event, arguments)

    def _note_open(self, _event: str, arguments: tuple[Any, ...]) -> None:
        path, mode, flags = arguments
        if not isinstance(path, _PATHS):
            return
        name = os.path.abspath(_source(os.fsdecode(path)))
        self._crossings.note(name)
        how = flags & os.O_ACCMODE
        if mode is not None:
            writes = os.O_WRONLY if set(mode) & set("wax") else os.O_RDONLY
            how = os.O_RDWR if "r+" in mode.replace("b", "") else writes
        if how != os.O_RDONLY:
            self._written.add(os.path.abspath(os.fsdecode(path)))
        if how != os.O_WRONLY and _CACHED not in name:
            self._read.add(name)

    def _note_loaded(self, _event: str, arguments: tuple[Any, ...]) -> None:
        """Note a file that a library written in C opens, as far as it says so."""
        if isinstance(arguments[0], _PATHS):
            name = os.path.abspath(os.fsdecode(arguments[0]))
            self._crossings.note(name)
            self._read.add(name)

    def _note_listed(self, _event: str, arguments: tuple[Any, ...]) -> None:
        path = "." if arguments[0] is None else arguments[0]
        if isinstance(path, _PATHS) and not _is_internal():
            name = os.path.abspath(os.fsdecode(path))
            if not f"{name}{os.sep}".endswith(_CACHED):  # where Python adds files at any time
                self._listed.add(name)

    def _note_started(self, event: str, arguments: tuple[Any, ...]) -> None:
        program = arguments[0] if event == _PROCESS else ""
        if event == _PROCESS:
            self._crossings.start(*arguments)
        if not (isinstance(program, str) and os.path.basename(program) in _QUERIES):
            self._started.add(event)

    def take(self) -> dict[str, Any]:
        """Return what was noted since the last time, as JSON.

        `read`, `native`, `written`, `listed`: files that were read, native libraries that are loaded, files
        that were written, and folders that were listed, without those of Python and of installed packages.
        `asked`: packages that were first looked for. `path`: the folders in which packages are searched or
        were found. `started`: how processes were started, of which nothing is noted. `crossed`: see
        `Crossings.take`.
        """
        files = filter(None, map(_file, list(sys.modules.values())))
        modules = {os.path.abspath(_source(file)) for file in files}
        asked = self._asked.union(name.partition(".")[0] for name in list(sys.modules)) - self._reported
        self._reported |= asked
        self._started |= {name for name in list(sys.modules) if name.startswith(_SPAWNS)}
        new = modules.union(_mapped()) - self._seen
        self._seen |= new
        taken = {
            "asked": sorted(asked),
            "written": sorted(filter(self._counts, list(self._written))),
            "read": sorted(filter(self._counts, self._read | (modules & new))),
            "listed": sorted(filter(self._counts, list(self._listed))),
            "native": sorted(filter(self._counts, map(str, libraries.loaded.__wrapped__(0)))),
            "path": sorted(filter(self._counts, self._import_folders())),
            "started": sorted(self._started),
            "crossed": self._crossings.take(new),
        }
        self._asked, self._read, self._written, self._listed = set(), set(), set(), set()
        return taken

    def _import_folders(self) -> set[str]:
        folders = {os.path.abspath(self._trees.moved(folder) or folder) for folder in sys.path}
        for name, module in list(sys.modules.items()):
            if "." not in name and (file := _file(module)):
                folders.add(os.path.dirname(os.path.dirname(file) if hasattr(module, "__path__") else file))
        return folders

    def _counts(self, file: str) -> bool:
        """Whether a file or folder is neither Python's, nor installed, nor the system's."""
        if not file.startswith(os.sep) or f"{file}{os.sep}".startswith(self._outside):
            return False
        return not f"{os.path.realpath(file)}{os.sep}".startswith(self._outside)


def _file(module: object) -> str:
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) else ""


def _source(path: str) -> str:
    """Return the source of a file with bytecode; other paths as they are."""
    if not path.endswith(".pyc"):
        return path
    try:
        return importlib.util.source_from_cache(path)
    except ValueError:  # it lies beside its source
        return path.removesuffix("c")


def _mapped() -> list[str]:
    """Return the files that are mapped into memory, as libraries are; none where the system does not tell."""
    try:
        with open(_MAPPED, encoding="utf-8", errors="surrogateescape") as lines:
            return [os.sep + line.rstrip("\n").partition(os.sep)[2] for line in lines if os.sep in line]
    except OSError:
        return []


def _is_internal() -> bool:
    """Whether an audit event was caused by Python's import, or by this package: it looks for libraries."""
    near = itertools.islice(traceback.walk_stack(sys._getframe(3)), _NEAR)  # noqa: SLF001
    files = [frame.f_code.co_filename for frame, _ in near]
    return files[0].startswith(_IMPORTS) or any(file.startswith(_OWN) for file in files)
