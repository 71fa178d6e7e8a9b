"""What one side's processes used: the files, and which parts of them each benchmark depends on."""

import ast
import hashlib
import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any, Self

from ...measure.fingerprint.bytecode import Bytecodes, nested
from .code_tree import CodeTree, searched

VERSION = 4
METADATA = "metadata"

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
    parts: Sequence[str] = ()
    """Parts of the side's code that count as a whole, see `Manifest.parts`."""


@dataclass(frozen=True)
class Manifest:
    """What one side used, and what that was. Names are those of `CodeTree`."""

    collected: Mapping[str, Any]
    """What its process said of the suite."""
    path: Sequence[str] = ()
    """Folders of the side's code in which top-level modules are looked for."""
    steps: Sequence[UsedStep] = ()
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
                parts = (part.partition(" ") for step in self.steps for part in step.parts)
                return searched(name, {name for kind, _, name in parts if kind == "package"})
        return tree.metadata

    def fits(self, tree: CodeTree) -> bool:
        """Whether all is on a side as on the one that was recorded."""
        return all(self.state(tree, part) == state for part, state in self.parts.items())

    def difference(self, tree: CodeTree, other: CodeTree) -> "Differing":
        """Return what another side has otherwise than a side that this manifest fits."""
        parts = {part for part, state in self.parts.items() if self.state(other, part) != state}
        files = (part.removeprefix("file ") for part in parts if part.startswith("file "))
        return Differing(
            parts, {name: _changed(name, tree.content(name), other.content(name)) for name in files}
        )

    def of_other(self, other: CodeTree, differing: "Differing") -> "Manifest":
        """Return the manifest of another side, in which benchmarks that run other code have no name."""
        steps, known = [], True
        for step in self.steps:
            known = known and not differing.concerns_later(step)
            is_same = known and not differing.concerns(step.every)
            steps.append(step if is_same else replace(step, name="", every={}))
        parts = {part: self.state(other, part) for part in self.parts}
        return replace(self, parts=parts, steps=steps)

    @property
    def known(self) -> dict[str, str]:
        """The benchmarks that are known: why each is skipped; empty: it is not."""
        return {step.name: step.skipped for step in self.steps if step.name}


@dataclass(frozen=True)
class Differing:
    """What another side has otherwise than one that a manifest fits."""

    parts: Collection[str]
    changed: Mapping[str, set[str] | None]
    """By file: the functions that differ; None: the whole file, or what its import runs."""

    def concerns_later(self, step: UsedStep) -> bool:
        """Whether it concerns a step, and with it all later ones."""
        return self.concerns(step.once) or not set(self.parts).isdisjoint(step.parts)

    def concerns(self, used: Names) -> bool:
        """Whether some of these functions are among what differs."""
        for file in used.keys() & self.changed.keys():
            functions = self.changed[file]
            if functions is None or not functions.isdisjoint(used[file]):
                return True
        return False


def _changed(name: str, before: bytes | None, after: bytes | None) -> set[str] | None:
    """Return the functions that differ between two files; None: the whole file counts as changed."""
    if before is None or after is None or not name.endswith(".py"):
        return None
    old, new = SourceCode.of(before), SourceCode.of(after)
    return old.changed(new) if old.top == new.top else None


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
        for inner in nested(code):
            if inner.co_flags & inspect.CO_OPTIMIZED:
                name = inner.co_qualname
                functions[name] = (*functions.get(name, ()), whole.digest(inner))
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
