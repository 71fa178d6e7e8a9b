"""The average cost of a call in a batch of calls: the steps that it executes, and its CPU time.

Equal costs confirm that base and head run the same code, independently of fingerprints. A batch of fast calls
is long enough to include work that is done only in every 64th call.
"""

import math
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Self

from ..ground.cpu import CpuUse, RealTime
from .clock import Call, Clock, HostClock
from .conditions import collector_paused
from .fingerprint.recording import PASSED_OVER, identity

_BATCH_SECONDS = 0.02
_FAST_SECONDS = 1e-3
"""A batch of faster calls has at least FEWEST_CALLS."""
FEWEST_CALLS = 130
"""A batch of this size includes work that is done in every 64th call, at least twice."""
_TRIES = 3
_LEAST_SECONDS = 1e-7
"""Shorter times of a call are rounded up to this one."""
_BATCHES, _FEWEST_BATCHES = 5, 2
_MOST_SECONDS = 0.1
"""Time limit of one batch, and of all batches except the first _FEWEST_BATCHES: a rare call may be slow."""
_MOST_STEPS = 200_000
"""Tracing stops after this number of steps. A traced step takes about 0.3 µs."""
_OTHER_THREADS = 0.05
"""Largest CPU time of other threads, as a fraction of the calling thread's. If they take more, the calling
thread may be waiting for them in a loop, as OpenMP does."""

SHORT_SECONDS = 1e-5
_SHORT_LIMIT, _LIMIT = 1.6, 1.5
"""CPU times count as alike up to this ratio: first for calls below SHORT_SECONDS, then for longer calls."""
_STEPS_LIMIT, _STEPS_SLACK = 1.05, 2.0
"""Numbers of steps count as alike up to this ratio plus this number of steps per call."""
_WAITING_LIMIT, _WAITING_SLACK = 2.0, 2e-4
"""Times of calls that wait count as alike up to this ratio plus these seconds, as switches take time."""

_TASKS = Path("/proc/self/task")
_NOT_COUNTED = (*PASSED_OVER, "pathlib", "genericpath")
"""Steps of functions of these modules are not counted; see PASSED_OVER."""
_WAITS = frozenset({"acquire", "start_new_thread", "fork_exec", "fork", "poll", "select", "waitpid", "recv"})
"""Functions that wait for other threads or processes, or start them."""


@dataclass(frozen=True)
class Cost:
    """The average cost of a call."""

    steps: float | None = None
    """Lines of Python and calls of C functions in the calling thread. None if a single call has too many."""
    seconds: float | None = None
    """CPU time of the calling thread, or the GPU's own time: the lowest of a few batches. None if other
    threads worked too."""
    waiting: float = 0.0
    """Seconds in which all threads of a call sleep, such as for a file: the lowest of a few batches."""

    def lower(self, other: "Cost") -> "Cost":
        """Return the smaller number of steps and the shorter times of two measurements of the same call."""
        steps = None if self.steps is None or other.steps is None else min(self.steps, other.steps)
        seconds = min(filter(None, (self.seconds, other.seconds)), default=None)
        return Cost(steps, seconds, min(self.waiting, other.waiting))

    def change(self, head: "Cost", *, is_strict: bool = False) -> float | None:
        """Return the head's cost divided by this cost, the base's. Returns None if the costs are alike.

        If steps and CPU time both differ, the ratio farther from 1 is returned.

        `is_strict`: whether CPU times count as alike only up to the square root of the usual ratio.
        """
        is_short = min(self.seconds or 0.0, head.seconds or 0.0) < SHORT_SECONDS
        limits = (_SHORT_LIMIT if is_short else _LIMIT), _WAITING_LIMIT
        limit, waiting_limit = map(math.sqrt, limits) if is_strict else limits
        known = self.seconds is not None and head.seconds is not None
        before, after = (cost.waiting + known * (cost.seconds or 0.0) for cost in (self, head))
        ratios = (
            _ratio(self.steps, head.steps, _STEPS_LIMIT, _STEPS_SLACK),
            _ratio(self.seconds, head.seconds, limit, 0.0),
            _ratio(before, after, waiting_limit, _WAITING_SLACK),
        )
        return max(filter(None, ratios), key=lambda ratio: max(ratio, 1 / ratio), default=None)


def _ratio(base: float | None, head: float | None, limit: float, slack: float) -> float | None:
    """Return (head + slack) / (base + slack). Returns None if the values are alike, or if one is unknown."""
    if base is None or head is None:
        return None
    smaller, larger = sorted((base, head))
    return (head + slack) / (base + slack) if larger > smaller * limit + slack else None


class Tracer:
    """A context that counts steps (lines, and calls of C functions), up to `most_steps`."""

    def __init__(self, most_steps: int) -> None:
        self._most_steps = most_steps
        self.steps = 0
        self.codes: dict[int, CodeType] = {}
        """Code of the functions that ran, by identity."""
        self.has_stopped = False
        """Whether counting stopped because of too many steps."""
        self._waits = False
        self._counted_modules: dict[int, bool] = {}
        """Whether steps in a module are counted, by the identity of its globals."""

    @property
    def total(self) -> int | None:
        """Number of steps. None if there are too many, or if code waits for other threads or processes."""
        return None if self._waits or self.has_stopped else self.steps

    def __enter__(self) -> Self:
        self._before = sys.gettrace(), sys.getprofile()
        sys.settrace(self._trace)
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before[0])
        sys.setprofile(self._before[1])

    def _trace(self, frame: FrameType, event: str, _argument: Any) -> Any:
        """Count a line; `sys.settrace` takes this method."""
        if event == "line":
            self._add_step()
        elif event == "call":
            code = frame.f_code
            if code is Tracer.__exit__.__code__:
                return None
            self.codes[identity(code)] = code
            if not self._is_counted(frame):
                return None
        return self._trace

    def _profile(self, frame: FrameType, event: str, argument: Any) -> None:
        """Count a call of a C function; `sys.setprofile` takes this method."""
        if event == "c_call" and self._is_counted(frame):
            self._waits |= argument.__name__ in _WAITS
            self._add_step()

    def _is_counted(self, frame: FrameType) -> bool:
        key = identity(frame.f_globals)
        if key not in self._counted_modules:
            self._counted_modules[key] = not str(frame.f_globals.get("__name__")).startswith(_NOT_COUNTED)
        return self._counted_modules[key]

    def _add_step(self) -> None:
        self.steps += 1
        if self.steps > self._most_steps:
            self.has_stopped = True
            sys.settrace(None)
            sys.setprofile(None)


def measure_cost(
    next_call: Callable[[], Call],
    watching: Callable[[], AbstractContextManager[None]] = nullcontext,
    device_clock: Clock | None = None,
) -> tuple[Cost, list[CodeType]]:
    """Call a function many times; return the cost of a call, and the code of the functions that ran.

    The caller must have called the function before, to fill its caches, and equally often for base and head:
    the cost may depend on the number of earlier calls.

    `next_call`: returns the call with new copies of its inputs.
    `watching`: returns a context that records which functions run in calls that are not traced.
    """
    with collector_paused():
        seconds = _shortest_seconds(next_call(), device_clock or HostClock(RealTime.seconds, _LEAST_SECONDS))
        calls = max(2 ** round(math.log2(_BATCH_SECONDS / seconds)), 1)
        if seconds < _FAST_SECONDS:
            calls = max(calls, FEWEST_CALLS)
        steps, codes = _count_steps(next_call(), min(calls, FEWEST_CALLS), watching)
        times, end = list[tuple[float | None, float]](), RealTime.seconds() + _MOST_SECONDS
        while len(times) < _FEWEST_BATCHES or (len(times) < _BATCHES and RealTime.seconds() < end):
            times.append(_call_seconds(next_call(), calls, device_clock))
    shortest = min((seconds for seconds, _ in times if seconds), default=None)
    return Cost(steps, shortest, min(waiting for _, waiting in times)), codes


def _shortest_seconds(call: Call, clock: Clock) -> float:
    """Return the time of the fastest of a few calls; slow calls are not repeated."""
    shortest = math.inf
    for _ in range(_TRIES):
        (seconds,) = clock.block(call, 1, 1).seconds
        shortest = max(min(seconds, shortest), _LEAST_SECONDS)
        if seconds > _BATCH_SECONDS:
            break
    return shortest


def _call_seconds(call: Call, calls: int, device_clock: Clock | None) -> tuple[float | None, float]:
    """Return a call's average CPU or GPU time in a batch, None if unknown, and how long the call waits."""
    if calls > 1:
        call()  # because the first call on new copies is slower
    if device_clock:
        seconds = device_clock.block(call, 1, calls).device_seconds
        return None if seconds is None else seconds / calls, 0.0
    function, args, kwargs = call
    count, start, before, running_before = 0, RealTime.seconds(), CpuUse.now(), _running_ns()
    while count < calls and (not count or RealTime.seconds() < start + _MOST_SECONDS):
        for _ in repeat(None, min(calls, FEWEST_CALLS)):
            function(*args, **kwargs)
        count += min(calls, FEWEST_CALLS)
    process, thread, _ = (at_end - at_start for at_start, at_end in zip(before, CpuUse.now(), strict=True))
    running = max(_running_ns() - running_before, process)  # `process` includes threads that have ended
    waiting = max(RealTime.seconds() - start - running / 1e9, 0.0)
    other_threads = process - thread
    if other_threads > _OTHER_THREADS * thread and os.environ.get("OMP_WAIT_POLICY", "").upper() != "PASSIVE":
        return None, waiting / count
    return thread / count / 1e9, waiting / count


def _running_ns() -> int:
    """Return how long the process's current threads have run or waited for a core."""
    total = 0
    for task in _TASKS.iterdir():
        with suppress(OSError):  # it has ended meanwhile
            total += sum(map(int, (task / "schedstat").read_text().split()[:2]))
    return total


def _count_steps(
    call: Call, calls: int, watching: Callable[[], AbstractContextManager[None]]
) -> tuple[float | None, list[CodeType]]:
    """Return the average number of steps of a call that was traced to its end, and the code that ran.

    After _MOST_STEPS, the remaining calls are not traced. The number is None if none was traced to its end.
    """
    function, args, kwargs = call
    count = steps = 0
    with Tracer(_MOST_STEPS) as tracer:
        while count < calls:
            function(*args, **kwargs)
            if tracer.has_stopped:
                break
            count, steps = count + 1, tracer.steps
    with watching():
        for _ in repeat(None, calls - count - tracer.has_stopped):
            function(*args, **kwargs)
    return (steps / count, [*tracer.codes.values()]) if count else (None, [])
