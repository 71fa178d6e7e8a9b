"""A hash of a benchmark's own code, to tell whether two runs timed the same work."""

import ast
import functools
import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from . import source
from .fingerprint.bytecode import nested

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))

_INNER: Mapping[type, tuple[str, ...]] = {
    functools.partial: ("func", "args", "keywords"),
    functools.cached_property: ("func",),
    property: ("fget", "fset"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    MethodType: ("__func__", "__self__"),
}
"""Attributes that hold functions, by type of object."""


def code_hash(functions: Iterable[Callable[..., Any]], folders: Iterable[Path]) -> str:
    """Return 16 hexadecimal digits of a SHA-256 of functions and the code in the folders that they use.

    A function uses what its code names (functions, classes, constants, attributes of modules), what it
    imports, and what its closure, default values and `functools.partial` hold. Comments, docstrings,
    formatting, line numbers and `pytest.mark` do not count. Code outside the folders counts by its name only;
    so do installed packages inside them. Functions that a caller passes in are not found: add them to
    `functions`. Library objects in a closure are not searched. The contents of global lists and dictionaries
    count, so call this before anything runs.
    """
    within = [folder.resolve() for folder in folders]
    texts = {_Walk(within).describe(function) for function in functions}
    return hashlib.sha256("\n\n".join(sorted(texts)).encode()).hexdigest()[:16]


class _Walk:
    """Describes a function and what it uses, depth first. A repeated object is replaced by its number."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._seen: dict[int, tuple[int, object]] = {}
        """Number and object by `id`. The object is kept so that its `id` is not reused."""

    def describe(self, value: Any, assigned: str = "") -> str:
        """Return a text that is equal for equal code.

        `assigned`: source of the object's assignment, for objects that cannot be described otherwise.
        """
        if type(value) in _PLAIN:
            return repr(value)
        if isinstance(value, ModuleType):
            return "module" if self._has(value) else f"module {value.__name__}"
        if type(value) is tuple:
            return f"({', '.join(map(self.describe, value))})"
        if id(value) in self._seen:
            return f"#{self._seen[id(value)][0]}"
        self._seen[id(value)] = (len(self._seen), value)
        if isinstance(value, FunctionType):
            return self._function(value)
        return self._class(value) if isinstance(value, type) else self._object(value, assigned)

    def _object(self, value: Any, assigned: str) -> str:
        inner = next((names for kind, names in _INNER.items() if isinstance(value, kind)), None)
        wrapped = getattr(value, "__dict__", {}).get("__wrapped__")
        kind = self.describe(type(value)) if self._has_class(type(value)) else type(value).__qualname__
        if inner:
            parts: Any = tuple(getattr(value, name) for name in inner)
        elif wrapped is not None:
            parts = wrapped
        elif isinstance(value, dict):
            parts = tuple(value.items())
        elif isinstance(value, list | tuple):
            parts = tuple(value)
        elif isinstance(value, set | frozenset):
            parts = tuple(sorted(value, key=lambda one: _name(one) if callable(one) else repr(one)))
        elif is_dataclass(value):
            parts = tuple(getattr(value, field.name, None) for field in fields(value))
        else:
            return f"{kind} {_name(value) if callable(value) else ''} {assigned}"
        return f"{kind} {self.describe(parts)}"

    def _function(self, function: FunctionType) -> str:
        code = function.__code__
        wrapped = vars(function).get("__wrapped__")
        if not self._is_ours(code.co_filename):
            return _name(function) if wrapped is None else self.describe(wrapped)
        nodes = source.nodes(code.co_filename).get((code.co_name, code.co_firstlineno), [])
        bindings = dict(self._bindings(function, nodes))
        # Without the source, because the file was removed or changed, the bytecode is used.
        text = "\n".join(map(ast.unparse, nodes)) or f"{code.co_qualname} {_bytecode(code)}"
        uses = self._uses(source.chains(nodes) if nodes else bindings, bindings, function.__globals__)
        held = self.describe((function.__defaults__, function.__kwdefaults__, wrapped))
        return "\n".join((text, *uses, held))

    def _class(self, kind: type) -> str:
        if not self._has_class(kind):
            return _name(kind)
        nodes = source.nodes(str(sys.modules[kind.__module__].__file__)).get((kind.__name__, None), [])
        # Not all of vars(): additions of decorators and metaclasses differ among versions of Python.
        names = sorted(set().union(*map(source.defined, nodes)) & vars(kind).keys())
        members = (f"{name} = {self.describe(vars(kind)[name])}" for name in names)
        return "\n".join((*map(ast.unparse, nodes), self.describe(kind.__bases__), *members))

    def _uses(
        self, chains: Iterable[str], bindings: Mapping[str, Any], module: Mapping[str, Any]
    ) -> Iterator[str]:
        for chain in sorted(chains):
            first, *rest = chain.split(".")
            scope, name = bindings, first
            for following in rest:
                inner = scope.get(name)
                if (
                    isinstance(inner, ModuleType) and inner.__spec__ is None
                ):  # stands for one not imported yet
                    inner = self._import(inner.__name__, None) or inner
                scope = vars(inner) if isinstance(inner, ModuleType) and self._has(inner) else {}
                name = following
            if name in scope:
                file = (module if scope is bindings else scope).get("__file__")
                yield f"{chain} = {self.describe(scope[name], source.assigned(str(file), name))}"

    def _bindings(self, function: FunctionType, nodes: Iterable[ast.AST]) -> Iterator[tuple[str, Any]]:
        """Yield the global, nonlocal and imported names of a function's code, with their values."""
        for name in {name for one in nested(function.__code__) for name in one.co_names}:
            # __file__ and __name__ depend on the location of the file.
            if name in function.__globals__ and not name.startswith("__"):
                yield name, function.__globals__[name]
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                yield name, cell.cell_contents
            except ValueError:  # not bound yet
                continue
        for node in nodes:
            for part in ast.walk(node):
                if isinstance(part, ast.Import | ast.ImportFrom):
                    yield from self._imported(part, function.__globals__.get("__package__"))

    def _imported(self, node: ast.Import | ast.ImportFrom, package: str | None) -> Iterator[tuple[str, Any]]:
        for alias in node.names:
            if isinstance(node, ast.Import):
                found: Any = self._import(alias.name, package)
                if found and not alias.asname:
                    found = sys.modules[alias.name.partition(".")[0]]
            else:
                origin = "." * node.level + (node.module or "")
                module = self._import(origin, package)
                below = f"{origin}{'.' if node.module else ''}{alias.name}"
                found = vars(module).get(alias.name) or self._import(below, package) if module else None
            if found is not None:
                yield alias.asname or alias.name.partition(".")[0], found

    def _import(self, name: str, package: str | None) -> ModuleType | None:
        """Import a module that may be in the folders; None for others, whose names are in the source."""
        try:
            name = importlib.util.resolve_name(name, package)
            spec = importlib.util.find_spec(name.partition(".")[0])
            places = [*(spec.submodule_search_locations or ()), spec.origin or ""] if spec else []
            if any(self._is_ours(place) or self._is_above(place) for place in places):
                return importlib.import_module(name)
        except Exception:  # noqa: BLE001 - a module may raise anything; the function will report it when called
            return None
        return None

    def _is_ours(self, file: str) -> bool:
        # A virtual environment is often inside the project's folder.
        path = Path(file).resolve()
        return Path(file).is_absolute() and any(
            path.is_relative_to(folder) and "site-packages" not in path.relative_to(folder).parts
            for folder in self._folders
        )

    def _is_above(self, place: str) -> bool:
        return any(folder.is_relative_to(place) for folder in self._folders if place)

    def _has(self, module: ModuleType) -> bool:
        return self._is_ours(str(vars(module).get("__file__") or ""))

    def _has_class(self, kind: type) -> bool:
        module = sys.modules.get(kind.__module__)
        return module is not None and self._has(module)


def _bytecode(code: CodeType) -> str:
    plain = [[value for value in one.co_consts if type(value) in _PLAIN] for one in nested(code)]
    return f"{[one.co_code.hex() for one in nested(code)]} {plain}"


def _name(value: Any) -> str:
    # All three, because generated functions often differ in one of them only.
    parts = (getattr(value, part, None) for part in ("__module__", "__qualname__", "__name__"))
    return ".".join(part for part in parts if isinstance(part, str))
