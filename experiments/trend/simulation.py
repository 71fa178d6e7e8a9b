"""False positives, power and speed of `gnnbench trend` on simulated histories.

    python experiments/trend/simulation.py alarms          histories without change, by length and noise
    python experiments/trend/simulation.py found           injected steps, drifts and changes of spread
    python experiments/trend/simulation.py transformations other treatments of outliers, each with its penalty
    python experiments/trend/simulation.py speed           1,000 runs of 200 benchmarks: seconds and memory

Each prints a table for docs/experiments/trend.md. Penalties are saved in the cache folder, as in the command.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import signal, special, stats

from gnnbench.compare.trend import changes, findings, noise, penalty
from gnnbench.compare.trend.findings import SeriesChange
from gnnbench.compare.trend.result import SERIES_LEVEL
from gnnbench.files import cache_folder

sys.path.insert(0, str(Path(__file__).parents[2]))
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


def history(
    seed: Sequence[int],
    runs: int,
    *,
    sd: float = 0.0125,
    dependence: float = 0.2,
    odd: float = 0.02,
    level: Array | float = 0.0,
    spread: Array | float = 1.0,
    tails: int | None = None,
) -> Array:
    """Return log times: autoregressive noise about a level, a share of the runs odd, 1.3x slower [runs]."""
    random = np.random.default_rng(seed)
    drawn = random.normal(size=runs + 50) if tails is None else random.standard_t(tails, runs + 50)
    part = signal.lfilter([1.0], [1.0, -dependence], drawn)[50:] * math.sqrt(1 - dependence**2)
    return np.asarray(
        math.log(1e6) + level + sd * spread * part + math.log(1.3) * (random.random(runs) < odd)
    )


def step(runs: int, at: int, size: float = 0.04) -> Array:
    """Return a level that is higher from a run on [runs]."""
    return math.log1p(size) * (np.arange(runs) >= at)


def drift(runs: int, first: int, length: int = 100, size: float = 0.06) -> Array:
    """Return a level that rises slowly after a run [runs]."""
    return math.log1p(size) * np.clip((np.arange(runs) - first) / length, 0, 1)


def _rate(count: int, of: int) -> str:
    found = stats.binomtest(count, of).proportion_ci()
    return f"{count} of {of} ({found.low:.2%} to {found.high:.2%})"


def _penalties(lengths: Iterable[int]) -> penalty.Penalties:
    kept = penalty.Penalties(cache_folder())
    kept.prepare(list(lengths), lambda done, of: print(f"calibrating {done + 1} of {of}", file=sys.stderr))
    return kept


def alarms(histories: int) -> None:
    """Count the histories without change in which something is found."""
    kept = _penalties(LENGTHS)
    print(f"| noise | runs | level | alarms | of them {EFFECT:.0%} or more |\n|---|---|---|---|---|")
    for name, settings in NOISES.items():
        for runs in LENGTHS:
            count = max(histories * 100 // max(runs, 100), 10)
            for level in (SERIES_LEVEL, SERIES_LEVEL / 20):
                found = [
                    findings.examine(history((1, seed), runs, **settings), kept.get(runs), level, EFFECT)
                    for seed in range(count)
                ]
                any_found = sum(map(bool, found))
                matter = sum(any(one.matters(EFFECT) for one in each) for each in found)
                print(f"| {name} | {runs} | {level:g} | {_rate(any_found, count)} | {matter} |", flush=True)


def found(histories: int) -> None:
    """Count the planted changes that are found, and where."""
    cases: list[tuple[str, int, int, Callable[[int, int], dict[str, Any]], float]] = []
    for sd in (0.01, 0.0125, 0.015, 0.02):
        for runs, at in ((30, 15), (100, 60), (300, 200), (1000, 900), (100, 92)):
            cases.append(("step", runs, at, lambda runs, at: {"level": step(runs, at)}, sd))
        for runs, at in ((200, 50), (300, 120), (1000, 700)):
            cases.append(("drift", runs, at, lambda runs, at: {"level": drift(runs, at)}, sd))
    for factor in (2, 3, 4, 6):
        for runs, at in ((60, 30), (100, 60), (300, 200), (1000, 900)):
            cases.append(
                (
                    f"spread x{factor}",
                    runs,
                    at,
                    lambda runs, at, factor=factor: {"spread": np.where(np.arange(runs) >= at, factor, 1.0)},
                    0.01,
                )
            )
    kept = _penalties({case[1] for case in cases})
    print(f"| planted | noise | runs | at | found | +-2 runs | in its range | other kinds |\n{'|---' * 8}|")
    for kind, runs, at, make, sd in cases:
        count = histories if runs < max(LENGTHS) else max(histories // 5, 10)
        seen: Counter[str] = Counter()
        for seed in range(count):
            logs = history((2, seed), runs, sd=sd, **make(runs, at))
            result = findings.examine(logs, kept.get(runs), SERIES_LEVEL, EFFECT)
            seen.update(_seen([one for one in result if one.matters(EFFECT)], kind.split()[0], at))
        cells = (f"{seen[name] / count:.0%}" for name in ("found", "near", "covered", "other"))
        print(f"| {kind} | {sd:.2%} | {runs} | {at} | {' | '.join(cells)} |", flush=True)


def _seen(result: list[SeriesChange], kind: str, at: int) -> set[str]:
    mine = [one for one in result if one.kind == kind]
    seen = {"other"} if len(mine) < len(result) else set()
    if not mine:
        return seen
    seen.add("found")
    if kind == "drift":
        first, last = mine[0].first, mine[0].at
        near = abs((first + last) / 2 - (at + 50)) <= 10  # noqa: PLR2004 - what docs/experiments/trend.md says of a drift
        covered = mine[0].low <= 1.06 <= mine[0].high  # noqa: PLR2004 - planted
    else:
        near = any(abs(one.at - at) <= 2 for one in mine)  # noqa: PLR2004 - the promise
        covered = any(one.first <= at <= one.last for one in mine)
    return seen | ({"near"} if near else set()) | ({"covered"} if covered else set())


def transformations(histories: int) -> None:
    """Compare what may be done about outliers before ruptures sees a series, each with its own penalty."""
    kinds: dict[str, Callable[[Array], tuple[Array, str]]] = {
        "none": lambda logs: (logs / noise.estimate(logs).unit, "linear"),
        "pulled in (used)": lambda logs: (
            (values := noise.winsorized(logs, [slice(None)])) / noise.estimate(values).unit,
            "linear",
        ),
        "normal scores": lambda logs: (
            np.asarray(special.ndtri((stats.rankdata(logs) - 0.5) / len(logs))),
            "linear",
        ),
        "rbf": lambda logs: (logs / noise.estimate(noise.winsorized(logs, [slice(None)])).unit, "rbf"),
    }
    runs, at = 100, 60
    print(
        "| series | alarms, 2% odd runs | dependent 0.5 | 4% step found +-2, noise 1% | 1.25% |\n"
        f"{'|---' * 5}|"
    )
    for name, treat in kinds.items():
        null = []
        for seed in range(histories):
            values, kernel = treat(history((3, seed), runs, odd=0.0, dependence=(seed % 6) / 10, tails=4))
            null.append(_strength(values, kernel))
        limit = float(np.quantile(null, 0.99))
        cells = []
        for settings in ({}, {"dependence": 0.5}):
            count = sum(
                _strength(*treat(history((4, seed), runs, **settings))) > limit for seed in range(histories)
            )
            cells.append(f"{count / histories:.1%}")
        for sd in (0.01, 0.0125):
            good = 0
            for seed in range(histories):
                values, kernel = treat(history((5, seed), runs, sd=sd, level=step(runs, at)))
                if _strength(values, kernel) > limit:
                    good += abs(_model(values, kernel).predict(n_bkps=1)[0] - at) <= 2  # noqa: PLR2004
            cells.append(f"{good / histories:.0%}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def _model(values: Array, kernel: str) -> Any:
    from ruptures import KernelCPD

    params = {"gamma": 0.5} if kernel == "rbf" else None
    centred = (values - np.median(values))[:, None]
    return KernelCPD(kernel=kernel, min_size=penalty.LEVEL_SHORTEST, params=params).fit(centred)


def _strength(values: Array, kernel: str) -> float:
    """Return the least penalty with which no single change is found."""
    if kernel == "linear":
        return changes.strongest(values, 1, penalty.LEVEL_SHORTEST)
    model = _model(values, kernel)
    edges = [0, *model.predict(n_bkps=1)]
    whole = model.cost.error(0, len(values))
    return float(whole - sum(model.cost.error(start, end) for start, end in pairwise(edges)))


def speed(runs: int, benchmarks: int) -> None:
    """Time the command on a folder of run files: with no index, with its index, with one run more."""
    with tempfile.TemporaryDirectory(prefix="gnnbench-trend-") as folder:
        place = Path(folder, "runs")
        place.mkdir()
        write_history(place, runs, benchmarks)
        size = sum(file.stat().st_size for file in place.iterdir())
        print(f"{runs} runs of {benchmarks} benchmarks, {size / 2**20:.0f} MiB")
        environment = {**os.environ, "GNNBENCH_CACHE": str(Path(folder, "cache"))}
        page = ["--json", str(Path(folder, "trend.json")), "-o", str(Path(folder, "trend.html"))]
        for name, options in (
            ("no index, no penalties", []),
            ("index built", []),
            ("index built, with a page and JSON", page),
            ("one run more", []),
        ):
            if name == "one run more":
                write_history(place, runs + 1, benchmarks, first=runs)
            begin = time.perf_counter()
            command = [sys.executable, "-m", "gnnbench.cli.main", "trend", str(place), *options]
            call = [sys.executable, "-c", _CALL, *command[3:]]
            done = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
            seconds = time.perf_counter() - begin
            peak = done.stdout.splitlines()[-1]
            print(f"{name}: {seconds:.1f} s, {peak}, exit {done.returncode}", flush=True)


_CALL = """
import resource, sys
from gnnbench.cli.main import main
status = main(sys.argv[1:])
print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f} MiB")
sys.exit(status)
"""


def write_history(folder: Path, runs: int, benchmarks: int, first: int = 0) -> None:
    """Write run files of twenty blocks: one benchmark in twenty has a step of 4%, one a drift of 6%."""
    levels = []
    for number in range(benchmarks):
        level: Array | float = 0.0
        if number % 20 == 7:  # noqa: PLR2004
            level = step(runs, runs * (number + 1) // (benchmarks + 1))
        elif number % 20 == 13:  # noqa: PLR2004
            level = drift(runs, runs // 3)
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
            "gnnbench": {"version": 2, "environment": {**ENVIRONMENT, "commit": commit}, "incomplete": []},
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
        "others_share": 0.01,
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
        "extra_info": {"gnnbench": {"version": 2, "measurement": measurement}},
        "stats": {"median": location / 1e9},
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["alarms", "found", "transformations", "speed"])
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--benchmarks", type=int, default=200)
    chosen = parser.parse_args()
    if chosen.what == "speed":
        speed(chosen.runs, chosen.benchmarks)
    else:
        {"alarms": alarms, "found": found, "transformations": transformations}[chosen.what](chosen.histories)
