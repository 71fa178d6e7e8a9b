"""The benchmark that is profiled."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from ..errors import UsageError


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
