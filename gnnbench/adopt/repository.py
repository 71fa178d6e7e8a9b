"""Finds the Python files of a repository, its benchmarks, and how it is installed."""

import ast
import os
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath

from ..files import read_whole

_OTHERS = frozenset(
    {"build", "dist", "node_modules", "site-packages", "venv", "env", "virtualenv", "_vendor", "vendor"}
)
"""Names of folders with code that is not the repository's own."""
_MAX_BYTES = 2**20
_FEW = 3
"""Up to so many files of benchmarks are named one by one."""
_EXTRAS = ("benchmark", "benchmarks", "bench", "test", "tests", "testing", "dev")
"""Names of extras and groups that have what the benchmarks need, the likeliest first."""
_PYTEST_SETTINGS = ("pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_TESTPATHS = re.compile(rb"^\s*testpaths\s*=", re.MULTILINE)
FIXTURES = frozenset({"benchmark", "benchmark_weave"})
"""Those of pytest-benchmark."""


@dataclass(frozen=True)
class Source:
    """A Python file."""

    path: PurePath
    """From the top of the repository."""
    tree: ast.Module


@dataclass(frozen=True)
class Repository:
    """A folder with Python code, read when it is asked for."""

    folder: Path

    @cached_property
    def sources(self) -> Sequence[Source]:
        """Its Python files, without those that cannot be read or parsed."""
        return tuple(_sources(self.folder))

    @cached_property
    def root(self) -> PurePath:
        """The folder from which its packages are imported, from the top: `.` or `src`."""
        below = (source.path for source in self.sources if source.path.parts[0] == "src")
        is_root = (
            any(len(path.parts) > 1 for path in below) and not (self.folder / "src/__init__.py").exists()
        )
        return PurePath("src" if is_root else ".")

    @cached_property
    def packages(self) -> Sequence[str]:
        """The names of its top-level packages; where it has none, of its modules."""
        names = {source.path.parts for source in self.sources if source.path.name == "__init__.py"}
        start = len(self.root.parts)
        packages = {
            parts[start] for parts in names if len(parts) == start + 2 and parts[:start] == self.root.parts
        }
        own = sorted(name for name in packages if name not in ("tests", "test", "benchmarks", "docs"))
        modules = (source.path for source in self.sources if source.path.parent == self.root)
        return own or sorted(path.stem for path in modules if path.stem not in ("setup", "conftest"))

    def module(self, path: PurePath) -> str | None:
        """Return the name by which a file is imported; None: it cannot be."""
        if self.root.parts and path.parts[: len(self.root.parts)] != self.root.parts:
            return None
        parts = path.relative_to(self.root).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        return ".".join(parts) if parts and all(part.isidentifier() for part in parts) else None

    @cached_property
    def benchmarks(self) -> Sequence[str]:
        """The ids of its benchmarks, as pytest takes them: tests that use the fixture of pytest-benchmark."""
        return tuple(
            f"{source.path.as_posix()}::{name}"
            for source in self.sources
            for name in _benchmarks(source.tree.body)
        )

    @property
    def suite(self) -> Sequence[str]:
        """The paths of its benchmarks: a few files, or the folder that has all of them."""
        files = list(dict.fromkeys(one.partition("::")[0] for one in self.benchmarks))
        if len(files) <= _FEW:
            return files
        return [PurePath(os.path.commonpath([PurePath(file).parent for file in files]) or ".").as_posix()]

    @property
    def has_testpaths(self) -> bool:
        """Whether settings say which folders pytest collects if it gets no arguments."""
        files = (self.folder / name for name in _PYTEST_SETTINGS)
        return any(_TESTPATHS.search(_text(file)) for file in files)

    @property
    def install(self) -> str | None:
        """The command that installs it with what its tests need; None: nothing says how."""
        project = _toml(self.folder / "pyproject.toml")
        if "project" in project or "build-system" in project or (self.folder / "setup.py").exists():
            extras = _table(_table(project, "project"), "optional-dependencies")
            groups = _table(project, "dependency-groups")
            if extra := next((name for name in _EXTRAS if name in extras), None):
                return f"python -m pip install -e '.[{extra}]'"
            group = next((f" --group {name}" for name in _EXTRAS if name in groups), "")
            return f"python -m pip install -e .{group}"
        names = ("requirements-dev.txt", "requirements_dev.txt", "requirements.txt")
        file = next((name for name in names if (self.folder / name).is_file()), None)
        return file and f"python -m pip install -r {file}"


def _sources(folder: Path) -> Iterator[Source]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _is_foreign(Path(place, name)))
        for name in sorted(names):
            if name.endswith(".py"):
                path = Path(place, name)
                try:
                    tree = ast.parse(read_whole(path, _MAX_BYTES))
                except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
                    continue
                yield Source(PurePath(path.relative_to(folder)), tree)


def _is_foreign(folder: Path) -> bool:
    name = folder.name
    # A nested repository or an environment.
    return (
        name.startswith(".")
        or name in _OTHERS
        or (folder / ".git").exists()
        or (folder / "pyvenv.cfg").exists()
    )


def _benchmarks(body: Sequence[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from (f"{node.name}::{name}" for name in _benchmarks(node.body))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_benchmark(node):
            yield node.name


def _is_benchmark(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    parameters = (*function.args.args, *function.args.kwonlyargs)
    return function.name.startswith("test") and any(one.arg in FIXTURES for one in parameters)


def _text(file: Path) -> bytes:
    try:
        return read_whole(file, _MAX_BYTES)
    except OSError:  # most often there is none
        return b""


def _toml(file: Path) -> dict[str, object]:
    try:
        return tomllib.loads(read_whole(file, _MAX_BYTES).decode())
    except (OSError, ValueError):  # also what is not TOML
        return {}


def _table(table: dict[str, object], key: str) -> dict[str, object]:
    found = table.get(key)
    return found if isinstance(found, dict) else {}
