"""Counts what the calling thread executes."""

import sys
from types import CodeType, FrameType
from typing import Any, Self

from .fingerprint.recording import PASSED_OVER, identity

_BY_DEPTH = (*PASSED_OVER, "pathlib", "genericpath")
"""Modules whose functions do not count; see there."""
_WAITS = frozenset({"acquire", "start_new_thread", "fork_exec", "fork", "poll", "select", "waitpid", "recv"})
"""Functions that wait for other threads or processes, or start them."""


class Tracer:
    """Counts in its context, until there are too many events: tracing is slow."""

    def __init__(self, most_events: int, step: str = "line") -> None:
        """Take what is counted besides calls: each `line` or each `opcode`."""
        self._most_events, self._step = most_events, step
        self.steps = self.python_calls = self.c_calls = 0
        self.codes: dict[int, CodeType] = {}
        """Of the functions that ran."""
        self._waits = False
        """Whether it waits for other threads or processes, which decide how much it executes."""
        self.ended = False
        """Whether there were too many events."""
        self._counts: dict[int, bool] = {}
        """By the identity of a module's globals, whether its functions count."""

    @property
    def total(self) -> int | None:
        """Steps and calls of C functions; None: there are too many, or others decide how many."""
        return None if self._waits or self.ended else self.steps + self.c_calls

    def __enter__(self) -> Self:
        self._before = sys.gettrace(), sys.getprofile()
        sys.settrace(self._trace)
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before[0])
        sys.setprofile(self._before[1])

    def _trace(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event == self._step:
            self.steps += 1
            self._check()
        elif event == "call":
            code = frame.f_code
            if code is Tracer.__exit__.__code__:
                return None
            self.codes[identity(code)] = code
            if not self._is_counted(frame):
                return None
            self.python_calls += 1
            frame.f_trace_opcodes = self._step == "opcode"
            frame.f_trace_lines = not frame.f_trace_opcodes
        return self._trace

    def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call" and self._is_counted(frame):
            self.c_calls += 1
            self._waits |= argument.__name__ in _WAITS
            self._check()

    def _is_counted(self, frame: FrameType) -> bool:
        key = identity(frame.f_globals)
        if key not in self._counts:
            self._counts[key] = not str(frame.f_globals.get("__name__")).startswith(_BY_DEPTH)
        return self._counts[key]

    def _check(self) -> None:
        if self.steps + self.c_calls > self._most_events:
            self.ended = True
            sys.settrace(None)
            sys.setprofile(None)
