"""Finds the Python files of a repository, and how it is installed; pytest finds its benchmarks."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath

from ..errors import UsageError
from ..files import read_whole
from ..json_io import fields
from ..settings import read_toml

_OTHERS = frozenset(
    {"build", "dist", "node_modules", "site-packages", "venv", "env", "virtualenv", "_vendor", "vendor"}
)
"""Names of folders with code that is not the repository's own."""
_MAX_BYTES = 2**20
_FEW = 3
"""Up to so many files of benchmarks are named one by one."""
_EXTRAS = ("benchmark", "benchmarks", "bench", "test", "tests", "testing", "dev")
"""Names of extras and groups that have what the benchmarks need, the likeliest first."""
_BENCHMARK = re.compile(r"\bdef (test|bench)\w*\([^)]*\bbenchmark(_weave)?\b", re.IGNORECASE)
"""A test that takes a fixture of pytest-benchmark, whatever pytest's settings call a test."""


@dataclass(frozen=True)
class Project:
    """A folder with Python code, read when it is asked for."""

    folder: Path
    benchmarks: Sequence[str] = ()
    """The ids of its benchmark functions from the top, as pytest collects them."""
    is_named: bool = False
    """Whether pytest collects them only from files that are named."""
    has_testpaths: bool = False
    """Whether settings say which folders pytest collects if it gets no arguments."""

    @cached_property
    def sources(self) -> Mapping[PurePath, str]:
        """The texts of its Python files, by path from the top, without those that cannot be read."""
        return dict(_sources(self.folder))

    @cached_property
    def root(self) -> PurePath:
        """The folder from which its packages are imported, from the top: `.` or `src`."""
        is_root = any(path.parts[0] == "src" and len(path.parts) > 1 for path in self.sources)
        return PurePath("src" if is_root and PurePath("src/__init__.py") not in self.sources else ".")

    @cached_property
    def packages(self) -> Sequence[str]:
        """The names of its top-level packages; where it has none, of its modules."""
        folders = {path.parent for path in self.sources if path.name == "__init__.py"}
        packages = {folder.name for folder in folders if folder.parent == self.root}
        own = sorted(packages - {"", "tests", "test", "benchmarks", "docs"})
        modules = {path.stem for path in self.sources if path.parent == self.root}
        return own or sorted(modules - {"setup", "conftest"})

    def module(self, path: PurePath) -> str | None:
        """Return the name by which a file is imported; None: it cannot be."""
        if self.root.parts and path.parts[: len(self.root.parts)] != self.root.parts:
            return None
        parts = path.relative_to(self.root).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        return ".".join(parts) if parts and all(part.isidentifier() for part in parts) else None

    @cached_property
    def likely(self) -> Sequence[str]:
        """The files that look like benchmarks, whatever pytest's settings call a test."""
        found = ((path, _BENCHMARK.search(text)) for path, text in self.sources.items())
        return [path.as_posix() for path, named in found if named and path.name != "conftest.py"]

    @property
    def suite(self) -> Sequence[str]:
        """The paths of its benchmarks: a few files, or the folder that has all of them."""
        files = list(dict.fromkeys(one.partition("::")[0] for one in self.benchmarks))
        if self.is_named or len(files) <= _FEW:
            return files
        return [PurePath(os.path.commonpath([PurePath(file).parent for file in files]) or ".").as_posix()]

    @property
    def around(self) -> str | None:
        """The package inside which benchmarks lie; None: they lie beside all."""
        for name in self.packages:
            if any(PurePath(one).is_relative_to(self.root / name) for one in self.suite):
                return name
        return None

    @property
    def install(self) -> str | None:
        """The command that installs it with what its tests need; None: nothing says how."""
        project: dict[str, object] = {}
        with suppress(UsageError):  # there is none, or it cannot be read
            project = read_toml(self.folder / "pyproject.toml", _MAX_BYTES)[0]
        if "project" in project or "build-system" in project or (self.folder / "setup.py").exists():
            extras = fields(fields(project.get("project")).get("optional-dependencies"))
            groups = fields(project.get("dependency-groups"))
            if extra := next((name for name in _EXTRAS if name in extras), None):
                return f"python -m pip install -e '.[{extra}]'"
            group = next((f" --group {name}" for name in _EXTRAS if name in groups), "")
            return f"python -m pip install -e .{group}"
        names = ("requirements-dev.txt", "requirements_dev.txt", "requirements.txt")
        file = next((name for name in names if (self.folder / name).is_file()), None)
        return file and f"python -m pip install -r {file}"


def _sources(folder: Path) -> Iterator[tuple[PurePath, str]]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _is_foreign(Path(place, name)))
        for path in (Path(place, name) for name in sorted(names) if name.endswith(".py")):
            with suppress(OSError):
                text = read_whole(path, _MAX_BYTES).decode(errors="replace")
                yield PurePath(path.relative_to(folder)), text


def _is_foreign(folder: Path) -> bool:
    name = folder.name
    # A nested repository or an environment.
    return (
        name.startswith(".")
        or name in _OTHERS
        or (folder / ".git").exists()
        or (folder / "pyvenv.cfg").exists()
    )
