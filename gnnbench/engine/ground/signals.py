"""SIGTERM and SIGHUP end a command like Ctrl-C: the command stops its children and cleans up."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from .cpu import RealTime

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_TOGETHER_SECONDS = 1.0
"""Terminals, `timeout` and service managers send two signals; the second must not stop the cleanup."""


@contextmanager
def as_ctrl_c() -> Iterator[list[int]]:
    """Raise KeyboardInterrupt on SIGTERM or SIGHUP. Yield a list that receives the number of the signal.

    A signal that was ignored before, as under nohup, stays ignored. Outside the main thread, which receives
    the signals, this changes nothing.
    """
    received: list[int] = []
    last = float("-inf")

    def end(number: int, _frame: FrameType | None) -> None:
        nonlocal last
        previous, last = last, RealTime.seconds()
        if last - previous > _TOGETHER_SECONDS:
            received.append(number)
            raise KeyboardInterrupt

    is_main = threading.current_thread() is threading.main_thread()
    numbers = [number for number in _ENDING if is_main and signal.getsignal(number) is not signal.SIG_IGN]
    handlers = {number: signal.signal(number, end) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
