"""A fingerprint of a benchmark's own code: whether two timings are of the same work."""

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

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...))

_INNER: Mapping[type, tuple[str, ...]] = {
    functools.partial: ("func", "args", "keywords"),
    functools.cached_property: ("func",),
    property: ("fget", "fset"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    MethodType: ("__func__", "__self__"),
}
"""Kind of object around functions: where it has them."""


def fingerprint(functions: Iterable[Callable[..., Any]], folders: Iterable[Path]) -> str:
    """Return 16 hexadecimal digits of the SHA-256 of functions and of all they use that lies in the folders.

    Used is what their code names: functions, classes, constants, attributes of modules; what they import;
    what closures, default values and `functools.partial` hold. Comments, docstrings, formatting, places and
    `pytest.mark` are left out; what lies elsewhere (libraries, installed packages below the folders too)
    counts by its name. What a caller passes in is not seen: give it among the functions. Nor is the inside
    of a library's object that a closure holds. Take it before anything runs, as the contents of global
    lists and dictionaries count.

    Args:
        functions: in any order.
        folders: where the code that counts lies.
    """
    within = [folder.resolve() for folder in folders]
    texts = {_Walk(within).describe(function) for function in functions}
    return hashlib.sha256("\n\n".join(sorted(texts)).encode()).hexdigest()[:16]


class _Walk:
    """Describes one function and all it reaches, depth first, each thing once and then by its number."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._seen: dict[int, tuple[int, object]] = {}
        """By `id`: the number, and the object, kept so that no other gets its `id`."""

    def describe(self, value: Any, assigned: str = "") -> str:
        """Return a text that is the same for the same code.

        Args:
            value: a function, or anything that one uses.
            assigned: the source that made it, for what no rule here can describe.
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
        # A file that is gone, or was changed since: the bytecode stands for the source.
        text = "\n".join(map(ast.unparse, nodes)) or f"{code.co_qualname} {_bytecode(code)}"
        uses = self._uses(source.chains(nodes) if nodes else bindings, bindings, function.__globals__)
        held = self.describe((function.__defaults__, function.__kwdefaults__, wrapped))
        return "\n".join((text, *uses, held))

    def _class(self, kind: type) -> str:
        if not self._has_class(kind):
            return _name(kind)
        nodes = source.nodes(str(sys.modules[kind.__module__].__file__)).get((kind.__name__, None), [])
        # Not all of vars(): what decorators and metaclasses add differs among versions of Python.
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
                scope = vars(inner) if isinstance(inner, ModuleType) and self._has(inner) else {}
                name = following
            if name in scope:
                file = (module if scope is bindings else scope).get("__file__")
                yield f"{chain} = {self.describe(scope[name], source.assigned(str(file), name))}"

    def _bindings(self, function: FunctionType, nodes: Iterable[ast.AST]) -> Iterator[tuple[str, Any]]:
        """Yield the names that a function's code takes from outside, with what they stand for."""
        for name in _global_names(function.__code__):
            # __file__ and __name__ say where it lies.
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
        """Import a module that can be in the folders, None for any other: its name is in the source."""
        try:
            name = importlib.util.resolve_name(name, package)
            spec = importlib.util.find_spec(name.partition(".")[0])
            places = [*(spec.submodule_search_locations or ()), spec.origin or ""] if spec else []
            if any(self._is_ours(place) or self._is_above(place) for place in places):
                return importlib.import_module(name)
        except Exception:  # noqa: BLE001 - a module may raise anything, and the function itself will tell
            return None
        return None

    def _is_ours(self, file: str) -> bool:
        # An environment often lies in the project's own folder.
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


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a function's code and that of the functions defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _global_names(code: CodeType) -> set[str]:
    return {name for one in _codes(code) for name in one.co_names}


def _bytecode(code: CodeType) -> str:
    plain = [[value for value in one.co_consts if type(value) in _PLAIN] for one in _codes(code)]
    return f"{[one.co_code.hex() for one in _codes(code)]} {plain}"


def _name(value: Any) -> str:
    # Generated functions often share all but one of these.
    parts = (getattr(value, part, None) for part in ("__module__", "__qualname__", "__name__"))
    return ".".join(part for part in parts if isinstance(part, str))
