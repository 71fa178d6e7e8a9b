"""Processor cores: on which one a block runs, and how much of them other programs took.

A scheduler leaves a process where it was. Where cores are not alike for seconds, as on a virtual machine
whose neighbours use one of them, two processes that take turns differ by as much as their cores. So both
sides of a turn run on the same one.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

_TASKS = Path("/proc/self/task")


def cores() -> list[int]:
    """Return the cores that this process may run on; none where the system does not tell."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


class Placement:
    """Where the blocks of one benchmark may run.

    What a call starts, threads or processes, inherits where it may run, and is to have all cores. So a
    benchmark is kept on one only after a call was watched that started nothing. What was started before keeps
    all of them.
    """

    def __init__(self) -> None:
        """Let blocks run anywhere."""
        self._starts_nothing = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """See whether calls start something; what others start meanwhile looks alike."""
        before = _last_started()
        yield
        self._starts_nothing |= before is not None and before == _last_started()

    @property
    def cores(self) -> list[int]:
        """Those that a block may be kept on; none where it is to be left where it is."""
        return cores() if self._starts_nothing else []

    @contextmanager
    def on(self, core: int | None) -> Iterator[None]:
        """Keep the calling thread on one of those cores for as long; None: leave it where it is.

        What was started meanwhile, after all, is free afterwards.
        """
        if core is None:
            yield
            return
        allowed, before = os.sched_getaffinity(0), _threads()
        with suppress(OSError):  # not permitted, or taken away meanwhile
            os.sched_setaffinity(0, {core})
        try:
            yield
        finally:
            for one in {0, *(_threads() - before), *_children()}:
                with suppress(OSError):
                    if os.sched_getaffinity(one) == {core}:  # a call may have bound it elsewhere
                        os.sched_setaffinity(one, allowed)


def _threads() -> set[int]:
    return {int(task.name) for task in _TASKS.iterdir()}


def _children() -> set[int]:
    found: set[int] = set()
    for task in _TASKS.iterdir():
        with suppress(OSError):  # the thread has just ended, or the kernel does not tell
            found.update(map(int, (task / "children").read_text(encoding="ascii").split()))
    return found


def _last_started() -> str | None:
    """Return the number of the thread or process that was started last, by anyone; None if not known."""
    with suppress(OSError):
        last = Path("/proc/loadavg").read_text(encoding="ascii").split()[-1]
        return last if last != "0" else None
    return None


DISTURBED = 0.1
"""Part of the processors' time that others took, from which on a timing is no evidence.

One busy program on two cores takes half; what a system does for itself, about a hundredth."""

UNWATCHED_CLOCKS = ("cuda", "fake")
"""A GPU's kernels do not wait for the processors, and a simulated machine has none."""

_SHORTEST_SECONDS = 0.25
"""Of a window: the system counts in steps of a hundredth of a second."""

_Look = tuple[float, float, float]
"""Seconds: the moment, how long the cores have worked for whomever, and for this process."""


def _busy_seconds(numbers: list[int]) -> float:
    """Return how long the cores have worked since the system began, for whomever, a hypervisor included."""
    every = psutil.cpu_times(percpu=True)
    wanted = [every[core] for core in numbers if core < len(every)] or every
    idle = ("idle", "iowait", "guest", "guest_nice")  # a guest's time is in `user` as well
    return sum(value for one in wanted for name, value in one._asdict().items() if name not in idle)


def _own_seconds() -> float:
    """Return what this process and its children have used, those that still run included."""
    total = sum(os.times()[:4])
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has just ended
            total += sum(child.cpu_times()[:2])
    return total


def _look(numbers: list[int]) -> _Look:
    return time.perf_counter(), _busy_seconds(numbers), _own_seconds()


@dataclass
class Watch:
    """Looks at the processors as a process begins to time benchmarks, and before and after each."""

    _cores: list[int] = field(default_factory=cores)
    _looks: list[_Look] = field(init=False)

    def __post_init__(self) -> None:
        """Take the first look."""
        self._looks = [_look(self._cores)]

    def begin(self) -> None:
        """Take the look before a benchmark."""
        self._looks.append(_look(self._cores))

    def others_share(self) -> float:
        """Return the part of the processors' time that others took since the last `begin`.

        Where that is too short a time to tell, the window begins with the last look that is long enough ago;
        where there is none, it looks on for a moment.
        """
        now = _look(self._cores)
        start = next((one for one in reversed(self._looks) if now[0] - one[0] >= _SHORTEST_SECONDS), None)
        if start is None:
            start = self._looks[0]
            time.sleep(_SHORTEST_SECONDS - (now[0] - start[0]))
            now = _look(self._cores)
        self._looks.append(now)
        wall, busy, own = (after - before for after, before in zip(now, start, strict=True))
        return max(0.0, busy - own) / (wall * (len(self._cores) or os.cpu_count() or 1))
