"""The comparison of both ends, by the rule of `gnnbench ab`."""

from collections.abc import Sequence

import numpy as np

from ..ab.schedule import SAME_CODE, Decision, Plan, Schedule
from ..ab.visit import Pair
from ..verdict import Thresholds
from .measured import Measured


class Ends:
    """What is known of the bad end against the good one.

    Args:
        names: the benchmarks, in the order of collection.
        thresholds: levels, and the minimum effect of interest.
        per_benchmark_seconds: time to compare them, divided by the number of benchmarks.
        seed: seeds the order of the benchmarks.
    """

    def __init__(
        self, names: Sequence[str], thresholds: Thresholds, per_benchmark_seconds: float, seed: int
    ) -> None:
        self._names = list(names)
        random = np.random.default_rng(seed)
        self._schedule = Schedule(names, thresholds, per_benchmark_seconds, None, random)
        self._visited: set[str] = set()
        self.skipped = 0
        """Number of benchmarks that both ends skip."""

    def next(self) -> Plan | None:
        """Return what to time next; None: all is decided, or the time is spent."""
        return self._schedule.next()

    def add(self, one: Measured) -> None:
        """Take a pair, which was planned by `next`."""
        failures = {}
        self._visited.update(one.visits)
        for name, failure in one.failures.items():
            skipped = failure.kind == "skipped" and name not in self._visited
            if failure.kind == "same code" or skipped:
                self._schedule.leave_out(name)
                if skipped:
                    self.skipped += 1
                    self._names.remove(name)
            else:
                failures[name] = failure
        self._schedule.add(Pair(one.start_seconds, one.visits, failures, one.settled_seconds))

    def decisions(self) -> dict[str, Decision]:
        """Return the verdicts, without benchmarks that both ends skip."""
        timed = self._schedule.decisions()
        return {name: timed.get(name, SAME_CODE) for name in self._names}

    @property
    def left_seconds(self) -> float:
        """The rest of the time to compare the ends."""
        return self._schedule.left_seconds
