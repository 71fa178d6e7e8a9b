"""False positives and coverage of `gnnbench compare --by`, on simulated processes.

    python experiments/along/intervals.py [--runs 2000] [--seed 1]

A run has twenty benchmarks on two platforms, and all ratios are 1. A process measures each benchmark with a
known error of 0.5 % to 2 %, and an unknown deviation of 1 % or 3 %. All benchmarks of a platform in a process
share none, half or all of the deviation's variance, so that the errors of different ratios are correlated.
"""

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gnnbench.engine.drive import along
from gnnbench.engine.drive.along import Along, Axis
from gnnbench.engine.judge.verdict import Judgement, Thresholds
from gnnbench.engine.store.parts import RunPart
from gnnbench.engine.store.run_file import Benchmark, ProcessTiming, RunFile

BENCHMARKS = 20
PROCESSES = (1, 2, 3, 5, 10)
DEVIATIONS = (0.01, 0.03)
COMMON = (0.0, 0.5, 1.0)
THRESHOLDS = Thresholds(effect=0.03)


@dataclass(frozen=True)
class Found:
    """The results of all runs with one setting."""

    alarms: int
    """Number of runs in which any row is slower or faster."""
    covered_rows: float
    """Share of the runs in which the simultaneous intervals of all rows contain 1."""
    covered_row: float
    """Share of the rows whose per-benchmark interval contains 1."""
    covered_mean: float
    """Share of the runs in which the interval of the geometric mean contains 1. NaN if it has none."""
    row_width: float
    """Median over runs of the half-width of a row's simultaneous interval."""
    mean_width: float


def simulate(runs: int, seed: int, processes: int, deviation: float, common: float) -> Found:
    """Compare simulated runs of `processes` processes."""
    random = np.random.default_rng([seed, processes, round(1e3 * deviation), round(10 * common)])
    found = [_run(random, processes, deviation, common) for _ in range(runs)]
    rows = [[row.judgement for row in one.rows] for one in found]
    means = [one.means[0].judgement for one in found]
    return Found(
        sum(any(row.verdict in ("slower", "faster") for row in one) for one in rows),
        float(np.mean([all(row.low <= 1 <= row.high for row in one) for one in rows])),
        float(np.mean([_holds(row) for one in rows for row in one])),
        math.nan if means[0].own_low is None else float(np.mean(list(map(_holds, means)))),
        float(np.median([math.log(one[0].high / one[0].low) / 2 for one in rows])),
        math.nan
        if means[0].own_low is None
        else float(np.median([math.log(mean.own_high / mean.own_low) / 2 for mean in means])),
    )


def _holds(found: Judgement) -> bool:
    return bool(found.own_low <= 1 <= found.own_high)


def _run(random: np.random.Generator, processes: int, deviation: float, common: float) -> Along:
    errors = np.exp(random.uniform(math.log(0.005), math.log(0.02), (BENCHMARKS, 2)))
    files = []
    for number in range(processes):
        shared = random.normal(0, deviation * math.sqrt(common), 2)
        own = random.normal(0, deviation * math.sqrt(1 - common), (BENCHMARKS, 2))
        logs = 14 + shared + own + random.normal(0, errors)
        benchmarks = {}
        for place in range(BENCHMARKS):
            for side, platform in enumerate(("pyg", "dgl")):
                timing = ProcessTiming(float(logs[place, side]), float(errors[place, side]), 100)
                params = {"operation": str(place), "platform": platform}
                name = f"test_a.py::test_a[{place}-{platform}]"
                benchmarks[name] = Benchmark(name, (timing,), "simulated", params=params)
        files.append(RunFile(Path(f"{number}.json"), benchmarks, None, {}, None, RunPart(1)))
    return along.compare(files, Axis("platform"), THRESHOLDS)


def main() -> None:
    """Print a row for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    covered = "rows 99 % | row 95 % | mean 95 %"
    print(f"| processes | deviation | common | false positives | {covered} | ± row | ± mean |")
    print("|---|---|---|---|---|---|---|---|---|")
    for processes in PROCESSES:
        for deviation in DEVIATIONS:
            for common in COMMON:
                found = simulate(options.runs, options.seed, processes, deviation, common)
                covered = (found.covered_rows, found.covered_row, found.covered_mean)
                texts = [f"{share:.1%}" for share in (*covered, found.row_width, found.mean_width)]
                head = f"{processes} | {deviation:.0%} | {common:.0%} | {found.alarms} of {options.runs}"
                print(f"| {head} | {' | '.join(texts)} |", flush=True)


if __name__ == "__main__":
    main()
