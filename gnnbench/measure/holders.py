"""Finds what holds an object that should be gone, such as `Layer.outputs (list)`."""

import gc
import sys
from types import FrameType, FunctionType, GeneratorType
from typing import Any

_LEVELS = 8
_MOST = 64
"""Objects of a level that are followed."""
_CONTAINERS = (dict, list, set, frozenset, tuple)
_RUNNING = (FrameType, GeneratorType)
"""What refers to something only as long as it runs."""


def holder(thing: Any, fresh: list[Any]) -> str:
    """Return what holds an object: the nearest attribute or variable of something older.

    Args:
        thing: the object.
        fresh: the objects that are as new as it is, and so do not explain why it is alive.

    Returns:
        `Layer.outputs (list)`; `a list` if nothing that has a name holds it; `native code, ...` if no Python
        object refers to it.
    """
    new = set(map(id, fresh))
    below: dict[int, Any] = {id(thing): None}
    """What an object was reached from, by `id`."""
    level, top, container = [thing], thing, ""
    kept = [level]
    while level and len(kept) <= _LEVELS:
        ours = {id(fresh), id(below), id(kept), *map(id, kept)}
        above = []
        for one in gc.get_referrers(*level):
            if id(one) in ours or id(one) in below or type(one) in _RUNNING:
                continue
            child = _child(one, level)
            below[id(one)] = child
            above.append(one)
            if id(one) in new or child is None:
                continue
            if name := _named(one, child, below[id(child)]):
                return name
            if not container and type(one) in _CONTAINERS:
                container = f"a {type(one).__name__}"
        top = above[0] if above else top
        level = above[:_MOST]
        kept.append(level)
        del above
    return container or f"native code, as no Python object refers to {type(top).__name__}"


def _child(one: Any, level: list[Any]) -> Any:
    """Return the first object of a level that an object refers to."""
    referents = set(map(id, gc.get_referents(one)))
    return next((item for item in level if id(item) in referents), None)


def _named(one: Any, child: Any, grandchild: Any) -> str | None:
    """Return the name under which an object holds its child, directly or in its dictionary; None: none."""
    if type(one) is dict:
        name = str(one.get("__name__"))
        return _entry(name, one, child) if getattr(sys.modules.get(name), "__dict__", None) is one else None
    if type(one) is FunctionType:
        return _variable(one, child, grandchild)
    if wrapped := getattr(one, "__wrapped__", None) if hasattr(type(one), "cache_info") else None:
        return f"the cache of {wrapped.__qualname__}"
    if issubclass(type(one), _CONTAINERS):
        return None
    owner = one.__qualname__ if issubclass(type(one), type) else type(one).__qualname__
    slots = (name for kind in type(one).__mro__ for name in getattr(kind, "__slots__", ()))
    attributes = dict(getattr(one, "__dict__", {}))
    attributes.update((name, getattr(one, name, None)) for name in slots)
    return _entry(owner, attributes, child) or _entry(owner, attributes, grandchild)


def _entry(owner: str, items: Any, value: Any) -> str | None:
    if value is None:
        return None
    name = next((name for name, item in items.items() if item is value), None)
    return name and f"{owner}.{name} ({type(value).__name__})"


def _variable(function: FunctionType, child: Any, cell: Any) -> str | None:
    """Return the variable of an enclosing function that a function holds."""
    if child is not function.__closure__:
        return None
    names = dict(zip(function.__code__.co_freevars, function.__closure__, strict=True))
    name = next((name for name, item in names.items() if item is cell), None)
    outer = function.__qualname__.rpartition(".<locals>")[0]
    return name and f"{outer}.{name} ({type(cell.cell_contents).__name__})"
