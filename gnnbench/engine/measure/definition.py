"""A hash of what defines a benchmark, to tell whether two runs timed the same work."""

import ast
import functools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

from ..ground.parts import captured, kind_or_container
from .fingerprint import digest
from .fingerprint.bytecode import Bytecodes

_CONSTANTS = digest.ATOMS | {tuple, frozenset}
_NO_GLOBALS: Mapping[str, Any] = MappingProxyType({})
_CLASS, _ASSIGNED = -1, -2
"""In the place of a function's first line."""


def definition_hash(functions: Iterable[Callable[..., Any]], folders: Iterable[Path]) -> str:
    """Return 16 hexadecimal digits of a hash of functions and the code in the folders that they use.

    A function uses the globals that it names, what it imports from modules that are loaded, and what its
    closure and default values hold. Functions and classes count by their source, which is the same in all
    versions of Python; constants by their values; other globals by the statements that assign them. Comments,
    docstrings, formatting, line numbers and `pytest.mark` do not count. Code outside the folders counts by
    its name only; so do installed packages inside them.
    """
    uses = _Uses([folder.resolve() for folder in folders])
    for function in functions:
        uses.look(function)
    return digest.combined(uses.texts)


class _Uses:
    """Describes functions and what they use."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._seen: dict[tuple[int, str, str], object] = {}
        """By id, which stays taken, and where it was found."""
        self.texts: set[str] = set()

    def look(self, value: Any, name: str = "", scope: Mapping[str, Any] = _NO_GLOBALS) -> None:
        """Describe a value; `scope`: the globals of the module in which it has the name."""
        if type(value) in _CONSTANTS and (text := digest.plain(value)) is not None:
            self.texts.add(f"{name} = {text}")
        elif (id(value), name, _file(scope)) not in self._seen and not isinstance(value, ModuleType):
            self._seen[id(value), name, _file(scope)] = value
            wrapped = getattr(value, "__dict__", _NO_GLOBALS).get("__wrapped__")
            if wrapped is not None:
                self.look(wrapped)
            if isinstance(value, FunctionType):
                self._function(value)
            elif isinstance(value, type):
                if not self._source(_file(_home(value)), value.__name__, _CLASS, _home(value)):
                    self._name(value)
            elif not self._source(_file(scope), name, _ASSIGNED, scope):
                self._name(value if callable(value) else type(value))
                kind = kind_or_container(value)
                for place, part in kind.parts(value) if kind else ():
                    self.look(part, place)

    def _function(self, function: FunctionType) -> None:
        code = function.__code__
        if not self._is_ours(code.co_filename):
            self._name(function)
            return
        if not self._source(code.co_filename, code.co_name, code.co_firstlineno, function.__globals__):
            self.texts.add(Bytecodes().digest(code))  # the file was removed or changed
        for name, value in (*captured(function), ("", function.__defaults__), ("", function.__kwdefaults__)):
            self.look(value, name)

    def _name(self, value: Any) -> None:
        module = "" if self._is_ours(_file(_home(value))) else value.__module__
        self.texts.add(f"{module} {getattr(value, '__qualname__', type(value).__qualname__)}")

    def _source(self, file: str, name: str, line: int, scope: Mapping[str, Any]) -> bool:
        """Describe the source of something in a module with these globals; return whether it was found."""
        nodes = _nodes(file).get((name, line), []) if self._is_ours(file) else []
        for node in nodes:
            text, chains, imports = _read(node)
            self.texts.add(text)
            loaded = [found for found in imports if found[0] in sys.modules]
            imported = {name: vars(sys.modules[module]).get(origin) for module, origin, name in loaded}
            known = {**scope, **imported}
            for chain in chains:
                self._follow(chain, known)
        return bool(nodes)

    def _follow(self, chain: Sequence[str], scope: Mapping[str, Any]) -> None:
        """Look at a global, or at an attribute of a module in the folders."""
        name, *attributes = chain
        for attribute in attributes:
            module = scope.get(name)
            if not isinstance(module, ModuleType) or not self._is_ours(_file(vars(module))):
                break
            scope, name = vars(module), attribute
        if name in scope:
            self.look(scope[name], name, scope)

    def _is_ours(self, file: str) -> bool:
        # A virtual environment is often inside the project's folder.
        path = Path(file).resolve()
        return Path(file).is_absolute() and any(
            path.is_relative_to(folder) and "site-packages" not in path.relative_to(folder).parts
            for folder in self._folders
        )


def _home(value: Any) -> Mapping[str, Any]:
    """Return the globals of the module that a function or a class says to be from."""
    return getattr(sys.modules.get(value.__module__), "__dict__", _NO_GLOBALS)


def _file(scope: Mapping[str, Any]) -> str:
    return str(scope.get("__file__") or "")


@functools.cache
def _nodes(file: str) -> Mapping[tuple[str, int], list[ast.AST]]:
    """Return what a file defines by name: functions with their first line, classes, and assigned globals.

    Lambdas of the same line share an entry. It is cached, because Python also reads a file once.
    """
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return {}
    found: dict[tuple[str, int], list[ast.AST]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            found.setdefault(("<lambda>", node.lineno), []).append(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            line = min(part.lineno for part in (node, *node.decorator_list))
            found.setdefault((node.name, _CLASS if isinstance(node, ast.ClassDef) else line), []).append(node)
            kept = [one for one in node.decorator_list if not ast.unparse(one).startswith("pytest.mark.")]
            node.decorator_list = kept
        if isinstance(body := getattr(node, "body", None), list):
            texts = [one for one in body if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)]
            node.body = [one for one in body if one not in texts] or [ast.Pass()]  # type: ignore[attr-defined]
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for name in {part.id for part in targets if isinstance(part, ast.Name)}:
                found.setdefault((name, _ASSIGNED), []).append(statement)
    return found


@functools.cache
def _read(node: ast.AST) -> tuple[str, Sequence[Sequence[str]], Sequence[tuple[str, str, str]]]:
    """Return a node's source, the names that it does not bind, with attributes, and those that it imports.

    Of an import: the module, the name there, and the name here.
    """
    parts = list(ast.walk(node))
    bound = {part.arg for part in parts if isinstance(part, ast.arg)}
    bound |= {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    texts = {ast.unparse(part) for part in parts if isinstance(part, ast.Name | ast.Attribute)}
    chains = (text.split(".") for text in sorted(texts) if text.replace(".", "").isidentifier())
    # Names such as `__file__` depend on the place of the file.
    used = [chain for chain in chains if chain[0] not in bound and chain[0][:2] != "__"]
    froms = (part for part in parts if isinstance(part, ast.ImportFrom) and part.module and not part.level)
    imports = [(str(one.module), name.name, name.asname or name.name) for one in froms for name in one.names]
    return ast.unparse(node), used, imports
