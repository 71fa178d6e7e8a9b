"""The values that executed functions read: globals, class attributes, attributes of their arguments.

Which values a function reads is seen in the names of its bytecode. Each value that such a name may reach from
the function's globals, arguments and closure counts. This finds more than is read, never less, except where
the name is computed (`getattr(self, f"{kind}_size")`).
"""

import functools
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

from . import digest
from .bytecode import nested
from .contents import Contents

_DEEPEST = 8
_DEEPEST_MODULE = 3
"""Modules inside of modules, as in `torch.nn.functional.relu`."""
_MOST = 50_000
"""Objects that are looked at; more would take seconds."""
_CACHED = type(functools.lru_cache(lambda: None))
_LEFT = (ModuleType, CodeType, property)
"""Types of objects without values of their own."""
_COMPILER = ("torch._inductor", "torch._functorch", "torch._dynamo", "torch._guards", "torch.fx")
"""Modules of torch.compile. Their objects hold numbers and keys of this process; compiled code counts."""
_FUNCTIONS = (FunctionType, property, staticmethod, classmethod)


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
    """Finds the values that functions may read.

    Args:
        codes: the functions' code; each name in it, also a text, may be an attribute that is read.
        contents: describes arrays.
    """

    def __init__(self, codes: Iterable[CodeType], contents: Contents) -> None:
        self._contents = contents
        self._names = {name for code in codes for one in nested(code) for name in _names(one)}
        self._globals: set[tuple[int, str]] = set()
        self._seen: dict[int, Any] = {}
        self._attributes: dict[type, dict[str, Any]] = {}
        self.found: dict[str, set[str]] = {}
        """Values as text, by the place where they were found: `torch_geometric.typing.WITH_TORCH_SPARSE`."""
        self.cached: dict[int, FunctionType] = {}
        """Functions behind `functools.cache`, by id of their code: the call may have used a result."""
        self.types: set[type] = set()
        """Types of all objects."""

    def globals_of(self, code: CodeType, scope: Mapping[str, Any]) -> None:
        """Look at the globals that a function names, and at what it names inside of modules."""
        names = {name for one in nested(code) for name in one.co_names if not name.startswith("__")}
        self._module(module_of(code, scope), scope, names, 0)

    def _module(self, module: str, scope: Mapping[str, Any], names: set[str], depth: int) -> None:
        for name in names:
            if name not in scope:
                continue
            item = scope[name]
            if type(item) is ModuleType:
                if depth < _DEEPEST_MODULE and vars(item) is not scope:
                    self._module(item.__name__, vars(item), names, depth + 1)
            elif (id(scope), name) not in self._globals:
                self._globals.add((id(scope), name))
                self.look(f"{module}.{name}", item)

    def look(self, place: str, value: Any, depth: int = 0) -> None:
        """Look at a value and its parts.

        Args:
            place: where it was found.
            value: anything.
            depth: number of steps from a global or an argument.
        """
        text = self._contents.array(value) or digest.plain(value)
        if text is not None:
            self.found.setdefault(place, set()).add(text)
        elif id(value) not in self._seen and depth < _DEEPEST and len(self._seen) < _MOST:
            self._seen[id(value)] = value  # keeps it, so that its id stays taken
            self._parts(place, value, depth + 1)

    def _parts(self, place: str, value: Any, depth: int) -> None:
        kind = type(value)
        self.types.add(kind)
        if isinstance(value, _LEFT) or self._contents.is_leaf(value):
            return
        if str(getattr(value, "__module__", None) or kind.__module__).startswith(_COMPILER):
            return
        if kind is _CACHED:
            self._memoised(value)
        elif isinstance(value, type):
            self._attributes_in(_name(value), self._attributes_of(value), depth)
        elif isinstance(value, FunctionType):
            self._attributes_in(_name(value), vars(value), depth)
        else:
            for name, item in _elements(value):
                self.look(f"{place}{name}", item, depth)
            self._instance(value, kind, depth)

    def _memoised(self, function: Any) -> None:
        while not isinstance(function, FunctionType) and hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        if isinstance(function, FunctionType):
            self.cached[id(function.__code__)] = function

    def _instance(self, value: Any, kind: type, depth: int) -> None:
        own = getattr(value, "__dict__", None)
        own = own if isinstance(own, dict) else {}
        self._attributes_in(_name(kind), own, depth)
        inherited = {}
        for name, item in self._attributes_of(kind).items():
            if isinstance(item, MemberDescriptorType):
                try:
                    inherited[name] = item.__get__(value)
                except AttributeError:  # an empty slot
                    continue
            elif name not in own:
                inherited[name] = item
        self._attributes_in(_name(kind), inherited, depth)

    def _attributes_in(self, owner: str, attributes: Mapping[str, Any], depth: int) -> None:
        for name in list(attributes):
            if name in self._names and not name.startswith("__"):
                self.look(f"{owner}.{name}", attributes[name], depth)

    def _attributes_of(self, kind: type) -> Mapping[str, Any]:
        """Return a class's attributes that are no functions, with those of its bases, by name."""
        if kind not in self._attributes:
            found: dict[str, Any] = {}
            for base in reversed(kind.__mro__):
                found |= {
                    name: item
                    for name, item in vars(base).items()
                    if name in self._names and not isinstance(item, _FUNCTIONS)
                }
            self._attributes[kind] = found
        return self._attributes[kind]


def _elements(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the elements of a container, and what a partial or a bound method holds, with their places."""
    if isinstance(value, functools.partial):
        value = [value.func, value.args, value.keywords]
    elif isinstance(value, MethodType):
        value = [value.__self__]
    if isinstance(value, dict):
        for key, item in list(value.items()):
            yield f"[{key}]" if type(key) is str else "[]", item
    elif isinstance(value, list | tuple | set | frozenset):
        yield from (("[]", item) for item in list(value))


def _names(code: CodeType) -> Iterable[str]:
    """Yield the names in bytecode: of attributes, and texts that may be one, as in `getattr(self, "dim")`."""
    yield from code.co_names
    for constant in code.co_consts:
        for text in constant if isinstance(constant, tuple) else (constant,):
            if isinstance(text, str) and text.isidentifier():
                yield text


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"
