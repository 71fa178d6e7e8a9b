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

_SHORTEST_SECONDS = 0.25
"""Of a window: the system counts in steps of a hundredth of a second."""


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


@dataclass
class Watch:
    """Looks at the processors from its making on."""

    _cores: list[int] = field(default_factory=cores)

    def __post_init__(self) -> None:
        """Take the first look."""
        self._start = time.perf_counter(), _busy_seconds(self._cores), _own_seconds()

    def others_share(self) -> float | None:
        """Return the part of the processors' time that others took since then; None: too short a time."""
        wall, busy, own = (
            now - then
            for now, then in zip(
                (time.perf_counter(), _busy_seconds(self._cores), _own_seconds()),
                self._start,
                strict=True,
            )
        )
        if wall < _SHORTEST_SECONDS:
            return None
        return max(0.0, busy - own) / (wall * (len(self._cores) or os.cpu_count() or 1))
