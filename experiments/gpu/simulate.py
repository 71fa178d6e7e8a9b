"""What `gnnbench ab` decides in four minutes on a simulated GPU, by the GPU's own time and by wall time.

    python experiments/gpu/simulate.py [--runs 100]

The schedule and the decision rule are the real ones. Twenty benchmarks have 240 seconds together. The
GPU's own time of a round varies by 0.5 %, and between processes by 0.3, 1 or 2.5 %; the host's by 10 and
20 %, as on small graphs. A visit's set-up takes 0.2 seconds, a turn 12 ms. STARTS has the seconds that the
first pair and a further one take to start: each anew, as measured on an H100, or forked, for which nothing
was measured.
"""

import argparse
import math
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from gnnbench.engine.judge.schedule import PairPlan, Schedule
from gnnbench.engine.judge.verdict import Thresholds
from gnnbench.engine.judge.visit import PairTimes, Visit
from gnnbench.engine.measure.clock import FEWEST_BLOCKS

BENCHMARKS, BUDGET = 20, 240.0
SET_UP, BLOCK = 0.2, 4 * 0.003
STARTS = ((14.0, 14.0), (14.0, 4.0))
EFFECTS = (0.0, 0.015, 0.03)


class Time(NamedTuple):
    """The kind of time that is judged."""

    name: str
    between: float
    """Standard deviation of the logarithm of the time between processes."""
    within: float
    """Standard deviation of the logarithm of a block's time."""
    effect: float
    """The minimum effect of interest."""


TIMES = (
    Time("GPU", 0.003, 0.005, 0.01),
    Time("GPU", 0.01, 0.005, 0.01),
    Time("GPU", 0.025, 0.005, 0.01),
    Time("wall", 0.2, 0.1, 0.03),
)


def visits_of(
    plan: PairPlan, time: Time, slower: dict[str, float], random: np.random.Generator
) -> dict[str, Visit]:
    """Return the times of a pair of processes, by benchmark."""
    visits = {}
    for name, seconds in plan.seconds.items():
        offset = random.normal(0, time.between) + math.log1p(slower.get(name, 0.0))
        count = max(FEWEST_BLOCKS, round(seconds / BLOCK))
        logs = random.normal([[0.0], [offset]], time.within, (2, count))
        base, head = (tuple((1e5 * np.exp(side)).tolist()) for side in logs)
        visits[name] = Visit(base, head, count, SET_UP + count * BLOCK)
    return visits


def run(case: tuple[Time, tuple[float, float], float, int]) -> Counter[str]:
    """Count the verdicts of a run in which every other benchmark is slower."""
    time, (start, further), effect, seed = case
    random = np.random.default_rng(seed)
    names = [f"benchmark {number}" for number in range(BENCHMARKS)]
    slower = dict.fromkeys(names[::2], effect) if effect else {}
    schedule = Schedule(names, replace(Thresholds(time.effect), family_level=0.995), math.inf, BUDGET, random)
    while plan := schedule.next():
        visits = visits_of(plan, time, slower, random)
        schedule.add(PairTimes(start, visits, further_start_seconds=further))
        start = further
    counts = Counter[str]()
    for name, decision in schedule.decisions().items():
        verdict = decision.judgement.verdict
        counts["decided"] += verdict != "undecided"
        counts["found"] += verdict == "slower" and name in slower
        counts["wrong"] += verdict in ({"same", "faster"} if name in slower else {"slower", "faster"})
    counts["runs with a wrong one"] = int(counts["wrong"] > 0)
    return counts


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    runs = parser.parse_args().runs
    print("| time, between processes | start | slower by | decided of 20 | found of 10 | wrong runs |")
    print("|---|---|---|---|---|---|")
    with ProcessPoolExecutor() as pool:
        for time, start, effect in product(TIMES, STARTS, EFFECTS):
            counts = sum(pool.map(run, [(time, start, effect, seed) for seed in range(runs)]), Counter[str]())
            found = f"{counts['found'] / runs:.1f}" if effect else ""
            cells = (
                f"{time.name}, {time.between:.1%}",
                " and ".join(f"{seconds:.0f} s" for seconds in start),
                f"{effect:.1%}",
                f"{counts['decided'] / runs:.1f}",
            )
            print("|", " | ".join((*cells, found, str(counts["runs with a wrong one"]))), "|", flush=True)


if __name__ == "__main__":
    main()
