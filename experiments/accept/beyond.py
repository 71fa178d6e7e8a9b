"""What is found on top of an accepted slowdown, on simulated pairs of processes.

    python experiments/accept/beyond.py [--runs 100]

The machine is that of experiments/ab/simulate.py, with twenty benchmarks of 60 seconds each; schedule and
rule are the real ones. One benchmark is 20 % slower, and that is accepted as it was measured. Then it is
compared again, as slow as that or slower still. `early`: it is not timed any more as soon as it is slower
than the base, as if nothing was accepted. `on`: it is timed until it is known whether it is beyond what is
accepted.
"""

import argparse
import sys
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np

from gnnbench.engine.judge.accepted import Entry
from gnnbench.engine.judge.allowed import Allowed
from gnnbench.engine.judge.schedule import Decision, Schedule

sys.path.insert(0, str(Path(__file__).parents[2]))
from experiments.ab import simulate as ab

ACCEPTED = 0.2
BEYOND = (0.0, 0.03, 0.06, 0.08, 0.1, 0.15)


def compared(random: np.random.Generator, name: str, slowdown: float, entry: Entry | None) -> Decision:
    """Compare with a base, and return the decision on a benchmark."""
    limits = {name: Allowed.of([entry])} if entry else None
    schedule = Schedule(ab.NAMES, ab.THRESHOLDS, ab.BUDGET, random=random, allowed=limits)
    machine = ab.Machine(random, {name: slowdown})
    while plan := schedule.next():
        schedule.add(machine.pair(plan))
    return schedule.decisions()[name]


def one_run(seed: int, name: str, more: float, *, early: bool) -> tuple[str, float, float]:
    """Return the verdict, the measuring time in seconds, and the half-width of what is accepted."""
    random = np.random.default_rng([seed, 9])
    found = compared(random, name, ACCEPTED, None).judgement
    assert found.ratio
    assert found.low
    assert found.high
    numbers = found.ratio, found.low, found.high
    entry = Entry(name, *numbers, "a" * 40, "b" * 40, "Ada", date(2026, 1, 1), "it is intended")
    slowdown = (1 + ACCEPTED) * (1 + more) - 1
    decision = compared(random, name, slowdown, None if early else entry)
    verdict = decision.judgement.verdict
    if verdict == "slower" and not Allowed.of([entry]).is_exceeded(decision.judgement, ab.THRESHOLDS):
        verdict = "accepted"
    return verdict, decision.counts.seconds, entry.half_width


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    runs = parser.parse_args().runs
    print("| benchmark | beyond | early: slower | on: slower | early: time | on: time | accepted ± |")
    print("|---|---|---|---|---|---|---|")
    for kind, name in ab.PLANTED.items():
        for more in BEYOND:
            cells, widths = [], []
            for early in (True, False):
                simulated = partial(one_run, name=name, more=more, early=early)
                found = [simulated(seed) for seed in range(runs)]
                slower = sum(verdict == "slower" for verdict, _, _ in found)
                cells.append((slower, float(np.median([seconds for _, seconds, _ in found]))))
                widths = [width for _, _, width in found]
            (early_slower, early_seconds), (slower, seconds) = cells
            print(
                f"| {kind} mode{'s' * (kind == 'two')} | {more:.0%} | {early_slower} of {runs} | "
                f"{slower} of {runs} | {early_seconds:.0f} s | {seconds:.0f} s | {np.median(widths):.1%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
