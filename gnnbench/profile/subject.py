"""What is profiled."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from ..errors import UsageError


class UnavailableError(UsageError):
    """A kind of profile cannot be taken here; the message says what it needs."""


@dataclass(frozen=True)
class Subject:
    """One benchmark, ready to be called."""

    call: Callable[[], object]
    """An epoch, a forward and backward pass, a kernel: what one round of the benchmark calls."""
    device: str
    """`cpu` or `cuda`: where it works."""
    repeats: int
    """Calls to profile, after the first."""
    ready: Callable[[], AbstractContextManager[object]] = nullcontext
    """Is around each call, and no part of what is profiled: the author's set-up and tear-down."""
