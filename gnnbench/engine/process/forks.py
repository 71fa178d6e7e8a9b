"""Ends forked processes that return from a benchmark's call: they would run the rest of the suite again."""

import os
import select
import sys
from contextlib import suppress
from types import FrameType

RETURN = "its call forks, and both processes return from it"
_WAIT_MS = 2000
"""How long to wait for a forked process that may still return."""
_OWN_PACKAGE = __name__.partition(".")[0]


class Forks:
    """The processes that a call forks. One that returns from the call is ended by `end_if_forked`."""

    def __init__(self) -> None:
        self.watches = False
        """Whether forks are noted, as is done while a test runs."""
        self._pid = os.getpid()
        self._pipe: tuple[int, int] | None = None
        """A pipe to whose second end each forked process writes if it returns; None if none was forked."""
        self._call: FrameType | None = None
        """In a forked process, the frame of the call that forked it."""
        os.register_at_fork(before=self._before, after_in_child=self._after_in_child)

    def reset(self) -> None:
        """Treat this process as the first one, although it is a fork."""
        self._pid = os.getpid()

    def end_if_forked(self) -> None:
        """End this process if a call has forked it."""
        if os.getpid() != self._pid:
            if self._pipe:
                with suppress(OSError):
                    os.write(self._pipe[1], b"1")
            os._exit(0)

    def have_returned(self) -> bool:
        """Tell whether a process has returned that was forked since the last call of this method."""
        if self._pipe is None:
            return False
        (read, write), self._pipe = self._pipe, None
        os.close(write)
        with os.fdopen(read, "rb", buffering=0) as pipe:
            poll = select.poll()
            poll.register(pipe, select.POLLIN)
            return bool(poll.poll(_WAIT_MS)) and bool(pipe.read(1))  # empty if all have ended

    def _before(self) -> None:
        if not self.watches:
            return
        if os.getpid() != self._pid and _call() is not self._call:
            self.end_if_forked()
        elif self._pipe is None:
            self._pipe = os.pipe()

    def _after_in_child(self) -> None:
        if self.watches:
            self._call = _call()
            if self._call is None:
                self.end_if_forked()


def _call() -> FrameType | None:
    """Return the frame of the function that this package has called. Returns None if it is not in Python."""
    called, frame = None, sys._getframe(2)  # noqa: SLF001 - there is no public way to the frames
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] != _OWN_PACKAGE:
        called, frame = frame, frame.f_back  # type: ignore[assignment]
    return called
