"""What an operation is: its calls on each platform, its definition in float64, and its least work."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from .limits import Limit
from .spec import FORWARD, FORWARD_BACKWARD

if TYPE_CHECKING:
    from torch import Tensor

    from .case import Case
    from .least_work import Symbols, Work


class Kernel(NamedTuple):
    """How one platform does one operation."""

    build: "Callable[[Case], Any]"
    """Makes the platform's own structure of the graph; not timed."""
    run: Callable[..., Any]
    """What is timed: called with the structure and the operation's tensors."""


class Call(NamedTuple):
    """The call of a library that is timed."""

    text: str
    """What `gnnbench list` shows."""
    kernel: Callable[[], Kernel] | None = None
    """Imports the library and returns the kernel; None where the benchmark makes what it times.

    The kernel calls `module.function(...)`: `gnnbench profile` puts a range around attributes of modules.
    """
    limits: tuple[Limit, ...] = ()


@dataclass(frozen=True)
class Operation:
    """What a benchmark runs."""

    name: str
    calls: Mapping[str, Call]
    """By platform."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """Platform: why it has no such operation."""
    directions: tuple[str, ...] = (FORWARD, FORWARD_BACKWARD)
    core: bool = False
    """Whether a pull request runs it, in its last direction."""
    reference: "Callable[..., Tensor] | None" = None
    """The definition that kernels are checked against: called with the graph and float64 tensors."""
    least_work: "Callable[[Symbols], Work] | None" = None
    """What no implementation can do without."""
    formerly: tuple[str, ...] = ()
    """Earlier names, under which saved files may have it."""

    def kernel(self, platform: str) -> Kernel:
        """Import a platform's library, and return how it does the operation."""
        make = self.calls[platform].kernel
        assert make, f"the benchmark of {self.name} makes what it times"
        return make()

    def unsupported(
        self, platform: str, direction: str, dtype: str, index_dtype: str, device: str
    ) -> str | None:
        """Say why a platform cannot run it in these types, or return None where it can."""
        given = {direction, dtype, index_dtype, device}
        return next((limit.reason for limit in self.calls[platform].limits if limit.where <= given), None)
