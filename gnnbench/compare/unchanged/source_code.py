"""The code of a Python file, divided into what runs when it is imported and its functions."""

import ast
import hashlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Self

from ...measure.fingerprint.bytecode import Bytecodes, nested


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
    """Hashes of a file's code."""

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
