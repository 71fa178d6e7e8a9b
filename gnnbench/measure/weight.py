"""How much memory one call needs."""

from collections.abc import Collection
from dataclasses import dataclass

from . import resident
from .clock import Call


@dataclass(frozen=True)
class Weight:
    """The memory of one call beside its inputs."""

    peak_bytes: int | None
    """From PyTorch's allocators; None: it has no tensors among its inputs, or cannot be traced."""
    resident_bytes: int | None
    """Growth of the resident set; None: only Linux can tell."""

    @property
    def limited_bytes(self) -> int | None:
        """What `max_memory` limits: the allocators' peak where there is one."""
        return self.resident_bytes if self.peak_bytes is None else self.peak_bytes


def weigh(call: Call, devices: Collection[str]) -> Weight:
    """Measure the memory of one call.

    Args:
        call: the function with its inputs. It is called several times.
        devices: types of the devices of the tensors among the inputs.
    """
    peak = None
    if devices:
        from . import memory

        peak = memory.trace(call.__call__, "cuda" if "cuda" in devices else "cpu").peak_bytes
    return Weight(peak, resident.growth_bytes(call.__call__))
