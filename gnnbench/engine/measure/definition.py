"""A hash of a benchmark's definition: two runs with equal hashes timed the same work."""

import ast
import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from types import CodeType
from typing import Any

from ..ground.parts import captured
from .fingerprint import digest

_DEFINED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def definition_hash(functions: Iterable[Callable[..., Any]], folders: Iterable[Path]) -> str:
    """Return a hash (16 hexadecimal digits) of functions and of the definitions in their files that they use.

    For code in `folders`, the source is hashed, because it is the same for all versions of Python. It
    includes functions, classes and assignments that a function names, and recursively all that these name.
    Comments, docstrings, formatting, line numbers and `pytest.mark` are left out. For installed packages, and
    for other code outside of `folders`, only the names of functions and types are hashed.
    """
    roots = [folder.resolve() for folder in folders]
    stack, visited, texts = list[Any](functions), dict[int, Any](), set[str]()
    while stack:
        function = stack.pop()
        if id(function) in visited:
            continue
        visited[id(function)] = function  # the reference keeps its id from being reused
        if isinstance(function, functools.partial):
            stack.append(function.func)
            items = [*enumerate(function.args), *function.keywords.items()]
        else:
            function = inspect.unwrap(function) if callable(function) else function
            code = getattr(function, "__code__", None)
            if code is None or not _is_in(Path(code.co_filename).resolve(), roots):
                origin = function if hasattr(function, "__qualname__") else type(function)
                texts.add(f"{getattr(origin, '__module__', '')} {origin.__qualname__}")
                continue
            texts |= _sources(code)
            items = list(captured(function))
        for name, value in items:
            if (text := digest.plain(value)) is None:
                stack.append(value)
            else:
                texts.add(f"{name} = {text}")
    return digest.combined(texts)


def _sources(code: CodeType) -> set[str]:
    """Return the sources of a function and, recursively, of the statements that define the names it uses."""
    functions, names = _parse(code.co_filename)
    stack = list(functions.get((code.co_name, code.co_firstlineno), ()))
    texts, visited = set[str](), set[str]()
    while stack:
        node = stack.pop()
        texts.add(ast.unparse(node))
        used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} - visited
        visited |= used
        stack += [statement for name in used for statement in names.get(name, ())]
    return texts


def _is_in(file: Path, folders: Collection[Path]) -> bool:
    """Return whether a file is in one of the folders, but not in a virtual environment there."""
    return any(
        file.is_relative_to(folder) and "site-packages" not in file.relative_to(folder).parts
        for folder in folders
    )


@functools.cache
def _parse(file: str) -> tuple[Mapping[tuple[str, int], list[ast.AST]], Mapping[str, list[ast.AST]]]:
    """Return a file's functions by name and first line, and its statements by the names that they set."""
    functions: dict[tuple[str, int], list[ast.AST]] = {}
    names: dict[str, list[ast.AST]] = {}
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return functions, names
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            functions.setdefault(("<lambda>", node.lineno), []).append(node)
        elif isinstance(node, _DEFINED):
            line = min(part.lineno for part in (node, *node.decorator_list))
            functions.setdefault((node.name, line), []).append(node)
            rest = [part for part in node.decorator_list if not ast.unparse(part).startswith("pytest.mark.")]
            node.decorator_list = rest
        if isinstance(body := getattr(node, "body", None), list):
            docs = [
                part for part in body if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)
            ]
            node.body = [part for part in body if part not in docs] or [ast.Pass()]  # type: ignore[attr-defined]
    for statement in tree.body:
        for name in _names_set_by(statement):
            names.setdefault(name, []).append(statement)
    return functions, names


def _names_set_by(statement: ast.stmt) -> set[str]:
    """Return the names that a statement defines, assigns or imports."""
    if isinstance(statement, _DEFINED):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
    parts = (part for part in ast.walk(statement) if isinstance(part, ast.Name))
    return {part.id for part in parts if isinstance(part.ctx, ast.Store)}
