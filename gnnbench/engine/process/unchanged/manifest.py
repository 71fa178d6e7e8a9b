"""What one side's processes used: the files, and which parts of them each benchmark depends on."""

import ast
import hashlib
import inspect
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any, Self

from ...measure.fingerprint.bytecode import Bytecodes, nested
from .code_tree import CodeTree, names_in, searched, state_of

VERSION = 2

Names = Mapping[str, Sequence[str]]
"""Qualified names of functions, by name of the file."""


@dataclass(frozen=True)
class UsedStep:
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
    """What one side used, and what these files contained. Names are those of `CodeTree`."""

    collected: Mapping[str, Any]
    """What its process said of the suite."""
    files: Mapping[str, str]
    """Hash of each file of the side's code."""
    modules: Mapping[str, str]
    """File of each module that was looked for, see `CodeTree.resolved`."""
    folders: Mapping[str, str]
    """Hash of the names in each folder that was listed."""
    metadata: str
    native: Mapping[str, str]
    """Hash of the native libraries of each top-level package."""
    suite_files: Mapping[str, str]
    """Hash of each file that is not part of that code: tests, settings of pytest, data; by path."""
    suite_folders: Mapping[str, str]
    searched: Mapping[str, Sequence[str]]
    """Folders in which Python searches for modules, with those names in them that were looked for."""
    steps: Sequence[UsedStep] = ()
    path: Sequence[str] = ()
    """Folders of the side's code in which top-level modules are looked for."""

    def fits(self, tree: CodeTree) -> bool:
        """Whether a side has the same files as the one that was recorded."""
        return (
            all(tree.digest(name) == found for name, found in self.files.items())
            and all(tree.resolved(name, self.path) == found for name, found in self.modules.items())
            and all(tree.names_in(name) == found for name, found in self.folders.items())
            and self._has_same_packages(tree)
        )

    def _has_same_packages(self, tree: CodeTree) -> bool:
        native = all(tree.native(name) == found for name, found in self.native.items())
        return native and tree.metadata == self.metadata

    def has_same_suite(self) -> bool:
        """Whether tests, settings and data are what they were."""
        return (
            all(state_of(path) == found for path, found in self.suite_files.items())
            and all(names_in(path) == found for path, found in self.suite_folders.items())
            and all(searched(path, self.modules) == list(found) for path, found in self.searched.items())
        )

    def difference(self, tree: CodeTree, other: CodeTree) -> "Differing":
        """Return what another side has otherwise than a side that this manifest fits."""
        changed = {
            name: _changed(name, tree.content(name), other.content(name))
            for name, found in self.files.items()
            if other.digest(name) != found
        }
        return Differing(
            changed,
            {name for name, found in self.modules.items() if other.resolved(name, self.path) != found},
            {name for name, found in self.folders.items() if other.names_in(name) != found},
            self._has_same_packages(other),
        )

    def of_other(self, other: CodeTree, differing: "Differing") -> "Manifest":
        """Return the manifest of another side, in which benchmarks that run other code have no name."""
        steps, known = [], differing.has_same_packages
        for step in self.steps:
            known = known and not differing.concerns_later(step)
            is_same = known and not differing.concerns(step.every)
            steps.append(step if is_same else replace(step, name="", every={}))
        return replace(
            self,
            files={name: other.digest(name) for name in self.files},
            modules={name: other.resolved(name, self.path) for name in self.modules},
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

    def concerns_later(self, step: UsedStep) -> bool:
        """Whether it concerns a step, and with it all later ones."""
        return (
            self.concerns(step.once)
            or not self.changed.keys().isdisjoint(step.read)
            or not set(self.modules).isdisjoint(step.asked)
            or not set(self.folders).isdisjoint(step.listed)
        )

    def concerns(self, used: Names) -> bool:
        """Whether some of these functions are among what differs."""
        for file in used.keys() & self.changed.keys():
            functions = self.changed[file]
            if functions is None or not functions.isdisjoint(used[file]):
                return True
        return False

    def lines(self, steps: Iterable[UsedStep]) -> Iterator[str]:
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


def _changed(name: str, before: bytes | None, after: bytes | None) -> set[str] | None:
    """Return the functions that differ between two files; None: the whole file counts as changed."""
    if before is None or after is None or not name.endswith(".py"):
        return None
    one, other = SourceCode.of(before), SourceCode.of(after)
    return one.changed(other) if one.top == other.top else None


class _Outline(Bytecodes):
    """Hashes of code without the bodies of the functions in it: of these only the parameters count."""

    def constant(self, value: object) -> str:
        """Return a constant of the bytecode as text."""
        if isinstance(value, CodeType) and value.co_flags & inspect.CO_OPTIMIZED:  # no body of a class
            parameters = value.co_argcount + value.co_kwonlyargcount
            names = " ".join(value.co_varnames[:parameters])
            return (
                f"{value.co_qualname} {value.co_argcount} {value.co_posonlyargcount} {value.co_flags} {names}"
            )
        return super().constant(value)


@dataclass(frozen=True)
class SourceCode:
    """Hashes of a Python file's code, divided into what runs when it is imported and its functions."""

    top: str
    """Of what runs when it is imported, the bodies of classes included, without docstrings."""
    functions: Mapping[str, tuple[str, ...]]
    """Of the functions by qualified name, in the order of the file; several may have one name."""

    @classmethod
    def of(cls, content: bytes) -> Self:
        """Compile a file; one with a wrong syntax has no functions, and its whole content is its top."""
        try:
            tree = ast.parse(content)
            _remove_docstrings(tree)
            code = compile(tree, "<file>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            return cls(hashlib.sha256(content).hexdigest(), {})
        whole, functions = Bytecodes(), dict[str, tuple[str, ...]]()
        for one in nested(code):
            if one.co_flags & inspect.CO_OPTIMIZED:
                name = one.co_qualname
                functions[name] = (*functions.get(name, ()), whole.digest(one))
        return cls(_Outline().digest(code), functions)

    def changed(self, other: Self) -> set[str]:
        """Return the names of the functions that differ; those that only one has are among them."""
        names = self.functions.keys() | other.functions.keys()
        return {name for name in names if self.functions.get(name) != other.functions.get(name)}


def _remove_docstrings(tree: ast.Module) -> None:
    """Remove the docstrings of a module and its classes; bytecode has none of functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef) and ast.get_docstring(node, clean=False) is not None:
            # Nothing in its place: an import from __future__ must come first.
            node.body[:1] = [] if node.body[1:] else [ast.copy_location(ast.Pass(), node.body[0])]
