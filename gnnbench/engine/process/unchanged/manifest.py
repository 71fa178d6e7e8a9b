"""What one side's processes used: the parts of its code on which each benchmark depends."""

import ast
import hashlib
import inspect
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Self

from ...measure.fingerprint.bytecode import code_hash, nested
from ..variants.collected import SETTINGS
from .code_tree import CodeTree

VERSION = 5
_METADATA = "metadata"
_CODE = "code "
"""Beginning of the parts that are functions."""
_TOP = ""
"""Stands in place of a function's name for the code that an import of the file runs."""


Noted = tuple[str, str, Mapping[str, Any]]
"""A benchmark's id, why it is skipped, and what it used, see `Used.take`. The id is empty if there is no
benchmark, or if a benchmark cannot be known without a process."""


@dataclass(frozen=True)
class UsedStep:
    """What was used from one benchmark's end to the next one's; the first step has no benchmark."""

    name: str
    """The benchmark's id; empty if there is no benchmark, or if its code is not known."""
    skipped: str
    """Why the benchmark is skipped; empty if it is inspected."""
    later: Sequence[str]
    """Parts on which later benchmarks depend, too. They include the functions that did not run in every call,
    because later calls may use what these functions returned."""
    own: Sequence[str]
    """Functions that ran in every call of the benchmark."""


@dataclass(frozen=True)
class Manifest:
    """What one side used, and its state. Names are those of `CodeTree`, or absolute paths of the suite."""

    collected: Mapping[str, Any]
    """What the side's process collected."""
    path: Sequence[str] = ()
    """Folders of the side's code in which top-level modules are looked for."""
    steps: Sequence[UsedStep] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    """What `state` returned for each part: `file NAME`, `names NAME` of a folder, `package NAME`, which
    may be absent, `search NAME` of a folder in which Python looks for packages, `metadata`. Parts in steps
    may also be functions: `code FILE FUNCTION`."""

    @classmethod
    def of(
        cls,
        collected: Mapping[str, Any],
        noted: Sequence[Noted],
        tree: CodeTree,
        project: Path,
        start: float,
    ) -> Self | None:
        """Return the manifest of a side. Returns None if no benchmark is known, or a file may be new.

        `start`: the time of a file that was written before the side's processes began.
        """
        name_of = cache(tree.name)
        written_paths = {path for *_, used in noted for path in used["written"]}

        def parts(kind: str, *paths: Iterable[str]) -> list[str]:
            names = [(path, name_of(path)) for path in chain(*paths)]
            return [f"{kind} {name or path}" for path, name in names if name or path not in written_paths]

        def code(used: Mapping[str, Sequence[str]]) -> list[str]:
            return [_code(name_of(path) or path, name) for path in used for name in (_TOP, *used[path])]

        steps, files, folders = list[UsedStep](), set[str](), dict[str, None]()
        is_unseen = bool(collected["refused"])
        for name, skipped, used in noted:
            read_paths = *used["read"], *used["native"]
            places = *used["once"], *used["every"], *read_paths, *used["listed"]
            of_side = any(name_of(path) is None and tree.is_inside(path) for path in places)
            is_unseen = is_unseen or used["unseen"] or of_side  # a part of the code that is not compared
            files.update(parts("file", used["once"], used["every"], read_paths))
            module_folders = dict.fromkeys(filter(None, map(name_of, used["path"])))
            module_folders.pop(".", None)
            folders |= module_folders
            later = [
                *(() if steps else (_METADATA,)),
                *(*parts("file", read_paths), *parts("names", used["listed"])),
                *(f"names {folder}" for folder in module_folders),
                *(f"package {package}" for package in used["packages"]),
                *code(used["once"]),
            ]
            steps.append(UsedStep("" if is_unseen else name, skipped, later, code(used["every"])))
        paths = [part.removeprefix("file ") for part in files]
        if not any(step.name for step in steps) or any(tree.time(path) >= start for path in paths):
            return None
        tests = {os.path.dirname(path) for path in paths if os.path.isabs(path) and path.endswith(".py")}
        parent_folders = {folder for test in map(Path, tests) for folder in (test, *test.parents)}
        parent_folders = {folder for folder in parent_folders if folder.is_relative_to(project)}
        names = {
            *files,
            *(part for step in steps for part in step.later if not part.startswith(_CODE)),
            *(f"search {folder}" for folder in noted[0][2]["path"]),
            *(f"names {folder}" for folder in tests),
            *(f"file {folder / name}" for folder in parent_folders for name in SETTINGS),
        }
        unstated = cls(collected, [*folders], steps, dict.fromkeys(sorted(names), ""))
        return replace(unstated, parts={part: unstated.state(tree, part) for part in unstated.parts})

    def state(self, tree: CodeTree, part: str) -> str:
        """Return the state of a part on a side: mostly a hash."""
        kind, _, name = part.partition(" ")
        match kind:
            case "file":
                return tree.digest(name)
            case "names":
                return tree.names_in(name)
            case "package":
                return tree.package(name, self.path)
            case "search":
                packages = {part.removeprefix("package ") for part in self.parts}
                return " ".join(sorted(packages & tree.modules_in(name)))
        return tree.metadata

    def fits(self, tree: CodeTree) -> bool:
        """Whether all parts of a side are as recorded."""
        return all(self.state(tree, part) == state for part, state in self.parts.items())

    def difference(self, tree: CodeTree, other: CodeTree) -> set[str]:
        """Return the parts and functions that differ between a side that this manifest fits and another."""
        parts = {part for part, state in self.parts.items() if self.state(other, part) != state}
        for file in [part.removeprefix("file ") for part in parts if part.startswith("file ")]:
            before, after = (functions(file, side.content(file)) for side in (tree, other))
            names = before.keys() | after.keys()
            parts |= {_code(file, name) for name in names if before.get(name) != after.get(name)}
        return parts

    def of_other(self, other: CodeTree, differing: set[str]) -> Self:
        """Return the manifest of another side, in which benchmarks that run other code have no name."""
        steps, is_known = [], True
        for step in self.steps:
            is_known = is_known and differing.isdisjoint(step.later)
            is_same = is_known and differing.isdisjoint(step.own)
            steps.append(step if is_same else replace(step, name="", own=()))
        return replace(self, parts={part: self.state(other, part) for part in self.parts}, steps=steps)

    @property
    def known(self) -> dict[str, str]:
        """Why each known benchmark is skipped, by id; empty if it is not skipped."""
        return {step.name: step.skipped for step in self.steps if step.name}


def _code(file: str, function: str) -> str:
    return f"{_CODE}{file} {function}"


def functions(file: str, content: bytes | None) -> Mapping[str, Sequence[str]]:
    """Return hashes of a file's functions by qualified name, which several may share, and of the rest.

    The rest, under an empty name, is the code that an import runs, with class bodies and without docstrings.
    A file that is not Python, or has a syntax error, has no functions.
    """
    undivided = {_TOP: [hashlib.sha256(content or b"").hexdigest()]}
    if content is None or not file.endswith(".py"):
        return undivided
    try:
        tree = ast.parse(content)
        _remove_docstrings(tree)
        code = compile(tree, "<file>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return undivided
    hashes = defaultdict[str, list[str]](list, {_TOP: [code_hash(code, of_import=True)]})
    for inner in nested(code):
        if inner.co_flags & inspect.CO_OPTIMIZED:
            hashes[inner.co_qualname].append(code_hash(inner))
    return hashes


def _remove_docstrings(tree: ast.Module) -> None:
    """Remove the docstrings of a module and its classes; those of functions are not in the bytecode."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
            # Nothing in its place: an import from __future__ must come first.
            node.body[:1] = [] if node.body[1:] else [ast.copy_location(ast.Pass(), node.body[0])]
