"""The benchmark that is profiled."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from ..clocks import RealTime
from ..errors import UsageError
from ..measure.conditions import collector_paused

ROOT = "call"
"""Name of the range around the whole call."""


class UnavailableError(UsageError):
    """A kind of profile cannot be taken on this machine; the message gives the reason."""


@dataclass(frozen=True)
class Subject:
    """One benchmark, ready to be called."""

    call: Callable[[], object]
    """What one round of the benchmark calls: an epoch, a forward and backward pass, a kernel."""
    device: str
    """`cpu` or `cuda`."""
    repeats: int
    """Calls to profile, after the first."""
    ready: Callable[[], AbstractContextManager[object]] = nullcontext
    """A context around each call, outside the profile: the benchmark's set-up and tear-down."""


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
    with subject.ready(), collector_paused():
        start = clock()
        subject.call()
        return clock() - start
