"""The effects of one call: its output, its changes of inputs, and the memory that it retained."""

import gc
import sys
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import psutil

from ...ground.outputs import OutputParts, TooMuchError
from ...ground.parts import is_private, strided_parts
from ..fingerprint import digest
from ..fingerprint.bytecode import code_hash
from .inputs import equal
from .portable import TEXT, Portable, to_portable
from .reachable import Reachable, gradients_by_output, is_array, shares_memory

LEAST_KEPT_BYTES = 1 << 16
"""A call that retains less memory does not count as leaking."""
_MOST_BYTES = 192 << 20
"""Largest size of inputs, and of an output, because they are copied and hashed for several calls."""
_CHANGED = "{} after the call"
_CHANGED_EARLIER = "{} after the calls"
"""Place of a value that only earlier calls changed, or of a new attribute."""


@dataclass
class Effects:
    """The output of one call, its changes of inputs, and the memory that it retained."""

    parts: dict[str, Portable] = field(default_factory=dict)
    """Values of the output, of arguments that the call changed, and of gradients, by place; see Portable."""
    unsupported: dict[str, str] = field(default_factory=dict)
    """Types of parts of the output that cannot be compared, by place."""
    steps: int | None = None
    """Number of executed steps, see `Tracer`. None if they were not counted, or if there were too many."""
    failure: str = ""
    """Type and message of the error that the call raised; empty if it raised none."""
    differentiable: bool = False
    """Whether gradients of the output can be computed: the call has not freed the autograd graph."""
    shared: list[str] = field(default_factory=list)
    """Places of parts of the output that share memory with an input."""
    overwritten: list[str] = field(default_factory=list)
    """Places of parts of the first output that this call changed, except parts in the memory of inputs."""
    reused: list[str] = field(default_factory=list)
    """Places of parts of the output that share memory with the first output."""
    retained_bytes: int = 0
    """Memory that the call allocated and did not free, without its output."""

    def as_json(self) -> dict[str, Any]:
        """Return the effects for the coordinating process: hashes, not values."""
        signatures = {place: part.signature for place, part in self.parts.items()}
        names = "failure", "differentiable", "shared", "overwritten", "reused"
        fields = {name: getattr(self, name) for name in names}
        return {"parts": signatures, "left": self.unsupported, **fields}

    def read_output(
        self, output: Any, reach: Reachable, tested: Collection[str], *, has_gradients: bool
    ) -> dict[str, Any]:
        """Store copies of an output and gradients; return its own arrays, tensors and lists by place."""
        if output is None:
            return {}
        contents = OutputParts(output, tested, digest.plain)
        check_size("the output", contents.parts.values())
        self.unsupported |= contents.uncomparable
        for place, value in contents.opened.items():
            self.parts[f"output{place} type"] = Portable(TEXT, type(value).__qualname__)
            if type(value) is FunctionType:
                self.parts[f"output{place} code"] = Portable(TEXT, code_hash(value.__code__))
        for place, keys in contents.orders.items():
            self.parts[f"output{place} order"] = Portable(TEXT, keys)
        for place, part in to_portable(contents.parts, self.unsupported).items():
            self.parts[f"output{place}"] = part.copy()
        inputs = list(reach.arrays.values())
        self.shared = [
            place
            for place, value in contents.parts.items()
            if any(shares_memory(part, inputs) for part in _strided(value))
        ]
        if has_gradients:
            by_output, self.differentiable = gradients_by_output(contents.parts.values(), reach.arrays)
            self.parts |= to_portable(by_output, self.unsupported)
        whole = (item for item in contents.opened.items() if item[0] in contents.parts)
        lists = {place: value for place, value in whole if issubclass(type(value), list)}
        arrays = {place: value for place, value in contents.parts.items() if is_array(value)} | lists
        return {place: value for place, value in arrays.items() if place not in self.shared}

    def growth_bytes(self, before_bytes: int) -> int:
        """Return by how much the allocated memory has grown, without the copies in this object."""
        copies = sum(part.content.nbytes for part in self.parts.values() if not isinstance(part.content, str))
        grown_bytes = allocated_bytes() - before_bytes - copies
        if grown_bytes < LEAST_KEPT_BYTES:
            return 0
        gc.collect()
        return max(allocated_bytes() - before_bytes - copies, 0)


def changed_arguments(
    first: Mapping[str, Portable], before: Mapping[str, Portable], after: Mapping[str, Portable]
) -> dict[str, Portable]:
    """Return the values in arguments that calls changed. `first`: values before all calls."""
    changes, nothing = {}, Portable(TEXT, "nothing")
    for place in dict.fromkeys((*before, *after)):
        value, previous, original = (state.get(place, nothing) for state in (after, before, first))
        is_same, is_new = _is_equal(value, previous), nothing in (previous, original)
        if not (is_same and _is_equal(previous, original)) and not (is_new and is_private(place)):
            is_late = is_same or ("." in place and is_new)
            changes[(_CHANGED_EARLIER if is_late else _CHANGED).format(place)] = value.copy()
    return changes


def _is_equal(left: Portable, right: Portable) -> bool:
    if isinstance(left.content, str) or isinstance(right.content, str):
        return left is right or left == right
    return left.kind == right.kind and equal(left.content, right.content)


def plain_tensors() -> AbstractContextManager[None]:
    """Return a context in which methods of tensor subclasses do not run, because they may be under test."""
    torch = sys.modules.get("torch")
    return torch._C.DisableTorchFunctionSubclass() if torch else nullcontext()  # noqa: SLF001


def check_size(name: str, values: Iterable[Any]) -> None:
    """Raise TooMuchError if values are too large to be copied several times; `name` is for the message."""
    strided = (part for value in values for part in _strided(value))
    if sum(getattr(part, "nbytes", 0) for part in strided) > _MOST_BYTES:
        raise TooMuchError(f"too large to compare: {name} of more than {_MOST_BYTES >> 20:,} MiB")


def _strided(value: Any) -> tuple[Any, ...]:
    """Return the parts of a sparse or nested tensor, or the value itself."""
    return (strided_parts(value) if hasattr(value, "layout") else ()) or (value,)


_BLOCK_BYTES = 64
"""Approximate size of a block of Python's allocator; larger blocks come from C's allocator."""


def allocated_bytes() -> int:
    """Return how many bytes are allocated by C, by Python and on the GPU, without other mapped memory."""
    torch = sys.modules.get("torch")
    on_gpu = torch.cuda.memory_allocated() if torch and torch.cuda.is_initialized() else 0
    # psutil has heap_info only for C libraries that support it.
    of_c = sum(psutil.heap_info()[:2]) if hasattr(psutil, "heap_info") else 0
    return _BLOCK_BYTES * sys.getallocatedblocks() + on_gpu + of_c
