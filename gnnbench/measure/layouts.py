"""Layouts: where a call's inputs lie in memory, and copies of them that lie elsewhere.

Identical code on identical data differs by up to 3x from one set of buffers to the next. Copies of the inputs
make one process sample many.
"""

import gc
import random
import sys
import weakref
from collections.abc import Callable
from typing import Any

import psutil

from .clock import Call
from .copies import Copies, tensors

MEMORY_SHARE = 0.25
"""Of the memory that is free, what copies may take."""

_POOL = 6
"""Earlier copies that live on, at most: freed one by one at random, or an allocator would give the same two
or three places again and again."""

_SPACER_SHARE = 0.5
_SPACER_BYTES = 1 << 16
"""Less than this, of the inputs' bytes or in bytes, lies between copies: an allocator that is asked for equal
sizes only, hands the same few places round."""


class Layouts:
    """A call's inputs, and copies of them.

    Copied are strided and sparse tensors, SparseTensor, EdgeIndex, Data, DGLGraph, modules and optimisers, in
    the arguments themselves or in lists, tuples, dictionaries, partials and bound methods. A tensor that is
    found twice is one in the copy too, views of one storage stay views of one storage; strides,
    `requires_grad` and gradients are kept.
    """

    def __init__(self, call: Call) -> None:
        """Look at the inputs; copies nothing yet."""
        self.original = call
        """On the inputs as they were given."""
        self.current = call
        """On the last copies, or on the original inputs where there are none."""
        self.left: tuple[str, ...] = ()
        """What `renew` did not copy."""
        self._pool: list[tuple[Call, Any]] = []
        self._torn: tuple[str, ...] = ()
        self._room = 2
        self._random = random.Random(0)  # noqa: S311 - places in memory, not secrets
        found = list(tensors(tuple(call)))
        storages = {
            storage.data_ptr(): storage.nbytes() for storage in (part.untyped_storage() for part in found)
        }
        self.bytes = sum(storages.values())
        self.devices = tuple(sorted({part.device.type for part in found}))

    def why_in_place(self) -> str | None:
        """Say why the inputs are not to be copied; None where they are."""
        if not self.devices:
            return "no tensors among its arguments"
        free = psutil.virtual_memory().available
        if "cuda" in self.devices:
            from ..devices import cuda_free_bytes

            free = min(free, cuda_free_bytes())
        self._room = int(MEMORY_SHARE * free / ((1 + _SPACER_SHARE) * max(1, self.bytes)))
        if self._room < 2:  # noqa: PLR2004 - the last copy, and the one that is made
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
        """Return the call on new copies of the original inputs; one of those before is freed then."""
        copies = Copies()
        torch = sys.modules["torch"]
        device = "cuda" if "cuda" in self.devices else "cpu"
        most = max(_SPACER_BYTES, int(_SPACER_SHARE * self.bytes))
        spacer = torch.empty(self._random.randrange(most), dtype=torch.uint8, device=device)
        self.current = Call(*map(copies.of, self.original))
        self._pool.append((self.current, spacer))
        if len(self._pool) > min(_POOL, self._room - 1):
            self._free(self._random.randrange(len(self._pool) - 1))
        self.left, self._torn = tuple(copies.left), tuple(copies.torn)
        return self.current

    def _free(self, number: int) -> None:
        """Free a copy, also where it is part of a cycle that only the collector finds."""
        probe = weakref.ref(next(tensors(tuple(self._pool[number][0]))))
        del self._pool[number]
        if probe() is not None:
            gc.collect()

    def watch(self) -> Callable[[], bool]:
        """Return a function that tells whether a tensor of the present copies was written to since."""
        versions = [
            (tensor, tensor._version)  # noqa: SLF001 - what autograd checks saved tensors by
            for tensor in tensors(tuple(self.current))
            if not tensor.is_inference()
        ]
        return lambda: any(tensor._version != version for tensor, version in versions)  # noqa: SLF001
