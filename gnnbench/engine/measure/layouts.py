"""Copies a call's inputs to other addresses in memory, and chooses the clock for their devices.

The addresses of all inputs together are a layout. The time of identical code on identical data differs by up
to 3x between layouts. By making copies, one process samples many layouts.
"""

import copy
import gc
import random
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import psutil

from ..ground.devices import cuda_free_bytes
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
"""Largest fraction of the free memory that copies may take."""

_POOL_SIZE = 6
"""Number of old copies that stay allocated. They are freed in random order, so that the allocator does not
return the same addresses."""

_SPACER_SHARE = 0.5
_SPACER_BYTES = 1 << 16
"""Memory of random size is allocated before each copy: for requests of the same size, allocators reuse the
same few addresses. The limit is this fraction of the inputs' size, or this number of bytes if larger."""


class Layouts:
    """A call's inputs, and copies of them.

    Strided and sparse tensors, SparseTensor, EdgeIndex, Data, DGLGraph, modules and optimisers are copied,
    also inside lists, tuples, dictionaries, partials and bound methods. Copies have the strides,
    `requires_grad` and gradients of the originals; inputs that share storage have copies that share storage.
    """

    def __init__(self, call: Call) -> None:
        """Find the tensors among the inputs; copy nothing yet."""
        self.original = call
        """The call with the original inputs."""
        self.current = call
        """The call with the latest copies, or with the original inputs if there are no copies."""
        self.not_copied: tuple[str, ...] = ()
        """Types of inputs that `renew` did not copy."""
        self._pool: list[tuple[Call, Any]] = []
        self._failed: tuple[str, ...] = ()
        self._most_copies = 2
        self._random = random.Random(0)  # noqa: S311 - places in memory, not secrets
        inputs = list(tensors(tuple(call)))
        storages = {part.untyped_storage().data_ptr(): part.untyped_storage().nbytes() for part in inputs}
        self.bytes = sum(storages.values())
        self.devices = tuple(sorted({part.device.type for part in inputs}))

    def why_in_place(self) -> str | None:
        """Copy the inputs once. Returns None if that works, or the reason why it does not."""
        if not self.devices:
            return "the arguments have no tensors"
        free = psutil.virtual_memory().available
        if "cuda" in self.devices:
            free = min(free, cuda_free_bytes())
        self._most_copies = int(MEMORY_SHARE * free / ((1 + _SPACER_SHARE) * max(1, self.bytes)))
        if self._most_copies < 2:  # noqa: PLR2004 - the last copy and the new one
            return f"too large to copy: {self.bytes / 2**30:.1f} GiB of inputs, {free / 2**30:.1f} GiB free"
        self.renew()
        if not self._failed:
            return None
        self.drop_copies()
        return f"cannot copy {', '.join(self._failed)}"

    def drop_copies(self) -> None:
        """Free all copies, and use the original inputs."""
        self._pool.clear()
        self.current, self.not_copied = self.original, ()

    def renew(self) -> Call:
        """Return the call with new copies of the inputs. If there are too many copies, free an old one."""
        copies = Copies()
        torch = sys.modules["torch"]
        device = "cuda" if "cuda" in self.devices else "cpu"
        limit = max(_SPACER_BYTES, int(_SPACER_SHARE * self.bytes))
        spacer = torch.empty(self._random.randrange(limit), dtype=torch.uint8, device=device)
        self.current = Call(*map(copies.of, self.original))
        self._pool.append((self.current, spacer))
        if len(self._pool) > min(_POOL_SIZE, self._most_copies - 1):
            self._free(self._random.randrange(len(self._pool) - 1))
        self.not_copied, self._failed = tuple(copies.not_copied), tuple(copies.failed)
        return self.current

    def _free(self, number: int) -> None:
        """Free a copy in the pool. If it is in a reference cycle, only the garbage collector frees it."""
        probe = weakref.ref(next(tensors(tuple(self._pool[number][0]))))
        del self._pool[number]
        if probe() is not None:
            gc.collect()

    def watch_writes(self) -> Callable[[], bool]:
        """Watch the tensors of the current call. The returned function tells whether one was written to."""
        versions = [
            (tensor, tensor._version)  # noqa: SLF001 - autograd checks saved tensors in the same way
            for tensor in tensors(tuple(self.current))
            if not tensor.is_inference()
        ]
        return lambda: any(tensor._version != version for tensor, version in versions)  # noqa: SLF001


def clock_for(devices: Sequence[str], timer: Callable[[], float], *, flush: bool) -> Clock:
    torch = sys.modules.get("torch")
    # CUDA may be initialised without an input on the GPU: a closure may have tensors there.
    if "cuda" in devices or (torch and torch.cuda.is_initialized()):
        from .cuda_clock import CudaClock

        return CudaClock(flush=flush, has_gpu_inputs="cuda" in devices)
    return HostClock.of(timer)


class Copies:
    """Copies values according to their types, which ground/parts.py lists; copies each value only once."""

    def __init__(self) -> None:
        self._memo: dict[Any, Any] = {}
        """The memo of `copy.deepcopy`, by `id`; also the copies of storages, by address."""
        self.not_copied: dict[str, None] = {}
        """Names of unknown types; their values were not copied."""
        self.failed: dict[str, None] = {}
        """Descriptions of values with tensors that cannot be copied. If there are any, no copy is used: an
        optimiser without its module, for example, would do different work."""

    def of(self, value: Any) -> Any:
        """Return a copy of a value, or the value itself if its type is unknown."""
        kind = kind_of(value)
        if kind is None:
            self.not_copied[type(value).__name__] = None
            return value
        if kind is LEAF:
            return value
        if id(value) not in self._memo:
            try:
                self._memo[id(value)] = self._copy(value, kind)
            except Exception as error:  # noqa: BLE001 - a module may contain anything
                return self._fail(value, f"{type(value).__name__} ({type(error).__name__})")
            # Keep the value alive as long as its id is in use, as deepcopy does.
            self._memo.setdefault(id(self._memo), []).append(value)
        return self._memo[id(value)]

    def _fail(self, value: Any, description: str) -> Any:
        """Add the description to `failed`, and return the value."""
        self.failed[description] = None
        return value

    def _copy(self, value: Any, kind: Kind) -> Any:
        if kind is TENSOR:
            return self._copy_tensor(value)
        if kind is FUNCTION:
            has_tensors = any(True for _ in tensors(value))
            return self._fail(value, f"tensors that {value.__name__} captured") if has_tensors else value
        if kind.rebuild:
            return kind.rebuild(value, [self.of(part) for _, part in kind.parts(value)])
        if kind is OPTIMIZER:
            return self._copy_optimizer(value)
        # deepcopy alone would lose gradients, and share CSR indices. It does copy structures of DGL's graphs.
        for tensor in tensors_of_any_layout(dgl_features(value) if kind is DGL else value):
            self.of(tensor)
        return copy.deepcopy(value, self._memo)

    def _copy_tensor(self, value: Any) -> Any:
        """Copy a leaf tensor with its gradient and strides; views of a storage share one copy of it."""
        torch = sys.modules["torch"]
        if obstacle := _obstacle(value):
            return self._fail(value, obstacle)
        if value.layout != torch.strided:
            clone = self._copy_sparse(value)
        else:
            storage = value.untyped_storage()
            key = ("storage", value.device, storage.data_ptr(), storage.nbytes())
            if key not in self._memo:
                duplicate = storage.clone()
                self._memo[key] = duplicate.pin_memory() if value.is_pinned() else duplicate
            clone = torch.empty(0, dtype=value.dtype, device=value.device)
            clone.set_(self._memo[key], value.storage_offset(), value.size(), value.stride())
        if type(value) is torch.nn.Parameter:
            clone = torch.nn.Parameter(clone, value.requires_grad)
        clone.requires_grad_(value.requires_grad)
        if value.grad is not None:
            clone.grad = self.of(value.grad)
        return clone

    def _copy_sparse(self, value: Any) -> Any:
        """Copy a sparse tensor. A clone of a CSR tensor would share the indices."""
        torch = sys.modules["torch"]
        parts = [self.of(part.detach()) for part in strided_parts(value)]
        with torch.sparse.check_sparse_tensor_invariants(enable=False):
            if value.layout == torch.sparse_coo:
                return torch.sparse_coo_tensor(*parts, size=value.shape, is_coalesced=value.is_coalesced())
            return torch.sparse_compressed_tensor(*parts, size=value.shape, layout=value.layout)

    def _copy_optimizer(self, value: Any) -> Any:
        """Copy an optimiser by its attributes: deepcopy omits hooks, and the parameters of LBFGS."""
        if "step" in vars(value):
            return self._fail(value, f"{type(value).__name__} whose step method was replaced")
        clone = self._memo[id(value)] = object.__new__(type(value))
        for tensor in tensors(value):
            self.of(tensor)
        vars(clone).update({name: copy.deepcopy(item, self._memo) for name, item in vars(value).items()})
        return clone


def _obstacle(value: Any) -> str | None:
    """Return why a tensor cannot be copied. Returns None if it can."""
    torch = sys.modules["torch"]
    reasons = {
        "a non-leaf tensor of an autograd graph": not value.is_leaf,
        "a tensor with hooks": bool(value._backward_hooks),  # noqa: SLF001 - there is no public attribute
        "a quantized tensor": value.is_quantized,
        "a nested tensor": value.is_nested,
        "a tensor with the conjugate or negative bit": value.is_conj() or value.is_neg(),
        "an inference tensor": value.is_inference(),
        f"a tensor of layout {value.layout}": value.layout not in (torch.strided, *sparse_layouts()),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)
