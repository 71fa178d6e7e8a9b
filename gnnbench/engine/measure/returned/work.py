"""How much Python a call executes, and the limit of its duration."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ..clock import Call

_MOST_EVENTS = 3_000_000
"""After so many, counting ends: it is slow."""
_WAITS = frozenset({"acquire", "start_new_thread", "fork_exec", "fork", "poll", "select", "waitpid", "recv"})
"""Functions that wait for other threads or processes, or start them."""
_AGAIN_SECONDS = 0.5


class TooLongError(BaseException):
    """A call takes too long. No `except Exception` of the call holds it up."""


class Work:
    """Counts bytecodes and calls of C functions that the calling thread executes."""

    def __init__(self) -> None:
        self._events = 0
        self._waits = False

    @property
    def count(self) -> int | None:
        """Their number; None: there are too many, or other threads or processes decide how many."""
        return None if self._waits or self._events > _MOST_EVENTS else self._events

    def call(self, call: Call) -> Any:
        """Make a call, and return its result."""
        before = sys.gettrace(), sys.getprofile()
        sys.setprofile(self._profile)
        sys.settrace(self._trace)
        try:
            return call()
        finally:
            sys.settrace(before[0])
            sys.setprofile(before[1])

    def _trace(self, frame: FrameType, event: str, _argument: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        self._events += event == "opcode"
        if self._events > _MOST_EVENTS:
            sys.settrace(None)
            sys.setprofile(None)
            return None
        return self._trace

    def _profile(self, _frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call":
            self._events += 1
            self._waits |= argument.__name__ in _WAITS


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
