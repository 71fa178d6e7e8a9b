"""The benchmark that is profiled."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from ..ground.cpu import RealTime
from ..ground.errors import UsageError
from ..measure.conditions import collector_paused
from ..measure.seam import Pedantic

ROOT = "call"
"""Name of the range around the whole call."""


class UnavailableError(UsageError):
    """A kind of profile cannot be taken on this machine; the message gives the reason."""


@dataclass(frozen=True)
class Subject:
    """One benchmark, whose calls can be made."""

    asked: Pedantic
    """What one round of the benchmark calls: an epoch, a forward and backward pass, a kernel."""
    device: str
    """`cpu` or `cuda`."""
    repeats: int
    """Calls to profile, after the first."""

    @contextmanager
    def ready(self) -> Iterator[Callable[[], object]]:
        """Yield the next call; what the context does before and after is outside the profile."""
        call = self.asked.inputs()
        try:
            yield partial(call.function, *call.args, **call.kwargs)  # which is no Python function itself
        finally:
            self.asked.tear_down(call)


def clock_of(device: str) -> Callable[[], int]:
    """Return a clock in nanoseconds; on `cuda` it first waits for the GPU's work."""
    if device != "cuda":
        return RealTime.nanoseconds
    import torch

    def clock() -> int:
        torch.cuda.synchronize()
        return RealTime.nanoseconds()

    return clock


def timed_ns(subject: Subject, clock: Callable[[], int] | None = None) -> int:
    """Call once without a profile and return the time, by default with the GPU's work."""
    clock = clock or clock_of(subject.device)
    with subject.ready() as call, collector_paused():
        start = clock()
        call()
        return clock() - start
