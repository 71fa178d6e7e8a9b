"""What one side's processes used: the files, and which parts of them each benchmark depends on."""

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...variants.collected import SETTINGS
from .source_code import SourceCode
from .tree import ABSENT, Tree, names_in

VERSION = 1
_LARGE = 1 << 26
"""Of larger data files, size and time count instead of the content."""

Names = Mapping[str, Sequence[str]]
"""Qualified names of functions, by name of the file."""


@dataclass(frozen=True)
class Step:
    """What was used from one benchmark's end to the next one's; the first is of no benchmark."""

    name: str = ""
    """The benchmark's id; empty: it is of none, or of one whose code is not known."""
    skipped: str = ""
    """Why it is skipped; empty: it is inspected."""
    once: Names = field(default_factory=dict)
    """Functions that did not run in every call; what they made may be kept, and used by later benchmarks."""
    every: Names = field(default_factory=dict)
    """Functions that ran in every call of the benchmark."""
    asked: Sequence[str] = ()
    """Modules that were looked for."""
    read: Sequence[str] = ()
    """Other files that were read or loaded."""
    listed: Sequence[str] = ()
    """Folders that were listed."""
    seconds: float = 0.0
    """How long it took on both sides; of the first, until both had started and collected the suite."""


@dataclass(frozen=True)
class Manifest:
    """What one side used, and what these files contained. Names are those of `Tree`."""

    collected: Mapping[str, Any]
    """What its process said of the suite."""
    files: Mapping[str, str]
    """Hash of each file of the side's code."""
    modules: Mapping[str, str]
    """File of each module that was looked for, see `Tree.resolved`."""
    folders: Mapping[str, str]
    """Hash of the names in each folder that was listed."""
    metadata: str
    """Hash of the packages' metadata."""
    native: Mapping[str, str]
    """Hash of the native libraries of each top-level package."""
    suite_files: Mapping[str, str]
    """Hash of each file that is not part of that code: tests, settings of pytest, data; by path."""
    suite_folders: Mapping[str, str]
    searched: Mapping[str, Sequence[str]]
    """Folders in which Python searches for modules, with those names in them that were looked for."""
    steps: Sequence[Step] = ()

    def fits(self, tree: Tree) -> bool:
        """Whether a side has the same files as the one that was recorded."""
        return (
            all(tree.digest(name) == found for name, found in self.files.items())
            and all(tree.resolved(name) == found for name, found in self.modules.items())
            and all(tree.names_in(name) == found for name, found in self.folders.items())
            and self._has_same_packages(tree)
        )

    def _has_same_packages(self, tree: Tree) -> bool:
        native = all(tree.native(name) == found for name, found in self.native.items())
        return native and tree.metadata == self.metadata

    def has_same_suite(self) -> bool:
        """Whether tests, settings and data are what they were."""
        return (
            all(_state(path) == found for path, found in self.suite_files.items())
            and all(names_in(path) == found for path, found in self.suite_folders.items())
            and all(_searched(path, self.modules) == list(found) for path, found in self.searched.items())
        )

    def difference(self, tree: Tree, other: Tree) -> "Differing":
        """Return what another side has otherwise than a side that this manifest fits."""
        changed = {
            name: _changed(name, tree.content(name), other.content(name))
            for name, found in self.files.items()
            if other.digest(name) != found
        }
        return Differing(
            changed,
            {name for name, found in self.modules.items() if other.resolved(name) != found},
            {name for name, found in self.folders.items() if other.names_in(name) != found},
            self._has_same_packages(other),
        )

    def of_other(self, other: Tree, differing: "Differing") -> "Manifest":
        """Return the manifest of another side, in which benchmarks that run other code have no name."""
        steps, known = [], differing.has_same_packages
        for step in self.steps:
            known = known and not differing.concerns_all(step)
            is_same = known and not differing.concerns(step)
            steps.append(step if is_same else replace(step, name="", every={}))
        return replace(
            self,
            files={name: other.digest(name) for name in self.files},
            modules={name: other.resolved(name) for name in self.modules},
            folders={name: other.names_in(name) for name in self.folders},
            steps=steps,
        )

    def seconds(self, names: Collection[str]) -> float:
        """Return how long the inspection of some benchmarks took, with the start of processes."""
        return sum(step.seconds for step in self.steps[:1]) + sum(
            step.seconds for step in self.steps[1:] if step.name in names
        )

    @property
    def known(self) -> dict[str, str]:
        """The benchmarks that are known: why each is skipped; empty: it is not."""
        return {step.name: step.skipped for step in self.steps if step.name}


@dataclass(frozen=True)
class Differing:
    """What another side has otherwise than one that a manifest fits."""

    changed: Mapping[str, set[str] | None]
    """By file: the functions that differ; None: the whole file, or what its import runs."""
    modules: Collection[str]
    """Modules that are in another file."""
    folders: Collection[str]
    """Folders with other names in them."""
    has_same_packages: bool
    """Whether native libraries and metadata are the same."""

    def concerns_all(self, step: Step) -> bool:
        """Whether it concerns a step, and with it all later ones."""
        return (
            self._meets(step.once)
            or not self.changed.keys().isdisjoint(step.read)
            or not set(self.modules).isdisjoint(step.asked)
            or not set(self.folders).isdisjoint(step.listed)
        )

    def concerns(self, step: Step) -> bool:
        """Whether it concerns what runs in every call of a step's benchmark."""
        return self._meets(step.every)

    def _meets(self, used: Names) -> bool:
        for file in used.keys() & self.changed.keys():
            functions = self.changed[file]
            if functions is None or not functions.isdisjoint(used[file]):
                return True
        return False

    def lines(self, steps: Iterable[Step]) -> Iterator[str]:
        """Yield a line on each part that differs and is used in some steps."""
        used: dict[str, set[str]] = {}
        read: set[str] = set()
        for step in steps:
            read |= {*step.read, *step.listed, *step.asked}
            for file, names in (*step.once.items(), *step.every.items()):
                used.setdefault(file, set()).update(names)
        for file, functions in sorted(self.changed.items()):
            if functions is None or file in read:
                yield f"{file}: what its import runs" if file in used else file
            elif both := sorted(functions & used.get(file, set())):
                yield f"{file}: {', '.join(both)}"
        yield from (f"module {name} is in another file" for name in sorted(read.intersection(self.modules)))
        yield from (f"{name}{os.sep}: other names" for name in sorted(read.intersection(self.folders)))
        if not self.has_same_packages:
            yield "native libraries or metadata of packages"


class Record:
    """Makes the manifest of one side from what its processes say.

    Args:
        collected: what the process said of the suite, with what it used so far.
        tree: the side's import roots.
        folder: of the project.
        start: the time of a file that was written when the process began, in seconds since the epoch.
        seconds: how long start and collection took.
    """

    def __init__(
        self, collected: Mapping[str, Any], tree: Tree, folder: Path, start: float, seconds: float
    ) -> None:
        used = collected["used"]
        self._collected = {key: collected[key] for key in SUITE}
        self._tree, self._folder = tree, folder
        self._start = start
        self._suite: set[str] = set()
        self._suite_folders: set[str] = set()
        self._steps: list[Step] = []
        self._unseen = ""
        self._written: set[str] = set()
        self._ran: set[str] = set()
        self._path: Sequence[str] = used["path"]
        self.add("", used, seconds)

    def add(self, name: str, used: Mapping[str, Any], seconds: float, skipped: str = "") -> None:
        """Note what was used until the end of a benchmark.

        Args:
            name: its id; empty: it is of none, or cannot be known without a process.
            used: what the process says, see `Used.take`.
            seconds: how long it took on both sides.
            skipped: why it was skipped; empty: it was not.
        """
        tree = self._tree
        paths = {path for kind in ("once", "every", "read", "native", "listed") for path in used[kind]}
        others = {path for path in paths if tree.name(path) is None}
        if any(map(tree.is_inside, others)):
            self._unseen = self._unseen or "it reads a part of the code that is not compared"
        self._unseen = self._unseen or used["unseen"]
        self._written.update(used["written"])
        self._suite |= others - set(used["listed"])
        self._suite_folders |= others & set(used["listed"])
        once, every = (
            {own: names for path, names in used[kind].items() if (own := tree.name(path))}
            for kind in ("once", "every")
        )
        self._ran |= {*once, *every}
        resolved = map(tree.resolved, used["asked"])  # without running, as where an import fails
        unrun = {name for name in resolved if name and not name.endswith(os.sep) and name not in self._ran}
        self._steps.append(
            Step(
                "" if self._unseen else name,
                skipped,
                once,
                every,
                used["asked"],
                sorted({*self._own(used["read"]), *self._own(used["native"]), *unrun}),
                [one for one in self._own((*used["listed"], *used["path"])) if one != "."],
                round(seconds, 3),
            )
        )

    def _own(self, paths: Iterable[str]) -> list[str]:
        """Return the names of the files and folders that are part of the side's code."""
        return list(filter(None, map(self._tree.name, paths)))

    def manifest(self) -> Manifest | None:
        """Return what is known; None: of no benchmark."""
        if not any(step.name for step in self._steps) or self._collected["refused"]:
            return None
        files = {name for step in self._steps for name in (*step.once, *step.every, *step.read)}
        modules = sorted({name for step in self._steps for name in step.asked})
        suite = self._suite - self._written
        if any(map(self._is_new, (*suite, *filter(None, map(self._tree.path, files))))):
            return None  # it may have been changed since it was used
        folders = {os.path.dirname(path) for path in suite if path.endswith(".py")}
        settings = {
            str(parent / name)
            for folder in folders
            for parent in (Path(folder), *Path(folder).parents)
            if parent.is_relative_to(self._folder)
            for name in SETTINGS
        }
        tree = self._tree
        return Manifest(
            self._collected,
            {name: tree.digest(name) for name in sorted(files)},
            {name: tree.resolved(name) for name in modules},
            {name: tree.names_in(name) for step in self._steps for name in step.listed},
            tree.metadata,
            {name: tree.native(name) for name in sorted({file.partition(os.sep)[0] for file in files})},
            {path: _state(path) for path in sorted(suite | settings)},
            {path: names_in(path) for path in sorted(folders | self._suite_folders)},
            {path: _searched(path, modules) for path in self._path},
            self._steps,
        )

    def _is_new(self, path: str) -> bool:
        """Whether a file was written or moved here since the process began."""
        try:
            stat = os.stat(path)
        except OSError:
            return False
        return max(stat.st_mtime, stat.st_ctime) >= self._start


SUITE = ("names", "declared", "left_out", "notes", "marked", "refused", "places", "folders", "rootdir")
"""What a process says of its suite."""


def _changed(name: str, before: bytes | None, after: bytes | None) -> set[str] | None:
    """Return the functions that differ between two files; None: the whole file counts as changed."""
    if before is None or after is None or not name.endswith(".py"):
        return None
    one, other = SourceCode.of(before), SourceCode.of(after)
    return one.changed(other) if one.top == other.top else None


def _state(path: str) -> str:
    """Return a hash of a file's content, or of size and time of a large one, or ABSENT."""
    try:
        stat = os.stat(path)
        if stat.st_size > _LARGE:
            return f"{stat.st_size} {stat.st_mtime_ns}"
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ABSENT


def _searched(path: str, modules: Iterable[str]) -> list[str]:
    """Return the names in a folder that are the first part of a module's name."""
    try:
        names = {name.partition(".")[0] for name in os.listdir(path)}
    except OSError:
        return []
    return sorted(names & {name.partition(".")[0] for name in modules})
