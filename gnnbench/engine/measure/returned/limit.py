"""The limit of a call's duration."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_AGAIN_SECONDS = 0.5


class TooLongError(BaseException):
    """A call takes too long. No `except Exception` of the call holds it up."""


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Raise TooLongError in the context after some time, unless C code holds it up; None: there is no limit.

    A timer that is set already stays, and there is no limit then.
    """
    if (
        seconds is None
        or threading.current_thread() is not threading.main_thread()
        or any(signal.getitimer(signal.ITIMER_REAL))
    ):
        yield
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
