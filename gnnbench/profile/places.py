"""Where a library has what is to be wrapped."""

import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from typing import Any, NamedTuple

CLASS = "{class}"
"""As a target's name: the name of the class that has the method."""


@dataclass(frozen=True)
class Target:
    """A function or method that is to be a range."""

    name: str
    """What rows call it; may stand for several places."""
    place: str
    """`module:function`, wrapped wherever a loaded module has it under its name, or `module:Class.method`,
    wrapped in the class and in each subclass with a method of its own."""
    inline: bool = False
    """Whether torch functions called in its own body are ranges, too: arithmetic has nothing to wrap."""


class Attribute(NamedTuple):
    """What is wrapped: an attribute of a module or class."""

    owner: Any
    name: str
    value: Any
    owned: bool
    """Whether it is the owner's own, or one that a class inherits."""

    def put_back(self) -> None:
        """Have it be as it was: what a class inherits is deleted again."""
        if self.owned:
            setattr(self.owner, self.name, self.value)
        else:
            delattr(self.owner, self.name)


def find(targets: Sequence[Target]) -> tuple[list[tuple[Target, Attribute]], tuple[str, ...]]:
    """Look targets up in what is imported; a library that is not is not looked at.

    Returns:
        What is to be wrapped, each for its target; and a line for each target that its library, though
        imported, does not have.
    """
    found: list[tuple[Target, Attribute]] = []
    missing: list[str] = []
    holders = _holders({target.place.partition(":")[2] for target in targets})
    for target in targets:
        attributes, absent = _find(target, holders)
        found += [(target, attribute) for attribute in attributes]
        missing += absent
    return found, tuple(missing)


def put_originals_back(originals: Mapping[int, Any], owners: Iterable[Any]) -> None:
    """Replace wrappers that a library stored itself, as PyG does in a layer's class when it is first made.

    Args:
        originals: by the id of their wrapper.
        owners: modules, and classes, of which the subclasses are looked at, too.
    """
    looked_at: dict[int, Any] = {}
    for owner in owners:
        for each in (owner, *_subclasses(owner)) if isinstance(owner, type) else (owner,):
            looked_at[id(each)] = each
    for owner in looked_at.values():
        for name, value in list(_own(owner).items()):
            if id(value) in originals:
                setattr(owner, name, originals[id(value)])


def _holders(names: set[str]) -> Mapping[str, list[Any]]:
    """Return the modules that have something under each name: one walk over thousands of modules for all."""
    found: dict[str, list[Any]] = {name: [] for name in names}
    for module in list(sys.modules.values()):
        for name in names & _own(module).keys():
            found[name].append(module)
    return found


def _find(target: Target, holders: Mapping[str, list[Any]]) -> tuple[list[Attribute], list[str]]:
    """Return the attributes to wrap, and a line if the library has nothing there."""
    module_name, _, place = target.place.partition(":")
    module = sys.modules.get(module_name)
    if module is None:
        absent = [_not_found(target, f"no module {module_name}")] if _is_gone(module_name) else []
        return [], absent
    *owner_name, name = place.split(".")
    owner: Any = module
    for part in owner_name:
        owner = getattr(owner, part, None)
    value = inspect.getattr_static(owner, name, None)
    if owner is None or value is None:
        return [], [_not_found(target, f"no {place} in {module_name}")]
    if not owner_name:
        same = [holder for holder in holders[name] if _own(holder)[name] is value]
        return [Attribute(holder, name, value, owned=True) for holder in same], []
    first = Attribute(owner, name, value, name in _own(owner))
    rest = [each for each in _subclasses(owner) if name in _own(each)]
    return [first, *(Attribute(each, name, _own(each)[name], owned=True) for each in rest)], []


def _own(owner: Any) -> Mapping[str, Any]:
    return getattr(owner, "__dict__", {})


def _subclasses(owner: type) -> list[type]:
    found: dict[type, None] = {}  # a set that keeps its order: one may have several bases
    children: list[type] = type.__subclasses__(owner)
    for child in children:
        found.update(dict.fromkeys((child, *_subclasses(child))))
    return list(found)


def _not_found(target: Target, what: str) -> str:
    package = sys.modules[target.place.partition(".")[0].partition(":")[0]]
    version = getattr(package, "__version__", "")
    return f"{package.__name__} {version}".rstrip() + f" has {what}: {target.name} is not shown"


def _is_gone(module_name: str) -> bool:
    """Whether a module is not there, rather than not imported."""
    parent_name, _, _ = module_name.rpartition(".")
    if not parent_name:
        return False
    parent = sys.modules.get(parent_name)
    if parent is None:
        return _is_gone(parent_name)
    return PathFinder.find_spec(module_name, getattr(parent, "__path__", ())) is None
