"""Ends processes that a benchmark's call forks and that return from it: they would go on as this one does."""

import os
import select
import sys
from contextlib import suppress
from types import FrameType

RETURN = "its call forks, and both processes return"
_WAIT_MS = 2000
"""For how long processes that outlive a command are waited for: they may be about to return."""
_OWN = __name__.partition(".")[0]


class Forks:
    """Processes that this one forks; one that returns from the call ends at its next fork, or in `leave`."""

    def __init__(self) -> None:
        self.follows = False
        self._pid = os.getpid()
        self._pipe: tuple[int, int] | None = None
        """Each process that was forked since it was last read has its second end."""
        self._call: FrameType | None = None
        """In such a process: the frame of the call that forked it."""
        os.register_at_fork(before=self._before, after_in_child=self._after_in_child)

    def stay(self) -> None:
        """Take this process for the first one, although it is a fork."""
        self._pid = os.getpid()

    def leave(self) -> None:
        """End this process if it is a fork that has returned."""
        if os.getpid() != self._pid:
            if self._pipe:
                with suppress(OSError):
                    os.write(self._pipe[1], b"1")
            os._exit(0)

    def have_returned(self) -> bool:
        """Tell whether a process that was forked since the last time has returned."""
        if self._pipe is None:
            return False
        (read, write), self._pipe = self._pipe, None
        os.close(write)
        with os.fdopen(read, "rb", buffering=0) as pipe:
            poll = select.poll()
            poll.register(pipe, select.POLLIN)
            return bool(poll.poll(_WAIT_MS)) and bool(pipe.read(1))  # nothing: all have ended

    def _before(self) -> None:
        if not self.follows:
            return
        if os.getpid() != self._pid and _call() is not self._call:
            self.leave()
        elif self._pipe is None:
            self._pipe = os.pipe()

    def _after_in_child(self) -> None:
        if self.follows:
            self._call = _call()
            if self._call is None:
                self.leave()


def _call() -> FrameType | None:
    """Return the frame of the function that this package called. Returns None if it is no Python code."""
    called, frame = None, sys._getframe(2)  # noqa: SLF001 - there is no public way to the frames
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] != _OWN:
        called, frame = frame, frame.f_back  # type: ignore[assignment]
    return called
