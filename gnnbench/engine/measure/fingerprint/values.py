"""The values that the functions of a call may read: globals, class attributes, attributes of their arguments.

The bytecode of a function contains the names that the function reads. A global is included if a function
names it. An attribute is included if a function names it, and if its object can be reached from globals,
arguments or captured values. This finds more values than are read; docs/same-code.md lists the values that
are missed. The place of a value is `module.GLOBAL`, `module.Class.attribute` or `argument 0`.
"""

import functools
import inspect
import os
import struct
import sys
import tempfile
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from enum import Enum
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
from .bytecode import COMPILED, imports, nested
from .digest import Contents

_DEEPEST = 32
_DEEPEST_MODULE = 3
"""Depth of modules inside of modules, as in `torch.nn.functional.relu`."""
_MOST = 50_000
"""Largest number of objects; more would take seconds."""
_LARGE_BYTES = 1000
_COMPILER = (
    *("torch._inductor", "torch._functorch", "torch._dynamo", "torch._guards", "torch.fx"),
    *("torch.nested._internal", "torch.utils.weak"),
)
"""Modules of torch.compile and of nested tensors. Their objects are left out, because they have
numbers that depend on the process. Compiled code and the parts of nested tensors are not left out."""
_GUARD = "___make_guard_fn."
"""Prefix of the names of functions in which torch.compile checks sizes. Globals of these functions are left
out, because their global `G` has names with addresses and random numbers."""
_SCRIPTED = ("ScriptFunction", "RecursiveScriptModule")
_OPERATORS = "torch._ops"
"""A module with objects that are made when an operator is first used. Operators are recorded instead."""
_FIXED = sys.stdlib_module_names | {"numpy"}
"""Globals of these packages are left out: the version determines them, but other imports may add some."""
_LEFT_OUT = (CodeType, property, type(os.environ))
"""Attributes of objects of these types are left out. Environment variables are settings instead."""
_NAMED = (FunctionType, BuiltinFunctionType, MethodType, type)
_SEQUENCES = (list, tuple, set, frozenset, deque)
_STORED: Mapping[type, Callable[[Any], object]] = {
    functools.partial: lambda value: [value.func, value.args, value.keywords],
    MethodType: lambda value: [value.__self__, value.__func__],
    GeneratorType: lambda value: value.gi_frame and {**value.gi_frame.f_locals},
    ContextVar: lambda value: [value.get()],
    Enum: lambda value: [vars(value)["_value_"]],
    weakref.ref: lambda value: [value()],
    struct.Struct: lambda value: [value.format],
}
"""How to read what objects of these types hold."""
_DESCRIPTORS = (MethodDescriptorType, GetSetDescriptorType, ClassMethodDescriptorType)
_STANDARD_ATTRIBUTES = {
    *(name for thing in (ModuleType, FunctionType, type) for name in dir(thing)),
    *("__builtins__", "__cached__", "__file__", "__path__", "__slots__", "__weakref__", "__wrapped__"),
    *("_handle", "_fd_to_key"),
}
"""Attributes that Python itself sets, and attributes of pipes and event loops that number open files."""


def module_of(code: CodeType, scope: Mapping[str, Any]) -> str:
    """Return a function's module; `generated` for those of PyG in the temporary folder, with random names."""
    name, file = str(scope.get("__name__")), code.co_filename
    if not file.startswith(tempfile.gettempdir() + os.sep) or name == "__main__":
        return name
    path = name.replace(".", os.sep)
    return name if file.endswith((f"{path}.py", f"{path}{os.sep}__init__.py")) else "generated"


class Values:
    """Finds the values that functions may read. Any name or string in their code may name an attribute."""

    def __init__(self, codes: Iterable[CodeType], contents: Contents) -> None:
        self._contents = contents
        # Named tuples read their defaults in generated code.
        self._names = {"_field_defaults", *(name for code in codes for name in _names(code))}
        self._globals: set[tuple[int, str]] = set()
        self._visited: dict[int, Any] = {}
        self._described: dict[int, tuple[Any, str | None]] = {}
        """Values by id, each with its description; the reference keeps the id from being reused."""
        self._attributes: dict[type, dict[str, Any]] = {}
        self.texts: dict[str, set[str]] = {}
        """Descriptions of values, by place."""
        self.cached: dict[int, FunctionType] = {}
        """Functions behind `functools.cache`, by id of their code: the call may use a cached result."""
        self.types: set[type] = set()
        """Types of all values that were found."""

    @property
    def too_many(self) -> bool:
        """Whether there are more than _MOST objects."""
        return len(self._visited) >= _MOST

    def add_globals(self, code: CodeType, scope: Mapping[str, Any], *, cached: bool = False) -> None:
        """Add the globals that a function names. If its result is `cached`, functions among these count."""
        if code.co_qualname.startswith(_GUARD):
            return
        names = [name for name in _names(code) if name not in _STANDARD_ATTRIBUTES]
        module = module_of(code, scope)
        for imported in imports(code, str(scope.get("__package__") or "")) & sys.modules.keys():
            self._add_module(imported, vars(sys.modules[imported]), names, 0)
        self._add_module(module, scope, names, 0)
        if cached:
            for name in names:
                self._add_cached(scope.get(name), module.partition(".")[0])

    def _add_module(self, module: str, scope: Mapping[str, Any], names: Sequence[str], depth: int) -> None:
        """Add the globals of a module that have these names, also those of modules among its globals."""
        if module.partition(".")[0] in _FIXED:
            return
        for name in filter(scope.__contains__, names):
            item = scope[name]
            if type(item) is ModuleType:
                if depth < _DEEPEST_MODULE and vars(item) is not scope:
                    self._add_module(item.__name__, vars(item), names, depth + 1)
            elif (id(scope), name) not in self._globals:
                self._globals.add((id(scope), name))
                self.add(f"{module}.{COMPILED.sub('__', name)}", item)

    def add(self, place: str, value: Any, depth: int = 0, path: str = "") -> None:
        """Add a value and its parts. Several objects may share a place, but each has a `path` of its own."""
        if self.too_many or value is sys.modules or type(value).__module__ == _OPERATORS:
            return
        text = self._describe(value)
        if self._contents.is_leaf(value):
            self.types.add(type(value))
        description = text or _kind(value)
        if text is not None or not place.endswith(f".{description}"):  # a name would repeat the place
            self.texts.setdefault(place, set()).add(f"{path} {description}")
        has_parts = text is None or getattr(value, "__dict__", None)  # a member of an Enum has both
        if has_parts and id(value) not in self._visited and depth < _DEEPEST:
            self._visited[id(value)] = value  # the reference keeps its id from being reused
            self._add_parts(place, value, depth + 1, path or place)

    def _describe(self, value: Any) -> str | None:
        """Describe a value as `Contents.plain` does, but only once: many objects may share a large one."""
        if type(value) in digest.ATOMS and value.__sizeof__() < _LARGE_BYTES:
            return digest.plain(value)
        if id(value) not in self._described:
            self._described[id(value)] = value, self._contents.plain(value)
        return self._described[id(value)][1]

    def _add_parts(self, place: str, value: Any, depth: int, path: str) -> None:
        """Add the attributes and elements of a value."""
        kind = type(value)
        self.types.add(kind)
        if isinstance(value, _LEFT_OUT) or self._contents.is_leaf(value):
            return
        if str(getattr(value, "__module__", None) or kind.__module__).startswith(_COMPILER):
            return
        state = getattr(value, "__dict__", None)
        if isinstance(state, dict) and "__wrapped__" in state and kind is not FunctionType:
            self._add_cached(value, "")  # functools.cache, or numba's
        elif isinstance(value, ModuleType):
            if value.__name__ not in sys.stdlib_module_names:
                state = {name: item for name, item in vars(value).items() if type(item) is not ModuleType}
                self._add_attributes(value.__name__, state, depth, value.__name__)
        elif isinstance(value, type):
            self._add_attributes(_name(value), self._attributes_of(value), depth, _name(value))
        elif isinstance(value, FunctionType):
            self._add_attributes(_name(value), vars(value), depth, path)
            # Defaults of a lambda, or of a function under another name, are not found by name.
            self.add(f"{place} defaults", [value.__defaults__, value.__kwdefaults__], depth, path)
        else:
            for at, (name, item) in enumerate(_elements(value)):
                position = "" if isinstance(value, set | frozenset) else at
                self.add(f"{place}{name}", item, depth, f"{path}[{position}]")
            self._add_instance(kind, state if isinstance(state, dict) else {}, value, depth, path)

    def _add_cached(self, function: Any, package: str) -> None:
        """Add a function to `self.cached` if it is in this package; an empty name means any package."""
        function = inspect.unwrap(function) if callable(function) else function
        origin = str(getattr(function, "__module__", "")).partition(".")[0]
        is_of_package = package in {"", origin} and origin not in sys.stdlib_module_names
        if isinstance(function, FunctionType) and is_of_package:
            self.cached[id(function.__code__)] = function

    def _add_instance(self, kind: type, state: Mapping[str, Any], value: Any, depth: int, path: str) -> None:
        """Add the attributes of an object (`state`) and of its class (`kind`)."""
        self._add_attributes(_name(kind), state, depth, path)
        attributes = {}
        for name, item in self._attributes_of(kind).items():
            if isinstance(item, MemberDescriptorType):
                with suppress(AttributeError, TypeError):  # the slot is empty, or belongs to the metaclass
                    attributes[name] = item.__get__(value)
            elif name not in state:
                attributes[name] = item
        self._add_attributes(_name(kind), attributes, depth, path)

    def _add_attributes(self, owner: str, attributes: Mapping[str, Any], depth: int, path: str) -> None:
        for name in sorted((attributes.keys() & self._names) - _STANDARD_ATTRIBUTES):
            self.add(f"{owner}.{name}", attributes[name], depth, f"{path}.{name}")

    def _attributes_of(self, kind: type) -> Mapping[str, Any]:
        """Return attributes of a class and its bases, except functions that `bytecode.defaults` finds."""
        if kind not in self._attributes:
            attributes: dict[str, Any] = {}
            meta: type = type(kind)
            for base in (*reversed(meta.__mro__), *reversed(kind.__mro__)):
                namespace = vars(base)
                for name in namespace.keys() & self._names:
                    item = namespace[name]
                    item = item.__func__ if isinstance(item, staticmethod | classmethod) else item
                    item = item.fget if isinstance(item, property) else item
                    full = f"{base.__qualname__}.{name}"
                    is_named = isinstance(item, FunctionType) and item.__code__.co_qualname == full
                    if not ((is_named and "<locals>" not in full) or isinstance(item, _DESCRIPTORS)):
                        attributes[name] = item
            self._attributes[kind] = attributes
        return self._attributes[kind]


def _elements(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield each element of a container or of another object, preceded by the end of the element's place."""
    read = next((read for kind, read in _STORED.items() if isinstance(value, kind)), None)
    numpy = sys.modules.get("numpy")
    if read:
        with suppress(LookupError):  # a context variable has no value
            value = read(value)
    elif numpy and isinstance(value, numpy.ndarray):  # an array of objects
        value = [value.shape, value.tolist()]
    elif type(value).__name__ in _SCRIPTED:
        value = [getattr(value, "code", None)]  # None without `forward`
    elif not isinstance(value, (dict, *_SEQUENCES)):
        value = digest.pickled_parts(value) or value
    if isinstance(value, dict | MappingProxyType):
        for key, item in list(value.items()):
            yield f"[{key}]" if type(key) is str else "[]", item
    elif isinstance(value, _SEQUENCES):
        yield from (("[]", item) for item in list(value))


@functools.cache
def _names(code: CodeType) -> Sequence[str]:
    """Return the names in bytecode, and strings that may be attribute names, as in `getattr(self, "dim")`."""
    codes = [*nested(code)]
    texts = (text for inner in codes for text in _texts(inner.co_consts))
    words = {word for text in texts for word in text.split(".") if word.isidentifier()}
    return sorted(words.union(*(inner.co_names for inner in codes)))


def _texts(constant: object) -> Iterator[str]:
    """Yield the strings in a constant, also those inside of tuples and sets."""
    if isinstance(constant, str):
        yield constant
    elif isinstance(constant, tuple | frozenset):
        for item in constant:
            yield from _texts(item)


def _kind(value: Any) -> str:
    """Return the name of a function or class; of another object, its type and a dictionary's keys."""
    if isinstance(value, _NAMED):
        return str(value.__qualname__).rpartition(".")[2]
    keys = [digest.plain(key) for key in value] if isinstance(value, dict | MappingProxyType) else ""
    return f"{type(value).__qualname__} {keys}"


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"
