"""Syntax trees of functions and classes in a file, without docstrings and marks."""

import ast
import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


@functools.cache
def _tree(file: str) -> ast.Module:
    """Return a file's syntax tree; empty if the file cannot be read or parsed.

    It is cached, because Python also reads a file once.
    """
    try:
        return ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])


@functools.cache
def nodes(file: str) -> Mapping[tuple[str, int | None], list[ast.AST]]:
    """Return a file's functions by name and first line, and its classes by name, without docstrings.

    Lambdas of the same line share an entry. Compare nodes by `ast.unparse`; `ast.dump` differs among versions
    of Python.
    """
    found: dict[tuple[str, int | None], list[ast.AST]] = {}
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.Lambda):
            found.setdefault(("<lambda>", node.lineno), []).append(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            line = min(part.lineno for part in (node, *node.decorator_list))
            found.setdefault((node.name, None if isinstance(node, ast.ClassDef) else line), []).append(node)
    for same in found.values():
        for node in same:
            _strip(node)
    return found


def _strip(node: Any) -> None:
    """Remove docstrings, other bare strings, and pytest's marks, which do not change what the code does."""

    def is_text(one: ast.stmt) -> bool:
        return isinstance(one, ast.Expr) and isinstance(getattr(one.value, "value", None), str)

    for part in ast.walk(node):
        body = getattr(part, "body", None)
        if isinstance(body, list):
            part.body = [one for one in body if not is_text(one)] or [ast.Pass()]  # type: ignore[attr-defined]
    if not isinstance(node, ast.Lambda):
        kept = [one for one in node.decorator_list if not ast.unparse(one).startswith("pytest.mark.")]
        node.decorator_list = kept


def assigned(file: str, name: str) -> str:
    """Return the source of a module's assignments to a global name."""
    return "\n".join(
        ast.unparse(statement)
        for statement in _tree(file).body
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign)
        and any(isinstance(part, ast.Name) and part.id == name for part in _targets(statement))
    )


def _targets(statement: ast.Assign | ast.AnnAssign | ast.AugAssign) -> list[ast.expr]:
    return statement.targets if isinstance(statement, ast.Assign) else [statement.target]


def defined(node: Any) -> set[str]:
    """Return the names that are defined or assigned in a class's body."""
    names = set()
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(statement.name)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            names |= {part.id for part in _targets(statement) if isinstance(part, ast.Name)}
    return names


def chains(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the dotted names in code, with their prefixes: `a`, `a.b` and `a.b.c` for `a.b.c`."""
    parts = (part for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute))
    return {chain for chain in map(ast.unparse, parts) if chain.replace(".", "").isidentifier()}
