"""SIGTERM and SIGHUP end what runs as Ctrl-C does: children are ended, and nothing is left behind."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_TOGETHER_SECONDS = 1.0
"""Closed terminals, `timeout` and service managers send two at once; the second must not cut that short."""


@dataclass
class Received:
    """What came."""

    number: int | None = None
    """The signal; None: neither of the two."""


@contextmanager
def as_ctrl_c() -> Iterator[Received]:
    """Raise KeyboardInterrupt where SIGTERM or SIGHUP comes.

    One that is ignored, as nohup has it, stays ignored. In a thread other than the main one, which gets no
    signals, nothing is changed.
    """
    received = Received()
    last = float("-inf")

    def end(number: int, _frame: FrameType | None) -> None:
        nonlocal last
        before, last = last, time.monotonic()
        if last - before > _TOGETHER_SECONDS:
            received.number = number
            raise KeyboardInterrupt

    is_main = threading.current_thread() is threading.main_thread()
    numbers = [one for one in _ENDING if is_main and signal.getsignal(one) is not signal.SIG_IGN]
    kept = {number: signal.signal(number, end) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
