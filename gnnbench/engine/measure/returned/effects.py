"""What one call returned and changed, and how much memory it kept."""

import gc
import sys
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import psutil
from numpy.typing import NDArray

from ...ground.outputs import OutputParts, TooMuchError
from ...ground.parts import strided_parts
from ..fingerprint import digest
from .given import equal
from .portable import TEXT, Portable, array_of, portable
from .reachable import Reachable, gradients_by_output, gradients_left, is_array, shares_memory

LEAST_KEPT_BYTES = 1 << 16
"""A call that keeps less does not count as leaking memory."""
_MOST_BYTES = 192 << 20
"""Limit of inputs, and of the output of a call, because they are copied and hashed for several calls."""
_CHANGED = "{} after the call"
_EARLIER = "{} after the calls"
"""For what only earlier calls changed, and for attributes that are new."""


@dataclass
class Effects:
    """What one call returned and changed."""

    parts: dict[str, Portable] = field(default_factory=dict)
    """By place: of the output, of the arguments that it changed, and of gradients."""
    left: dict[str, str] = field(default_factory=dict)
    """Types of parts of the output that cannot be compared, by place."""
    work: int | None = None
    """How much it executed, see `Tracer.total`; None if it was not counted."""
    failure: str = ""
    """Type and message of what it raised, or an empty text."""
    differentiable: bool = False
    """Whether its output has gradients, by a graph that the call has not freed."""
    shared: list[str] = field(default_factory=list)
    """Places of the output that lie in the memory of an input."""
    overwritten: list[str] = field(default_factory=list)
    """Places of the first output that this call changed, though not by changing its inputs."""
    reused: list[str] = field(default_factory=list)
    """Places of the output that lie in the memory of the first one."""
    kept_bytes: int = 0
    """How much more memory is allocated after the call, without its output."""

    def as_json(self) -> dict[str, Any]:
        """Return what is compared with the other side: hashes, not values."""
        signatures = {place: part.signature for place, part in self.parts.items()}
        names = "left", "failure", "differentiable", "shared", "overwritten", "reused"
        return {"parts": signatures, **{name: getattr(self, name) for name in names}}

    def read_output(
        self, output: Any, reach: Reachable, tested: Collection[str], *, has_gradients: bool
    ) -> dict[str, Any]:
        """Add an output and its gradients, as copies; return its arrays, tensors and lists by place.

        Those that lie in the memory of an input are not returned.
        """
        if output is None:
            return {}
        contents = OutputParts(output, tested, digest.plain)
        check_size("the output", contents.parts.values())
        self.left |= contents.uncomparable
        for texts, what in ((contents.kinds, "type"), (contents.orders, "order")):
            self.parts |= {f"output{place} {what}": Portable(TEXT, text) for place, text in texts.items()}
        for place, part in portable(contents.parts, self.left).items():
            self.parts[f"output{place}"] = part.copied()
        inputs = list(reach.arrays.values())
        self.shared = [
            place
            for place, value in contents.parts.items()
            if any(shares_memory(part, inputs) for part in _strided(value))
        ]
        if has_gradients:
            by_output, self.differentiable = gradients_by_output(contents.parts.values(), reach.arrays)
            self.parts |= portable(by_output, self.left)
        arrays = {place: value for place, value in contents.parts.items() if is_array(value)} | contents.lists
        return {place: value for place, value in arrays.items() if place not in self.shared}

    def growth_bytes(self, before_bytes: int) -> int:
        """Return how much more is allocated than before a call, excluding the copies for the comparison."""
        copies = sum(part.content.nbytes for part in self.parts.values() if not isinstance(part.content, str))
        grown_bytes = allocated_bytes() - before_bytes - copies
        if grown_bytes < LEAST_KEPT_BYTES:
            return 0
        gc.collect()
        return max(allocated_bytes() - before_bytes - copies, 0)


def changed_arrays(reach: Reachable, before: Mapping[str, NDArray[Any]]) -> dict[str, Portable]:
    """Return the arguments that a call changed, and the gradients that it left."""
    changes = {
        _CHANGED.format(place): value
        for place, value in reach.arrays.items()
        if not equal(array_of(value), before[place])
    }
    changes |= gradients_left(reach.arrays)
    return {name: part.copied() for name, part in portable(changes, {}).items()}


def changed_state(
    first: Mapping[str, Portable], before: Mapping[str, Portable], after: Mapping[str, Portable]
) -> dict[str, Portable]:
    """Return the numbers and texts in lists, dictionaries and objects that the calls changed."""
    changes, nothing = {}, Portable(TEXT, "nothing")
    for place in dict.fromkeys((*before, *after)):
        states = [state.get(place, nothing) for state in (after, before, first)]
        value, previous, original = (part.signature for part in states)
        if not value == previous == original:
            is_late = value == previous or ("." in place and nothing in states[1:])
            changes[(_EARLIER if is_late else _CHANGED).format(place)] = states[0]
    return changes


def plain_tensors() -> AbstractContextManager[None]:
    """Return a context in which no function of a subclass of tensors runs: they may be under test."""
    torch = sys.modules.get("torch")
    return torch._C.DisableTorchFunctionSubclass() if torch else nullcontext()  # noqa: SLF001


def check_size(what: str, values: Iterable[Any]) -> None:
    """Raise TooMuchError if there is more than can be copied and hashed several times."""
    strided = (part for value in values for part in _strided(value))
    if sum(getattr(part, "nbytes", 0) for part in strided) > _MOST_BYTES:
        raise TooMuchError(f"{what} larger than {_MOST_BYTES >> 20:,} MiB")


def _strided(value: Any) -> tuple[Any, ...]:
    """Return the parts of a sparse or nested tensor, or the value itself."""
    return (strided_parts(value) if hasattr(value, "layout") else ()) or (value,)


_BLOCK_BYTES = 64
"""Approximate size of a block of Python's allocator; larger blocks come from C's."""


def allocated_bytes() -> int:
    """Return the bytes allocated by C, by Python and on the GPU; other mapped memory is not counted."""
    torch = sys.modules.get("torch")
    on_gpu = torch.cuda.memory_allocated() if torch and torch.cuda.is_initialized() else 0
    # psutil.heap_info needs a C library that supports it.
    of_c = sum(psutil.heap_info()[:2]) if hasattr(psutil, "heap_info") else 0
    return _BLOCK_BYTES * sys.getallocatedblocks() + on_gpu + of_c
