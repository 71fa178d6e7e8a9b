"""Copies a call's inputs to other places in memory; each placement is a layout. Chooses the clock for them.

The time of identical code on identical data differs by up to 3x between layouts. With copies, one process
samples many of them.
"""

import gc
import random
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import psutil

from ..ground.parts import tensors
from .clock import Call, Clock, HostClock
from .copies import Copies

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
            return "the arguments have no tensors"
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
