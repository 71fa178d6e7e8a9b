"""What is alive in this process: Python objects by type, bytes of tensors, the resident set."""

import gc
import os
import sys
import weakref
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

import psutil

from .copies import sparse_parts
from .weight import trim

_STORAGE = "torch.storage.UntypedStorage"
"""`tensor_bytes` makes one for each tensor, which lives as long as the tensor's memory does."""
_TRIES = 5
"""Collections at most: a finaliser may leave garbage again."""


class Counts(dict[str, int]):
    """Number of objects by the full name of their type.

    The type itself is no key, because that would keep a class alive which a call made. It is a class of its
    own so that `snapshot` can leave out its earlier results.
    """


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was alive at one moment."""

    objects: Counts
    """Only those that the garbage collector tracks, and that are not frozen (`gc.freeze`)."""
    tensor_bytes: int
    """Storages of all tensors among them, each counted once."""
    resident_bytes: int


def snapshot(tensors: Sequence["weakref.ref[Any]"]) -> Snapshot:
    """Collect the garbage and count what is left.

    Args:
        tensors: tensors that count too, although they may be frozen.
    """
    collect()
    counts, memory = _counted(tensors)
    trim()  # what earlier calls freed would hide what these keep
    resident = _process(os.getpid()).memory_info().rss
    return Snapshot(counts, memory, resident)


@cache
def _process(number: int) -> psutil.Process:
    """Return a process, always the same object: it is a reference cycle, which would be garbage."""
    return psutil.Process(number)


def _counted(tensors: Sequence["weakref.ref[Any]"]) -> tuple[Counts, int]:
    """Return the objects by type, and the bytes of tensors."""
    objects = gc.get_objects()
    counts = Counter(map(id, map(type, objects)))
    types = {id(type(one)): type(one) for one in objects}
    found = Counts()
    for key, number in counts.items():
        name = name_of(types[key])
        if types[key] not in (Counts, Snapshot) and name != _STORAGE:
            found[name] = found.get(name, 0) + number  # two classes may have one name
    return found, tensor_bytes(chain(objects, (one() for one in tensors)))


def tensors() -> list["weakref.ref[Any]"]:
    """Return the tensors that are alive; none if torch was not imported."""
    torch = sys.modules.get("torch")
    if torch is None:
        return []
    return [weakref.ref(one) for one in gc.get_objects() if issubclass(type(one), torch.Tensor)]


def collect() -> None:
    """Free all unreachable objects, also those that become unreachable meanwhile."""
    for _ in range(_TRIES):
        if not gc.collect():
            return


def name_of(kind: type) -> str:
    """Return the full name of a type; without the module for a built-in one."""
    module = type.__getattribute__(kind, "__module__")
    return kind.__qualname__ if module == "builtins" else f"{module}.{kind.__qualname__}"


def tensor_bytes(objects: Iterable[Any]) -> int:
    """Return the bytes of the tensors' storages, each counted once; 0 if torch was not imported."""
    torch = sys.modules.get("torch")
    if torch is None:
        return 0
    sizes: dict[int, int] = {}
    for one in objects:
        # Not isinstance, which asks an object for its __class__: a proxy may fail there.
        storages = (one,) if type(one) is torch.UntypedStorage else ()
        if issubclass(type(one), torch.Tensor):
            storages = tuple(part.untyped_storage() for part in _strided(one))
        for storage in storages:
            size = storage.nbytes()
            if isinstance(size, int):  # a tensor that torch.compile traced has a symbolic size, and no memory
                sizes[storage._cdata] = size  # noqa: SLF001 - its address
    return sum(sizes.values())


def _strided(tensor: Any) -> Sequence[Any]:
    """Return the strided tensors that a tensor consists of; none if its memory cannot be seen."""
    torch = sys.modules["torch"]
    try:
        if tensor.layout != torch.strided:
            return sparse_parts(tensor)
        tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return ()  # nested, or without storage
    return (tensor,)
