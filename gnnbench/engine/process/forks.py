"""Ends each forked process that returns from a benchmark's call: it would run the rest of the suite again."""

import os
import select
import sys
from contextlib import suppress
from os import getpid  # a test may replace the attribute of `os`
from types import FrameType

RETURN = "its call forks, and both processes return from it"
_WAIT_MS = 2000
"""How long to wait for a forked process that may still return."""
_OWN_PACKAGE = __name__.partition(".")[0]


class Forks:
    """Watches the processes that a benchmark's call forks; one that returns from the call is ended."""

    def __init__(self) -> None:
        self.watches = False
        """Whether forks are watched: only while a test runs."""
        self._pid = getpid()
        self._pipe: tuple[int, int] | None = None
        """Each forked process that returns from the call writes to this pipe. None if none was forked."""
        self._call_frame: FrameType | None = None
        """In a forked process, the frame of the benchmark's call that forked it."""
        os.register_at_fork(before=self._before, after_in_child=self._after_in_child)

    def reset(self) -> None:
        """Treat this process, which is a fork itself, as the original: `end_if_forked` does not end it."""
        self._pid = getpid()

    def end_if_forked(self) -> None:
        """End this process if a benchmark's call has forked it."""
        if getpid() != self._pid:
            if self._pipe:
                with suppress(OSError):
                    os.write(self._pipe[1], b"1")
            os._exit(0)

    def have_returned(self) -> bool:
        """Tell whether a process that was forked since the last check has returned from the call."""
        if self._pipe is None:
            return False
        (read, write), self._pipe = self._pipe, None
        os.close(write)
        with os.fdopen(read, "rb", buffering=0) as pipe:
            poll = select.poll()
            poll.register(pipe, select.POLLIN)
            return bool(poll.poll(_WAIT_MS)) and bool(pipe.read(1))  # nothing if all ended without returning

    def _before(self) -> None:
        """Prepare for a fork, or end this process if it has returned from the call that forked it."""
        if not self.watches:
            return
        if getpid() != self._pid and _call_frame() is not self._call_frame:
            self.end_if_forked()
        elif self._pipe is None:
            self._pipe = os.pipe()

    def _after_in_child(self) -> None:
        if self.watches:
            self._call_frame = _call_frame()
            if self._call_frame is None:  # not a Python function, as in `benchmark(os.fork)`
                self.end_if_forked()


def _call_frame() -> FrameType | None:
    """Return the frame of the function that gnnbench calls. Returns None if that is not a Python function."""
    called, frame = None, sys._getframe(2)  # noqa: SLF001 - there is no public access to frames
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] != _OWN_PACKAGE:
        called, frame = frame, frame.f_back  # type: ignore[assignment]
    return called
