"""Simulates verdicts of `gnnbench ab` on busy machines, and counts wrong ones.

    python experiments/ab/busy.py --runs 100 --power 100 [--keep FILE.jsonl] [--out FILE.json]

The schedule and the rule are the real ones. Twenty benchmarks (BENCHMARKS) have 240 seconds in all, including
fingerprints. Half of them are 10 % slower; in A/A runs none is. MACHINES says how long processes take to
start, and how much of a core other programs use; on such a core a call of 3 ms waits for these programs.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gnnbench.engine.judge.schedule import PairPlan, Schedule
from gnnbench.engine.judge.visit import PairTimes, Visit
from gnnbench.engine.measure.clock import FEWEST_BLOCKS

sys.path.insert(0, str(Path(__file__).parents[2]))
from experiments.ab import simulate as ab

TOTAL, EFFECT, HALF = 240.0, 0.1, 0.5
SLICE = 3.0
"""Milliseconds that a program runs before another one does."""
SET_UP, INSPECTION = 0.1, 0.3
"""Seconds of a benchmark in a pair of processes, besides its blocks."""
LATE_CALLS, LATE = 300, 1.3
BURST, BURST_SECONDS, BURSTS_APART = 3.0, 5.0, 30.0


@dataclass(frozen=True)
class Busy:
    """A machine that other programs use."""

    starts: tuple[float, float] = (3.0, 4.0)
    """Shortest and longest start of a pair, in seconds."""
    programs: float = 0.0
    """Number of other programs on the core of a block."""
    share: float = 1.0
    """Share of the blocks on whose core they run."""
    bursts: bool = False
    """Whether everything takes three times as long during five of thirty seconds."""
    drift: float = 0.02


MACHINES = {
    "quiet": Busy(),
    "one loop": Busy((4.0, 6.0), 1.0, 0.5),
    "two loops": Busy((6.0, 9.0), 1.0),
    "bursts": Busy((3.0, 6.0), bursts=True),
    "drift": Busy(drift=0.2),
    "a load of ten": Busy((12.0, 30.0), 4.0),
}


class Kind(NamedTuple):
    """A kind of benchmark."""

    milliseconds: float = 1.0
    pair_sd: float = 0.01
    layouts: float = 1.0
    """Factor by which half of the blocks are slower."""
    modes: float = 1.0
    """Factor by which some processes are slower."""
    slow: float = 0.0
    """Share of the processes that are slower."""
    late: bool = False
    """Whether calls are slower after the first LATE_CALLS of a process."""


KINDS = {
    "plain": (8, Kind()),
    "long": (2, Kind(20.0)),
    "noisy": (2, Kind(pair_sd=0.05)),
    "layouts": (2, Kind(layouts=2.0)),
    "late": (2, Kind(late=True)),
    "modes": (2, Kind(modes=6.5, slow=0.3)),
    "near modes": (2, Kind(modes=1.5, slow=0.3)),
}
BENCHMARKS = {f"{name}-{number}": kind for name, (count, kind) in KINDS.items() for number in range(count)}
"""Kinds by name; benchmarks with an odd number are slower in the head."""


class Machine:
    """A simulated machine that runs pairs of processes; its clock is simulated too."""

    def __init__(self, random: np.random.Generator, busy: Busy, effects: dict[str, float]) -> None:
        self._random, self._busy, self._effects = random, busy, effects
        self._now = float(random.uniform(0, ab.PERIOD))

    def _passes(self, seconds: float) -> float:
        self._now += seconds
        return seconds

    def inspect(self) -> float:
        """Return how long the fingerprints of all benchmarks take."""
        seconds = len(BENCHMARKS) * INSPECTION * (1 + self._busy.programs * self._busy.share)
        return self._passes(self._random.uniform(*self._busy.starts) + seconds)

    def pair(self, plan: PairPlan) -> PairTimes:
        """Start two processes and time benchmarks in them, until the plan's time is over."""
        start = self._passes(float(self._random.uniform(*self._busy.starts)))
        broken = np.where(self._random.random(2) < ab.BROKEN, ab.BROKEN_FACTOR, 1.0)
        visits: dict[str, Visit] = {}
        for name, seconds in plan.seconds.items():
            if visits and sum(one.seconds for one in visits.values()) > plan.at_most_seconds:
                break
            visits[name] = self._visit(name, seconds, plan.longest_seconds, broken)
        return PairTimes(start, visits)

    def _visit(self, name: str, seconds: float, longest: float, speeds: Any) -> Visit:
        kind, random, busy = BENCHMARKS[name], self._random, self._busy
        offset = random.normal(0, kind.pair_sd) + np.log1p(self._effects.get(name, 0.0))
        speeds = speeds * np.exp([-offset / 2, offset / 2])
        speeds *= np.where(random.random(2) < kind.slow, kind.modes, 1.0)
        rounds = max(round(10 / kind.milliseconds), 1)
        wait = 1 + busy.programs * busy.share
        turn = (rounds + 1) * kind.milliseconds * (1 + kind.layouts) / 2 * speeds.sum() * wait / 1000
        set_up = self._passes(SET_UP * wait)
        most = max(int((longest - set_up) / turn), 1)
        count = min(max(round(seconds / turn), FEWEST_BLOCKS), max(most, round(seconds / turn), 1))
        calls = np.stack([ab.rounds(random, count)[:, :rounds] for _ in speeds]) * kind.milliseconds
        moments = self._now + turn * np.arange(count)
        factors = 1 + busy.drift * np.sin(2 * np.pi * moments / ab.PERIOD)
        if kind.late:
            factors *= np.where(np.arange(count) * rounds > LATE_CALLS, LATE, 1.0)
        factors = factors * speeds[:, None] * np.where(random.random((2, count)) < HALF, kind.layouts, 1.0)
        calls *= factors[:, :, None]
        if busy.bursts:
            bursts = (moments % BURSTS_APART < BURST_SECONDS)[:, None] & (random.random(calls.shape) < HALF)
            calls *= np.where(bursts, BURST, 1.0)
        ends = np.cumsum(calls, axis=2) + random.uniform(0, SLICE, (2, count, 1))
        stolen = np.diff(np.floor(ends / SLICE), prepend=0.0, axis=2)
        calls += stolen * SLICE * busy.programs * (random.random((count, 1)) < busy.share)
        base, head = np.median(calls, axis=2) * 1e6
        # The untimed round counts, too.
        passed = self._passes(float(calls.sum()) * (rounds + 1) / rounds / 1000)
        return Visit(tuple(base.tolist()), tuple(head.tolist()), count * rounds, set_up + passed)


def one_run(key: ab.Key) -> dict[str, Any]:
    """Simulate a run; return how many verdicts are right, and which are wrong."""
    kind, effect, seed = key
    random = np.random.default_rng([seed, 5])
    slower = {name: effect for name in BENCHMARKS if effect and int(name[-1]) % 2}
    machine = Machine(random, MACHINES[kind], slower)
    schedule = Schedule(list(BENCHMARKS), ab.THRESHOLDS, ab.BUDGET, TOTAL, random)
    schedule.spend(machine.inspect())
    while plan := schedule.next():
        schedule.add(machine.pair(plan))
    found = {name: one.judgement.verdict for name, one in schedule.decisions().items()}
    truth = {name: "slower" if name in slower else "same" for name in BENCHMARKS}
    return {
        "kind": kind,
        "effect": effect,
        "seed": seed,
        "slower": sum(found[name] == "slower" for name in slower),
        "same": sum(one == "same" == truth[name] for name, one in found.items()),
        "wrong": [name for name, one in found.items() if one not in ("undecided", truth[name])],
    }


def simulate(runs: int, power: int, seed: int, keep: Path | None = None) -> dict[str, Any]:
    """Simulate `runs` A/A runs and `power` runs with slower benchmarks on each machine."""
    numbers = {0.0: runs, EFFECT: power}
    wanted = [
        (kind, effect, seed * 1_000_000 + run)
        for kind in MACHINES
        for effect, number in numbers.items()
        for run in range(number)
    ]
    return tabulated(ab.kept(one_run, wanted, keep))


def tabulated(runs: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return mean numbers of right verdicts, and of runs with a wrong one, by machine and effect."""
    found: dict[str, Any] = {}
    for run in runs:
        found.setdefault(f"{run['kind']}, {run['effect']:.0%} slower", []).append(run)
    return {
        what: {
            "runs": len(ones),
            "wrong": sum(bool(one["wrong"]) for one in ones),
            **{word: float(np.mean([one[word] for one in ones])) for word in ("slower", "same")},
        }
        for what, ones in found.items()
    }


if __name__ == "__main__":
    ab.command_line(simulate, __doc__)
