"""How much of the processors other programs took while something was timed."""

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field

import psutil

from gnnbench.placement import cores

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
