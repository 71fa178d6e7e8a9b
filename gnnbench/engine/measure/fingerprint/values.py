"""The values that executed functions read: globals, class attributes, attributes of their arguments.

Which values a function reads is seen in the names of its bytecode. A global counts if a function names it. An
attribute counts if any of the functions names it and it can be reached from their globals, arguments and
closures. This usually finds more than is read; docs/same-code.md lists what it misses.
"""

import functools
import inspect
import os
import sys
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from . import digest
from .bytecode import imports, nested
from .digest import Contents

_DEEPEST = 32
_DEEPEST_MODULE = 3
"""Modules inside of modules, as in `torch.nn.functional.relu`."""
_MOST = 50_000
"""Objects that are looked at; more would take seconds."""
_OF_PROCESS = (
    *("torch._inductor", "torch._functorch", "torch._dynamo", "torch._guards", "torch.fx"),
    *("torch.nested._internal", "torch.utils.weak"),
)
"""Modules of torch.compile, and of nested tensors. Their objects hold numbers and keys of this process;
compiled code counts, and so do the parts of a nested tensor."""
_GUARD = "___make_guard_fn."
"""Beginning of the names of functions in which torch.compile checks sizes. Their global `G` has all globals
of the compiled function's module, under names with addresses and random numbers; compiled code counts."""
_OPERATORS = "torch._ops"
"""Its objects are made when an operator is first used; the operators that run count."""
_FIXED = sys.stdlib_module_names | {"numpy"}
"""Packages whose globals are left out: their versions decide them, but imports of others add to some."""
_LEFT = (CodeType, property, type(os.environ))
"""Types of objects without values of their own; the variables that are read are settings."""
_NAMED = (FunctionType, BuiltinFunctionType, MethodType, type)
_SEQUENCES = (list, tuple, set, frozenset, deque)
_FUNCTIONS = (
    *(FunctionType, property, staticmethod, classmethod),
    *(MethodDescriptorType, GetSetDescriptorType, ClassMethodDescriptorType),
)
_PYTHONS = {
    *(name for thing in (ModuleType, FunctionType, type) for name in dir(thing)),
    *("__builtins__", "__cached__", "__file__", "__path__", "__slots__", "__weakref__", "__wrapped__"),
}
"""Attributes of modules, functions and classes that Python itself sets."""


def module_of(code: CodeType, scope: Mapping[str, Any]) -> str:
    """Return the name of a function's module; `generated` if it was written into the temporary folder.

    Such modules, as PyG's, have random names: the file's name does not follow from the module's.
    """
    name, file = str(scope.get("__name__")), code.co_filename
    if not file.startswith(tempfile.gettempdir() + os.sep) or name == "__main__":
        return name
    path = name.replace(".", os.sep)
    return name if file.endswith((f"{path}.py", f"{path}{os.sep}__init__.py")) else "generated"


class Values:
    """Finds the values that functions with the given code may read.

    Each name and each text in the code may be an attribute that is read.
    """

    def __init__(self, codes: Iterable[CodeType], contents: Contents) -> None:
        self._contents = contents
        self._names = {name for code in codes for name in _names(code)}
        self._globals: set[tuple[int, str]] = set()
        self._seen: dict[int, Any] = {}
        self._attributes: dict[type, dict[str, Any]] = {}
        self.texts: dict[str, set[str]] = {}
        """Values as text, by the place where they were found: `torch_geometric.typing.WITH_TORCH_SPARSE`."""
        self.cached: dict[int, FunctionType] = {}
        """Functions behind `functools.cache`, by id of their code: the call may have used a result."""
        self.types: set[type] = set()
        """Types of all objects."""

    @property
    def too_many(self) -> bool:
        """Whether there are more objects than are looked at."""
        return len(self._seen) >= _MOST

    def globals_of(self, code: CodeType, scope: Mapping[str, Any], *, cached: bool = False) -> None:
        """Look at the globals that a function names, and at what it names inside of modules.

        If its result was `cached`, the functions of its package that it names count, because they ran before.
        """
        if code.co_qualname.startswith(_GUARD):
            return
        names = [name for name in _names(code) if name not in _PYTHONS]
        module = module_of(code, scope)
        for imported in imports(code, str(scope.get("__package__") or "")) & sys.modules.keys():
            self._module(imported, vars(sys.modules[imported]), names, 0)
        self._module(module, scope, names, 0)
        if cached:
            for name in names:
                self._memoised(scope.get(name), module.partition(".")[0])

    def _module(self, module: str, scope: Mapping[str, Any], names: Sequence[str], depth: int) -> None:
        is_fixed = module.partition(".")[0] in _FIXED
        for name in () if is_fixed else filter(scope.__contains__, names):
            item = scope[name]
            if type(item) is ModuleType:
                if depth < _DEEPEST_MODULE and vars(item) is not scope:
                    self._module(item.__name__, vars(item), names, depth + 1)
            elif (id(scope), name) not in self._globals:
                self._globals.add((id(scope), name))
                self.look(f"{module}.{name}", item)

    def look(self, place: str, value: Any, depth: int = 0, path: str = "") -> None:
        """Look at a value that was found in a place, and at its parts.

        Objects of one class share a place; `path`, the steps from a global or an argument, tells them apart.
        """
        if self.too_many or value is sys.modules or type(value).__module__ == _OPERATORS:
            return
        text = self._contents.plain(value)
        if self._contents.is_leaf(value):
            self.types.add(type(value))
        kind = text or _kind(value)
        if text is not None or not place.endswith(f".{kind}"):  # a function under its own name says nothing
            self.texts.setdefault(place, set()).add(f"{path} {kind}")
        if text is None and id(value) not in self._seen and depth < _DEEPEST:
            self._seen[id(value)] = value  # keeps it, so that its id stays taken
            self._parts(place, value, depth + 1, path or place)

    def _parts(self, place: str, value: Any, depth: int, path: str) -> None:
        kind = type(value)
        self.types.add(kind)
        if isinstance(value, _LEFT) or self._contents.is_leaf(value):
            return
        if str(getattr(value, "__module__", None) or kind.__module__).startswith(_OF_PROCESS):
            return
        state = getattr(value, "__dict__", None)
        if isinstance(state, dict) and "__wrapped__" in state and kind is not FunctionType:
            self._memoised(value, "")  # functools.cache, or numba's
        elif isinstance(value, ModuleType):
            if value.__name__ not in sys.stdlib_module_names:
                state = {name: item for name, item in vars(value).items() if type(item) is not ModuleType}
                self._attributes_in(value.__name__, state, depth, value.__name__)
        elif isinstance(value, type):
            self._attributes_in(_name(value), self._attributes_of(value), depth, _name(value))
        elif isinstance(value, FunctionType):
            self._attributes_in(_name(value), vars(value), depth, path)
            # The defaults of a lambda, and of a function with another name, are not found by name.
            self.look(f"{place} defaults", [value.__defaults__, value.__kwdefaults__], depth, path)
        else:
            for at, (name, item) in enumerate(_elements(value)):
                position = "" if isinstance(value, set | frozenset) else at
                self.look(f"{place}{name}", item, depth, f"{path}[{position}]")
            self._instance(kind, state if isinstance(state, dict) else {}, value, depth, path)

    def _memoised(self, function: Any, package: str) -> None:
        """Note a function whose result was cached, or one that such a function calls."""
        function = inspect.unwrap(function) if callable(function) else function
        origin = str(getattr(function, "__module__", "")).partition(".")[0]
        is_of_package = package in {"", origin} and origin not in sys.stdlib_module_names
        if isinstance(function, FunctionType) and is_of_package:
            self.cached[id(function.__code__)] = function

    def _instance(self, kind: type, state: Mapping[str, Any], value: Any, depth: int, path: str) -> None:
        self._attributes_in(_name(kind), state, depth, path)
        attributes = {}
        for name, item in self._attributes_of(kind).items():
            if isinstance(item, MemberDescriptorType):
                with suppress(AttributeError, TypeError):  # an empty slot, or one of the metaclass
                    attributes[name] = item.__get__(value)
            elif name not in state:
                attributes[name] = item
        self._attributes_in(_name(kind), attributes, depth, path)

    def _attributes_in(self, owner: str, attributes: Mapping[str, Any], depth: int, path: str) -> None:
        for name in sorted((attributes.keys() & self._names) - _PYTHONS):
            self.look(f"{owner}.{name}", attributes[name], depth, f"{path}.{name}")

    def _attributes_of(self, kind: type) -> Mapping[str, Any]:
        """Return a class's attributes, with those of its bases and metaclass, by name.

        The only functions among them are local ones, which are not found by name: see `defaults`.
        """
        if kind not in self._attributes:
            attributes: dict[str, Any] = {}
            meta: type = type(kind)
            for base in (*reversed(meta.__mro__), *reversed(kind.__mro__)):
                namespace = vars(base)
                for name in namespace.keys() & self._names:
                    item = namespace[name]
                    item = item.__func__ if isinstance(item, staticmethod | classmethod) else item
                    is_local = isinstance(item, FunctionType) and "<locals>" in item.__code__.co_qualname
                    if is_local or not isinstance(item, _FUNCTIONS):
                        attributes[name] = item
            self._attributes[kind] = attributes
        return self._attributes[kind]


def _elements(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the elements of a container with their places, and what other objects hold."""
    if isinstance(value, functools.partial):
        value = [value.func, value.args, value.keywords]
    elif isinstance(value, MethodType):
        value = [value.__self__, value.__func__]
    elif isinstance(value, GeneratorType):
        value = value.gi_frame and value.gi_frame.f_locals
    elif isinstance(value, ContextVar):
        with suppress(LookupError):
            value = [value.get()]
    elif not isinstance(value, (dict, *_SEQUENCES)):
        value = digest.reduced(value) or value
    if isinstance(value, dict | MappingProxyType):
        for key, item in list(value.items()):
            yield f"[{key}]" if type(key) is str else "[]", item
    elif isinstance(value, _SEQUENCES):
        yield from (("[]", item) for item in list(value))


@functools.cache
def _names(code: CodeType) -> Sequence[str]:
    """Return the names in bytecode, and the texts that may name an attribute: `getattr(self, "dim")`."""
    codes = [*nested(code)]
    constants = [constant for inner in codes for constant in inner.co_consts]
    constants += [item for constant in constants if isinstance(constant, tuple) for item in constant]
    texts = {text for text in constants if isinstance(text, str) and text.isidentifier()}
    return sorted(texts.union(*(inner.co_names for inner in codes)))


def _kind(value: Any) -> str:
    """Return the name of a function or a class, or the type of an object, with the keys of a dictionary."""
    if isinstance(value, _NAMED):
        return str(value.__qualname__).rpartition(".")[2]
    keys = [digest.plain(key) for key in value] if isinstance(value, dict | MappingProxyType) else ""
    return f"{type(value).__qualname__} {keys}"


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"
