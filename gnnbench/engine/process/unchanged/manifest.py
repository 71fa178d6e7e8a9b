"""The code and files on which each benchmark of one side depends, with a hash of each.

A *dependency* is a text: `file NAME`; `names NAME`, the file names in a folder; `package NAME`, the modules
of a package, or the fact that there is none; `metadata`, that of the side's distributions; or `code FILE
FUNCTION`. A NAME is a path in a `CodeTree`, or the absolute path of a file of the suite.
"""

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

VERSION = 8
_METADATA = "metadata"
_CODE = "code "
"""Prefix of the dependencies that are functions."""
_TOP = ""
"""Stands in place of a function's name for the code that an import of the file runs."""


Noted = tuple[str, str, Mapping[str, Any]]
"""A benchmark's id, why it is skipped, and what it used (`UsageRecorder.take`). The id is empty if there is
no benchmark, or if each run has to inspect it in a process."""


@dataclass(frozen=True)
class Step:
    """The dependencies of one benchmark or, in the first step, of the imports before all benchmarks."""

    name: str
    """The benchmark's id; empty if there is no benchmark, or if its code is not known."""
    skipped: str
    """Why the benchmark is skipped; empty if it is inspected."""
    later: Sequence[str]
    """Dependencies of this and of all later benchmarks. They include functions that did not run in every
    call, because later calls may use what these functions returned."""
    own: Sequence[str]
    """Functions that ran in every call of the benchmark; later benchmarks do not depend on them."""


@dataclass(frozen=True)
class Manifest:
    """The dependencies of a side's benchmarks, and their hashes."""

    collected: Mapping[str, Any]
    """What the side's process collected."""
    path: Sequence[str] = ()
    """Names or absolute paths of folders in which top-level modules are looked for."""
    steps: Sequence[Step] = ()
    hashes: Mapping[str, str] = field(default_factory=dict)
    """The hash of each dependency that is not a function."""

    @classmethod
    def of(
        cls,
        collected: Mapping[str, Any],
        noted: Sequence[Noted],
        tree: CodeTree,
        start: float,
    ) -> Self | None:
        """Return a side's manifest. Returns None if no benchmark is known, or if files changed in the run.

        `start`: the modification time of a file that was written before the side's processes began.
        """
        name_of = cache(tree.name)

        def dependencies(kind: str, *paths: Iterable[str]) -> list[str]:
            return [f"{kind} {name_of(path) or path}" for path in chain(*paths)]

        def code(used: Mapping[str, Sequence[str]]) -> list[str]:
            """Return dependencies on functions, given their names by file, and on imports of these files."""
            return [_code(name_of(path) or path, name) for path in used for name in (_TOP, *used[path])]

        steps, names, folders = list[Step](), set[str](), dict[str, None]()
        has_gaps = bool(collected["refused"])
        for name, skipped, used in noted:
            read_paths = *used["read"], *used["mapped"]
            paths = *used["once"], *used["every"], *read_paths, *used["listed"]
            uses_other_files = any(name_of(path) is None and tree.is_inside(path) for path in paths)
            has_gaps = has_gaps or used["unseen"] or uses_other_files  # this holds for later benchmarks, too
            names.update(name_of(path) or path for path in (*used["once"], *used["every"], *read_paths))
            module_folders = dict.fromkeys(name_of(path) or path for path in used["path"])
            module_folders.pop(".", None)
            folders |= module_folders
            later = [
                *(() if steps else (_METADATA,)),
                *(*dependencies("file", read_paths), *dependencies("names", used["listed"])),
                *(f"names {folder}" for folder in module_folders if not os.path.isabs(folder)),
                *(f"package {package}" for package in used["packages"]),
                *code(used["once"]),
            ]
            steps.append(Step("" if has_gaps else name, skipped, later, code(used["every"])))
        tests = {os.path.dirname(name) for name in names if os.path.isabs(name) and name.endswith(".py")}
        parent_folders = {folder for test in map(Path, tests) for folder in (test, *test.parents)}
        # A new file beside the tests, or new settings of pytest, may change what runs.
        hashed = {
            *(f"file {name}" for name in names),
            *(text for step in steps for text in step.later if not text.startswith(_CODE)),
            *(f"names {folder}" for folder in tests),
            *(f"file {folder / name}" for folder in parent_folders for name in SETTINGS),
        }
        used_names = (text.partition(" ")[2] for text in hashed if text.startswith(("file ", "names ")))
        code_paths = {path for *_, used in noted for path in (*used["once"], *used["every"])}
        is_changed = any(tree.time(name) >= start for name in used_names)
        if is_changed or not (any(step.name for step in steps) and all(map(os.path.exists, code_paths))):
            return None
        return cls(collected, [*folders], steps, dict.fromkeys(sorted(hashed), "")).with_hashes_of(tree)

    def with_hashes_of(self, tree: CodeTree) -> Self:
        """Return a copy of this manifest with the hashes of a side, whose code is `tree`."""
        return replace(self, hashes={text: self.hash(tree, text) for text in self.hashes})

    def hash(self, tree: CodeTree, dependency: str) -> str:
        """Return a dependency's hash on one side."""
        kind, _, name = dependency.partition(" ")
        match kind:
            case "file":
                return tree.digest(name)
            case "names":
                return tree.names_in(name)
            case "package":
                return tree.package(name, self.path)
        return tree.metadata

    def fits(self, tree: CodeTree) -> bool:
        """Whether a side has all hashes of this manifest."""
        return all(self.hash(tree, text) == digest for text, digest in self.hashes.items())

    def difference(self, tree: CodeTree, other: CodeTree) -> set[str]:
        """Return the dependencies that differ between this manifest's side `tree` and the other side."""
        differing = {text for text, digest in self.hashes.items() if self.hash(other, text) != digest}
        for file in [text.removeprefix("file ") for text in differing if text.startswith("file ")]:
            before, after = (functions(file, side.content(file)) for side in (tree, other))
            names = before.keys() | after.keys()
            differing |= {_code(file, name) for name in names if before.get(name) != after.get(name)}
        return differing

    def of_other_side(self, other: CodeTree, differing: set[str]) -> Self:
        """Return the manifest of the other side. Benchmarks that run other code there have no name in it."""
        steps, is_known = [], True
        for step in self.steps:
            is_known = is_known and differing.isdisjoint(step.later)
            is_same = is_known and differing.isdisjoint(step.own)
            steps.append(step if is_same else replace(step, name="", own=()))
        return replace(self, steps=steps).with_hashes_of(other)

    @property
    def known(self) -> dict[str, str]:
        """The reason why each known benchmark is skipped, by id; empty if the benchmark is not skipped."""
        return {step.name: step.skipped for step in self.steps if step.name}


def _code(file: str, function: str) -> str:
    return f"{_CODE}{file} {function}"


def functions(file: str, content: bytes | None) -> Mapping[str, Sequence[str]]:
    """Return the hashes of a file's functions by qualified name, which several functions may share.

    The empty name has the hash of the code that an import runs, with class bodies and without docstrings. If
    the file is not Python or has a syntax error, only the empty name is there, with a hash of the content.
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
            # Put nothing in its place: an import from __future__ must come first.
            node.body[:1] = [] if node.body[1:] else [ast.copy_location(ast.Pass(), node.body[0])]
