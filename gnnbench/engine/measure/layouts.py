"""Copies a call's inputs to other places in memory; each placement is a layout. Chooses the clock for them.

The time of identical code on identical data differs by up to 3x between layouts. With copies, one process
samples many of them. Inputs are copied according to their types, which parts.py lists.
"""

import copy
import gc
import random
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import psutil

from ..ground.parts import (
    DGL,
    FUNCTION,
    LEAF,
    OPTIMIZER,
    TENSOR,
    Kind,
    dgl_features,
    kind_of,
    sparse_layouts,
    strided_parts,
    tensors,
    tensors_of_any_layout,
)
from .clock import Call, Clock, HostClock

MEMORY_SHARE = 0.25
"""Largest part of the free memory for copies."""

_POOL = 6
"""How many old copies are kept alive. They are freed in random order, so that the allocator does not return
the same addresses."""

_SPACER_SHARE = 0.5
_SPACER_BYTES = 1 << 16
"""Between copies a block of random size is allocated, up to the larger of these limits: allocators reuse the
same few addresses if all requests have the same size."""


class Layouts:
    """A call's inputs, and copies of them.

    Strided and sparse tensors, SparseTensor, EdgeIndex, Data, DGLGraph, modules and optimisers are copied,
    also inside lists, tuples, dictionaries, partials and bound methods. The copy keeps identity, shared
    storage, strides, `requires_grad` and gradients.
    """

    def __init__(self, call: Call) -> None:
        """Find the tensors among the inputs; copy nothing yet."""
        self.original = call
        """The call with the inputs as they were given."""
        self.current = call
        """The call with the last copies, or the original inputs if there are none."""
        self.left: tuple[str, ...] = ()
        """Types of inputs that `renew` did not copy."""
        self._pool: list[tuple[Call, Any]] = []
        self._torn: tuple[str, ...] = ()
        self._room = 2
        self._random = random.Random(0)  # noqa: S311 - places in memory, not secrets
        inputs = list(tensors(tuple(call)))
        storages = {
            storage.data_ptr(): storage.nbytes() for storage in (part.untyped_storage() for part in inputs)
        }
        self.bytes = sum(storages.values())
        self.devices = tuple(sorted({part.device.type for part in inputs}))

    def why_in_place(self) -> str | None:
        """Return why the inputs cannot be copied. Returns None if they can, after copying them once."""
        if not self.devices:
            return "no tensors among its arguments"
        free = psutil.virtual_memory().available
        if "cuda" in self.devices:
            from ..ground.devices import cuda_free_bytes

            free = min(free, cuda_free_bytes())
        self._room = int(MEMORY_SHARE * free / ((1 + _SPACER_SHARE) * max(1, self.bytes)))
        if self._room < 2:  # noqa: PLR2004 - the last copy and the new one
            return f"too large to copy: {self.bytes / 2**30:.1f} GiB of inputs, {free / 2**30:.1f} GiB free"
        self.renew()
        if not self._torn:
            return None
        self.stay()
        return f"cannot copy {', '.join(self._torn)}"

    def stay(self) -> None:
        """Free all copies, and go back to the original inputs."""
        self._pool.clear()
        self.current, self.left = self.original, ()

    def renew(self) -> Call:
        """Return the call with new copies of the original inputs, and free one of the old copies."""
        copies = Copies()
        torch = sys.modules["torch"]
        device = "cuda" if "cuda" in self.devices else "cpu"
        limit = max(_SPACER_BYTES, int(_SPACER_SHARE * self.bytes))
        spacer = torch.empty(self._random.randrange(limit), dtype=torch.uint8, device=device)
        self.current = Call(*map(copies.of, self.original))
        self._pool.append((self.current, spacer))
        if len(self._pool) > min(_POOL, self._room - 1):
            self._free(self._random.randrange(len(self._pool) - 1))
        self.left, self._torn = tuple(copies.left), tuple(copies.torn)
        return self.current

    def _free(self, number: int) -> None:
        """Free a copy, with the garbage collector if it is part of a reference cycle."""
        probe = weakref.ref(next(tensors(tuple(self._pool[number][0]))))
        del self._pool[number]
        if probe() is not None:
            gc.collect()

    def watch(self) -> Callable[[], bool]:
        """Return a function that tells whether a tensor of the current copies has been written to."""
        versions = [
            (tensor, tensor._version)  # noqa: SLF001 - as autograd checks saved tensors
            for tensor in tensors(tuple(self.current))
            if not tensor.is_inference()
        ]
        return lambda: any(tensor._version != version for tensor, version in versions)  # noqa: SLF001


def clock_for(devices: Sequence[str], timer: Callable[[], float], *, flush: bool) -> Clock:
    """Return the clock for inputs on these devices."""
    torch = sys.modules.get("torch")
    # A closure may hold tensors on the GPU that are no inputs. CUDA is then initialised.
    if "cuda" in devices or (torch and torch.cuda.is_initialized()):
        from .cuda_clock import CudaClock

        return CudaClock(flush=flush, inputs_there="cuda" in devices)
    return HostClock.of(timer)


class Copies:
    """One set of copies; a value that occurs twice is copied once."""

    def __init__(self) -> None:
        self._memo: dict[Any, Any] = {}
        """The memo of `copy.deepcopy`, by `id`; also the copies of storages, by address."""
        self.left: dict[str, None] = {}
        """Unknown types, which were not copied."""
        self.torn: dict[str, None] = {}
        """Inputs with tensors that could not be copied. Copies of the others would do different work: for
        example an optimiser whose module is not copied."""

    def of(self, value: Any) -> Any:
        """Return a copy of a value of a known type; note any other value, and return it."""
        kind = kind_of(value)
        if kind is None:
            self.left[type(value).__name__] = None
            return value
        if kind is LEAF:
            return value
        if id(value) not in self._memo:
            try:
                self._memo[id(value)] = self._copy(value, kind)
            except Exception as error:  # noqa: BLE001 - a module may contain anything
                return self._tear(value, f"{type(value).__name__} ({type(error).__name__})")
            # Keep the value alive as long as its id is in use, as deepcopy does.
            self._memo.setdefault(id(self._memo), []).append(value)
        return self._memo[id(value)]

    def _tear(self, value: Any, what: str) -> Any:
        """Note a value with tensors that cannot be copied, and return it."""
        self.torn[what] = None
        return value

    def _copy(self, value: Any, kind: Kind) -> Any:
        if kind is TENSOR:
            return self._copy_tensor(value)
        if kind is FUNCTION:
            has_tensors = any(True for _ in tensors(value))
            return self._tear(value, f"tensors that {value.__name__} captured") if has_tensors else value
        if kind.rebuild:
            return kind.rebuild(value, [self.of(part) for _, part in kind.parts(value)])
        if kind is OPTIMIZER:
            return self._copy_optimizer(value)
        # Deepcopy alone loses gradients, and shares CSR indices. It copies the structure of DGL's graphs.
        for tensor in tensors_of_any_layout(dgl_features(value) if kind is DGL else value):
            self.of(tensor)
        return copy.deepcopy(value, self._memo)

    def _copy_tensor(self, value: Any) -> Any:
        """Copy a leaf tensor with its gradient and strides; views of one storage share its copy."""
        torch = sys.modules["torch"]
        if why_not := _why_not(value):
            return self._tear(value, why_not)
        if value.layout != torch.strided:
            clone = self._copy_sparse(value)
        else:
            storage = value.untyped_storage()
            place = ("storage", value.device, storage.data_ptr(), storage.nbytes())
            if place not in self._memo:
                duplicate = storage.clone()
                self._memo[place] = duplicate.pin_memory() if value.is_pinned() else duplicate
            clone = torch.empty(0, dtype=value.dtype, device=value.device)
            clone.set_(self._memo[place], value.storage_offset(), value.size(), value.stride())
        if type(value) is torch.nn.Parameter:
            clone = torch.nn.Parameter(clone, value.requires_grad)
        clone.requires_grad_(value.requires_grad)
        if value.grad is not None:
            clone.grad = self.of(value.grad)
        return clone

    def _copy_sparse(self, value: Any) -> Any:
        torch = sys.modules["torch"]
        parts = [self.of(part.detach()) for part in strided_parts(value)]
        with torch.sparse.check_sparse_tensor_invariants(enable=False):
            if value.layout == torch.sparse_coo:
                return torch.sparse_coo_tensor(*parts, size=value.shape, is_coalesced=value.is_coalesced())
            return torch.sparse_compressed_tensor(*parts, size=value.shape, layout=value.layout)

    def _copy_optimizer(self, value: Any) -> Any:
        """Copy all attributes: its own deepcopy omits hooks, and the parameters of LBFGS."""
        if "step" in vars(value):
            return self._tear(value, f"{type(value).__name__} whose step something else replaced")
        clone = self._memo[id(value)] = object.__new__(type(value))
        for tensor in tensors(value):
            self.of(tensor)
        vars(clone).update({name: copy.deepcopy(item, self._memo) for name, item in vars(value).items()})
        return clone


def _why_not(value: Any) -> str | None:
    torch = sys.modules["torch"]
    reasons = {
        "a non-leaf tensor of an autograd graph": not value.is_leaf,
        "a tensor with hooks": bool(value._backward_hooks),  # noqa: SLF001 - there is no public way to ask
        "a quantized tensor": value.is_quantized,
        "a nested tensor": value.is_nested,
        "a tensor that is conjugated or negated when read": value.is_conj() or value.is_neg(),
        "an inference tensor": value.is_inference(),
        f"a tensor of layout {value.layout}": value.layout not in (torch.strided, *sparse_layouts()),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)
