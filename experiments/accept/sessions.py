"""Is a benchmark that is as slow as accepted ever called slower across sessions?

    python experiments/accept/sessions.py [--runs 400]

Twenty benchmarks, of which one is slower than the base by the accepted 20 % (± 3 %) or by more. Processes
differ by 1 %; some of them are 1.33x slower, in one benchmark each. The rule is the real one, with its
confirmation.
"""

import argparse
import math
from collections import Counter
from datetime import date

import numpy as np

from gnnbench.engine.judge.accepted import Entry
from gnnbench.engine.judge.allowed import Allowed
from gnnbench.engine.judge.groups import SideTimings, judge
from gnnbench.engine.judge.verdict import Thresholds, confirmed

THRESHOLDS = Thresholds(0.03)
BENCHMARKS, SLOWED = 20, 3
PROCESS_SD, ERROR, OUTLIER = 0.01, 0.004, 1.33
RATIO, WIDTH = 1.2, 0.03
BOUNDS = RATIO * math.exp(-WIDTH), RATIO * math.exp(WIDTH)
ENTRY = Entry("x", RATIO, *BOUNDS, "a" * 40, "b" * 40, "Ada", date(2026, 1, 1), "it is intended")
LIMIT = Allowed.of([ENTRY])


def verdict(random: np.random.Generator, processes: tuple[int, int], outliers: float, ratio: float) -> str:
    """Compare base and head of so many processes."""
    logs = []
    for count in processes:
        shape = count, BENCHMARKS
        slow = random.random(shape) < outliers
        logs.append(random.normal(0, PROCESS_SD, shape) + np.where(slow, math.log(OUTLIER), 0))
    logs[1][:, SLOWED] += math.log(ratio)
    base, head = (SideTimings(side, np.full(side.shape, ERROR)) for side in logs)
    found = confirmed(judge(base, head, THRESHOLDS)[SLOWED], 3)
    within = found.verdict == "slower" and not LIMIT.is_exceeded(found, THRESHOLDS)
    return "accepted" if within else found.verdict


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    runs = parser.parse_args().runs
    print("| outliers | processes | ratio | verdicts |\n|---|---|---|---|")
    for outliers in (0.0, 0.02, 0.05):
        for processes in ((5, 4), (2, 4), (5, 5)):
            for ratio in (1.2, 1.3, 1.4):
                random = np.random.default_rng(1)
                found = Counter(verdict(random, processes, outliers, ratio) for _ in range(runs))
                said = ", ".join(f"{count} {name}" for name, count in sorted(found.items()))
                print(f"| {outliers:.0%} | {processes[0]} vs {processes[1]} | {ratio} | {said} |", flush=True)


if __name__ == "__main__":
    main()
