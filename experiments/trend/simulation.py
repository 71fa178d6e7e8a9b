"""False positives, power and speed of `gnnbench trend` on simulated histories.

    python experiments/trend/simulation.py alarms   histories without steps, by length and noise
    python experiments/trend/simulation.py found    injected steps, and changes of the noise
    python experiments/trend/simulation.py speed    1,000 runs of 200 benchmarks: seconds and memory

Each prints a table for docs/experiments/trend.md.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from gnnbench.compare.trend import steps
from gnnbench.compare.trend.history import Series
from gnnbench.compare.trend.result import SERIES_LEVEL
from gnnbench.compare.trend.steps import Step

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.compare.trend.histories import history, noisier, step
from tests.run_files import ENVIRONMENT

Array = NDArray[np.float64]

EFFECT = 0.03
LENGTHS = (30, 100, 300, 1000)
NOISES: dict[str, dict[str, Any]] = {
    "as in the tests": {},
    "independent": {"dependence": 0.0},
    "dependent, 0.5": {"dependence": 0.5},
    "Student's t, 3 degrees": {"tails": 3},
    "no odd runs": {"odd": 0.0},
    "5% odd runs": {"odd": 0.05},
    "10% odd runs": {"odd": 0.1},
    "35% odd runs": {"odd": 0.35},
}


def find(logs: Array, level: float) -> list[Step]:
    """Return the steps of a series of log times [n]."""
    return steps.of_time(Series("b", np.arange(len(logs)), logs), level)


def _rate(count: int, of: int) -> str:
    found = stats.binomtest(count, of).proportion_ci()
    return f"{count} of {of} ({found.low:.2%} to {found.high:.2%})"


def alarms(histories: int) -> None:
    """Count the histories without steps in which one is found."""
    print(f"| noise | runs | level | false positives | of them {EFFECT:.0%} or more |\n{'|---' * 5}|")
    for name, settings in NOISES.items():
        for runs in LENGTHS:
            count = max(histories * 100 // max(runs, 100), 10)
            for level in (SERIES_LEVEL, SERIES_LEVEL / 20):
                results = [find(history((1, seed), runs, **settings), level) for seed in range(count)]
                matter = sum(any(one.matters(EFFECT) for one in result) for result in results)
                rate = _rate(sum(map(bool, results)), count)
                print(f"| {name} | {runs} | {level:g} | {rate} | {matter} |", flush=True)


def found(histories: int) -> None:
    """Count the injected steps that are found, and steps where only the noise changes."""
    print(f"| noise | runs | at | found | +-2 runs | in its range |\n{'|---' * 6}|")
    for sd in (0.01, 0.0125, 0.015, 0.02):
        for runs, at in ((15, 8), (30, 15), (100, 60), (300, 200), (1000, 900), (100, 92)):
            results = _results(histories, runs, sd=sd, level=step(runs, at))
            cells = (
                np.mean([any(matches(one) for one in result) for result in results])
                for matches in (
                    lambda _: True,
                    lambda one, at=at: abs(one.at - at) <= 2,  # noqa: PLR2004 - as in the heading
                    lambda one, at=at: one.first <= at <= one.last,
                )
            )
            print(f"| {sd:.2%} | {runs} | {at} | {' | '.join(f'{one:.0%}' for one in cells)} |", flush=True)
    print(f"\n| times as noisy | runs | from | with a step |\n{'|---' * 4}|")
    for factor in (2, 4, 6):
        for runs, at in ((60, 30), (100, 60), (300, 200), (1000, 900)):
            results = _results(histories, runs, sd=0.01, spread=noisier(runs, at, factor))
            print(
                f"| {factor} | {runs} | {at} | {_rate(sum(map(bool, results)), len(results))} |", flush=True
            )


def _results(histories: int, runs: int, **settings: Any) -> list[list[Step]]:
    """Return the steps of at least the effect of each history."""
    count = histories if runs < max(LENGTHS) else max(histories // 5, 10)
    results = (find(history((2, seed), runs, **settings), SERIES_LEVEL) for seed in range(count))
    return [[one for one in result if one.matters(EFFECT)] for result in results]


def speed(runs: int, benchmarks: int) -> None:
    """Time the command on a folder of run files: at first, again, and with one run more."""
    with tempfile.TemporaryDirectory(prefix="gnnbench-trend-") as folder:
        place = Path(folder, "runs")
        place.mkdir()
        write_history(place, runs, benchmarks)
        size = sum(file.stat().st_size for file in place.iterdir())
        print(f"{runs} runs of {benchmarks} benchmarks, {size / 2**20:.0f} MiB")
        environment = {**os.environ, "GNNBENCH_CACHE": str(Path(folder, "cache"))}
        page = ["--json", str(Path(folder, "trend.json")), "-o", str(Path(folder, "trend.html"))]
        for name, options in (
            ("first", []),
            ("again", []),
            ("with a page and JSON", page),
            ("one run more", []),
        ):
            if name == "one run more":
                write_history(place, runs + 1, benchmarks, first=runs)
            begin = time.perf_counter()
            call = [sys.executable, "-c", _CALL, "trend", str(place), *options]
            done = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
            seconds = time.perf_counter() - begin
            print(
                f"{name}: {seconds:.1f} s, {done.stdout.splitlines()[-1]}, exit {done.returncode}", flush=True
            )


_CALL = """
import resource, sys
from gnnbench.cli.main import main
status = main(sys.argv[1:])
print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f} MiB")
sys.exit(status)
"""


def write_history(folder: Path, runs: int, benchmarks: int, first: int = 0) -> None:
    """Write run files of twenty blocks: one benchmark in ten has a step of 4%."""
    levels = []
    for number in range(benchmarks):
        at = runs * (number + 1) // (benchmarks + 1)
        level = step(runs, at) if number % 10 == 7 else 0.0  # noqa: PLR2004
        levels.append(history((6, number), runs, level=level))
    start = datetime(2024, 1, 1, tzinfo=UTC)
    for run in range(first, runs):
        random = np.random.default_rng([7, run])
        date = (start + timedelta(hours=6 * run)).isoformat()
        commit = f"{run:040x}"
        content = {
            "machine_info": {"cpu": {}},
            "commit_info": {"id": commit, "time": date, "dirty": False},
            "benchmarks": [_entry(number, levels[number][run], random) for number in range(benchmarks)],
            "datetime": date,
            "version": "5.3.1",
            "gnnbench": {"version": 3, "environment": {**ENVIRONMENT, "commit": commit}, "incomplete": []},
        }
        Path(folder, f"{run:05}.json").write_text(json.dumps(content), encoding="utf-8")


def _entry(number: int, log: float, random: np.random.Generator) -> dict[str, Any]:
    location = math.exp(log)
    blocks = (location * np.exp(np.abs(random.normal(0, 0.02, (20, 3))))).round(1).tolist()
    measurement = {
        "clock": "perf_counter",
        "layouts": "sampled",
        "in_place": None,
        "not_copied": [],
        "iterations": 1,
        "rejected_rounds": 0,
        "changes_inputs": False,
        "contention_share": 0.01,
        "stopped_by": "precision",
        "processes": [{"blocks_ns": blocks, "device_blocks_ns": []}],
        "location": "first decile of block medians",
        "location_ns": location,
        "low_ns": location * 0.99,
        "high_ns": location * 1.01,
        "level": 0.99,
        "modes": [{"median_ns": location * 1.01, "share": 1.0}],
    }
    return {
        "name": f"test_kernel[{number}]",
        "fullname": f"benchmarks/test_kernel.py::test_kernel[{number}]",
        "extra_info": {"gnnbench": {"version": 3, "measurement": measurement}},
        "stats": {"median": location / 1e9},
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["alarms", "found", "speed"])
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--benchmarks", type=int, default=200)
    chosen = parser.parse_args()
    if chosen.what == "speed":
        speed(chosen.runs, chosen.benchmarks)
    else:
        {"alarms": alarms, "found": found}[chosen.what](chosen.histories)
