"""What one side's processes used to collect the suite and to run its benchmarks."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..variants.collected import NOTHING, SETTINGS
from .code_tree import CodeTree, searched

VERSION = 4


@dataclass(frozen=True)
class Manifest:
    """What one side used, and what that was. Names are those of `CodeTree`."""

    collected: Mapping[str, Any]
    """What its process said of the suite."""
    known: Mapping[str, str]
    """The benchmarks that depend on nothing else: why each is skipped; empty: it is not."""
    path: Sequence[str] = ()
    """Folders of the side's code in which top-level modules are looked for."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """What `state` returned for each part: `file NAME`, `names NAME` of a folder, `package NAME`, whether it
    is there or not, `search NAME` of a folder in which Python looks for packages, `metadata`."""

    def state(self, tree: CodeTree, part: str) -> str:
        """Return what a part is on a side: mostly a hash."""
        kind, _, name = part.partition(" ")
        match kind:
            case "file":
                return tree.digest(name)
            case "names":
                return tree.names_in(name)
            case "package":
                return tree.package(name, self.path)
            case "search":
                return searched(name, {part.removeprefix("package ") for part in self.parts})
        return tree.metadata

    def fits(self, tree: CodeTree) -> bool:
        """Whether all is on a side as it was recorded."""
        return all(self.state(tree, part) == state for part, state in self.parts.items())


class Record:
    """Makes the manifest of one side from what its processes say.

    `start`: the time of a file that was written when the process began, in seconds since the epoch.
    """

    def __init__(self, collected: Mapping[str, Any], tree: CodeTree, folder: Path, start: float) -> None:
        self._collected = {key: collected[key] for key in NOTHING}
        self._tree, self._folder, self._start = tree, folder, start
        self._path: Sequence[str] = collected["used"]["path"]
        self._known: dict[str, str] = {}
        self._used: dict[str, set[str]] = {}
        """By kind, see `Used.take`."""

    def add(self, name: str, used: Mapping[str, Any], skipped: str | None) -> None:
        """Note what was used until the end of a benchmark.

        `skipped`: why it is skipped; empty: it is not. None: it cannot be known without a process.
        """
        for kind in ("read", "native", "written", "listed", "asked", "path", "started"):
            self._used.setdefault(kind, set()).update(used[kind])
        if skipped is not None and not self._used["started"]:
            self._known[name] = skipped

    def manifest(self) -> Manifest | None:
        """Return what is known; None: of no benchmark."""
        tree, used = self._tree, self._used
        read, listed = used["read"] | used["native"], used["listed"]
        names = {path: tree.name(path) for path in read | listed | used["path"] | {*self._path}}
        suite = {path for path in read if names[path] is None}
        files = read - (suite & used["written"])
        if not self._known or self._collected["refused"] or any(map(self._is_new, files)):
            return None  # a file may have been changed since it was used
        if any(tree.is_inside(path) for path in read | listed if names[path] is None):
            return None  # it reads a part of the code that is not compared
        beside = {os.path.dirname(path) for path in suite if path.endswith(".py")}
        settings = {
            str(parent / name)
            for folder in beside
            for parent in (Path(folder), *Path(folder).parents)
            if parent.is_relative_to(self._folder)
            for name in SETTINGS
        }
        folders = [name for path in sorted(used["path"]) if (name := names[path]) not in (None, ".")]
        searched = (path for path in self._path if names[path] is None and not tree.is_inside(path))
        parts = {
            "metadata",
            *(f"file {names.get(path) or path}" for path in files | settings),
            *(f"names {names.get(path) or path}" for path in listed | beside),
            *(f"names {name}" for name in folders),
            *(f"package {name}" for name in used["asked"]),
            *(f"search {path}" for path in searched),
        }
        recorded = dict.fromkeys(sorted(parts), "")
        manifest = Manifest(self._collected, self._known, folders, recorded)
        return replace(manifest, parts={part: manifest.state(tree, part) for part in recorded})

    def _is_new(self, path: str) -> bool:
        """Whether a file was written or moved here since the process began."""
        try:
            stat = os.stat(path)
        except OSError:
            return False
        return max(stat.st_mtime, stat.st_ctime) >= self._start
