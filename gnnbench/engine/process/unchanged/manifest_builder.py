"""Makes the manifest of one side from what its processes say."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..variants.collected import NOTHING, SETTINGS
from .code_tree import CodeTree
from .manifest import METADATA, Manifest, UsedStep


class ManifestBuilder:
    """Makes the manifest of one side from what its processes say.

    `start`: the time of a file that was written when the process began, in seconds since the epoch.
    """

    def __init__(self, collected: Mapping[str, Any], tree: CodeTree, folder: Path, start: float) -> None:
        self._collected = {key: collected[key] for key in NOTHING}
        self._tree, self._folder, self._start = tree, folder, start
        self._suite: set[str] = set()
        self._suite_folders: set[str] = set()
        self._steps: list[UsedStep] = []
        self._unseen = ""
        self._written: set[str] = set()
        self._path: Sequence[str] = collected["used"]["path"]
        self._folders: dict[str, None] = {}
        """Names of the folders of the side's code in which top-level modules are looked for."""

    def add(self, name: str, used: Mapping[str, Any], skipped: str = "") -> None:
        """Note what was used until the end of a benchmark.

        `name`: its id; empty: it is of none, or cannot be known without a process.
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
            {file: names for path, names in used[kind].items() if (file := tree.name(path))}
            for kind in ("once", "every")
        )
        folders = [name for name in self._names(used["path"]) if name != "."]
        self._folders |= dict.fromkeys(folders)
        files = {*self._names(used["read"]), *self._names(used["native"])}
        parts = [
            *(f"file {name}" for name in sorted(files)),
            *(f"names {name}" for name in (*self._names(used["listed"]), *folders)),
            *(f"package {name}" for name in used["asked"]),
        ]
        name = "" if self._unseen else name
        self._steps.append(UsedStep(name, skipped, once, every, parts))

    def _names(self, paths: Iterable[str]) -> list[str]:
        """Return the names of the files and folders that are part of the side's code."""
        return list(filter(None, map(self._tree.name, paths)))

    def manifest(self) -> Manifest | None:
        """Return what is known; None: of no benchmark."""
        if not any(step.name for step in self._steps) or self._collected["refused"]:
            return None
        tree, (first, *others) = self._tree, self._steps
        files = {name for step in self._steps for name in (*step.once, *step.every)}
        used = {f"file {name}" for name in files}.union(*(step.parts for step in self._steps))
        files = {part.removeprefix("file ") for part in used if part.startswith("file ")}
        suite = self._suite - self._written
        if any(map(self._is_new, (*suite, *filter(None, map(tree.path, files))))):
            return None  # it may have been changed since it was used
        folders = {os.path.dirname(path) for path in suite if path.endswith(".py")}
        settings = {
            str(parent / name)
            for folder in folders
            for parent in (Path(folder), *Path(folder).parents)
            if parent.is_relative_to(self._folder)
            for name in SETTINGS
        }
        first = replace(first, parts=[*first.parts, METADATA])
        used |= {METADATA, *(f"search {path}" for path in self._path)}
        used |= {f"file {path}" for path in suite | settings}
        used |= {f"names {path}" for path in folders | self._suite_folders}
        manifest = Manifest(self._collected, [*self._folders], [first, *others])
        return replace(manifest, parts={part: manifest.state(tree, part) for part in sorted(used)})

    def _is_new(self, path: str) -> bool:
        """Whether a file was written or moved here since the process began."""
        try:
            stat = os.stat(path)
        except OSError:
            return False
        return max(stat.st_mtime, stat.st_ctime) >= self._start
