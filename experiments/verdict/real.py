"""False positives and power of the comparison on runs of unchanged code on a real machine.

    python experiments/verdict/real.py record FOLDER [--runs 25] [--every 150]
    python experiments/verdict/real.py reduce FOLDER [--data experiments/verdict/real.json]
    python experiments/verdict/real.py judge [--data experiments/verdict/real.json]

`record` runs the core benchmarks in fresh processes over more than an hour. `reduce` saves the input of the
comparison: the log of each benchmark's estimate, its standard error, and the CPU contention. For each run,
`judge` draws forty baselines of five from the other runs. It compares the run alone, and confirmed by two
more runs; then it injects slowdowns as large as the minimum detectable effect.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnnbench.engine.ground import codec, cpu
from gnnbench.engine.judge.groups import SideTimings, judge
from gnnbench.engine.judge.verdict import Thresholds, require_confirmation
from gnnbench.engine.store import run_file

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).with_name("real.json")
BASELINES, PROCESSES, CONFIRMING = 40, 5, 2
OFTEN = 0.05
"""Share of its draws in which a run may have a false positive."""
THRESHOLDS = Thresholds(effect=0.03)


def record(folder: Path, runs: int, every: float) -> None:
    """Run the core benchmarks repeatedly; continue an interrupted recording."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, runs + 1):
        file = folder / f"run-{number:02}.json"
        if file.exists():
            continue
        start = time.monotonic()
        print(f"run {number} of {runs}", flush=True)
        pytest = [sys.executable, "-m", "pytest", "-q"]
        command = [*pytest, "benchmarks", "-m", "core", f"--benchmark-json={file}"]
        environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
        subprocess.run(command, check=True, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
        time.sleep(max(0.0, every - (time.monotonic() - start)) if number < runs else 0)


def reduce(folder: Path, out: Path) -> None:
    """Save the input of the comparison."""
    runs = [run_file.read(file) for file in sorted(folder.glob("run-*.json"))]
    names = list(runs[0].benchmarks)
    content = {
        "environment": codec.encode(runs[0].environment),
        "times": [
            json.loads(file.read_text("utf-8"))["datetime"] for file in sorted(folder.glob("run-*.json"))
        ],
        "benchmarks": names,
        "logs": [[round(run.benchmarks[name].processes[0].log, 5) for name in names] for run in runs],
        "errors": [[_known(run.benchmarks[name].processes[0].error) for name in names] for run in runs],
        "others": [
            [round(run.benchmarks[name].processes[0].contention_share, 3) for name in names] for run in runs
        ],
    }
    out.write_text(json.dumps(content) + "\n", encoding="utf-8")


def _known(error: float) -> float | None:
    return round(error, 5) if np.isfinite(error) else None


def read(data: Path) -> tuple[list[str], SideTimings]:
    """Return the names of the benchmarks, and their times in all runs."""
    content = json.loads(data.read_text(encoding="utf-8"))
    errors = np.array(content["errors"], dtype=float)  # None becomes NaN
    contended = np.array(content["others"]) > cpu.CONTENDED
    return content["benchmarks"], SideTimings(np.where(contended, np.nan, content["logs"]), errors)


def _rows(side: SideTimings, rows: NDArray[np.int_] | list[int]) -> SideTimings:
    return SideTimings(side.logs[rows], side.errors[rows])


def _confirmed(base: SideTimings, whole: SideTimings) -> set[int]:
    """Return the benchmarks that are slower after confirmation, which times only those that looked slower."""
    first = judge(base, _rows(whole, [0]), THRESHOLDS)
    suspects = np.array([one.looks_slower(THRESHOLDS) for one in first])
    suspects |= np.isnan(whole.logs[0])  # other programs disturbed them, so they are timed again
    if not suspects.any():
        return set()
    logs = whole.logs.copy()
    logs[1:, ~suspects] = np.nan
    found = judge(base, SideTimings(logs, whole.errors), THRESHOLDS)
    return {
        column
        for column in np.flatnonzero(suspects)
        if require_confirmation(found[column], CONFIRMING).verdict == "slower"
    }


def _draws(runs: int) -> Any:
    """Yield a run, its baseline, and the run with those that confirm it, drawn with a fixed seed."""
    random = np.random.default_rng(0)
    for run in range(runs):
        others = np.array([other for other in range(runs) if other != run])
        for _ in range(BASELINES):
            drawn = random.permutation(others)[: PROCESSES + CONFIRMING]
            yield run, drawn[:PROCESSES], [run, *drawn[PROCESSES:]]


def judge_all(names: list[str], side: SideTimings) -> dict[str, Any]:
    """Count false positives by run, and how many injected slowdowns as large as the MDE are found."""
    runs = len(side.logs)
    alone, after = np.zeros(runs), np.zeros(runs)
    by_name: dict[str, int] = {}
    verdicts: dict[str, int] = {}
    planted = found = planted_gate = found_gate = 0
    visible, visible_gate = [], []
    for number, (run, baseline, several) in enumerate(_draws(runs)):
        base, whole = _rows(side, baseline), _rows(side, several)
        judged = judge(base, _rows(side, [run]), THRESHOLDS)
        wrong = [name for name, one in zip(names, judged, strict=True) if one.verdict in ("slower", "faster")]
        for name in wrong:
            by_name[name] = by_name.get(name, 0) + 1
        for one in judged:
            verdicts[one.verdict] = verdicts.get(one.verdict, 0) + 1
        alone[run] += bool(wrong)
        after[run] += bool(_confirmed(base, whole))
        visible.append([one.minimum_detectable_effect or np.nan for one in judged])
        gated = judge(base, _rows(side, [run]), THRESHOLDS, confirming=CONFIRMING)
        visible_gate.append([one.minimum_detectable_effect or np.nan for one in gated])
        # One benchmark of each draw, in turns, is made as much slower as was said to be seen.
        column = number % len(names)
        if judged[column].verdict == "undecided":
            again = judge(base, _slower(_rows(side, [run]), column, visible[-1][column]), THRESHOLDS)
            planted, found = planted + 1, found + (again[column].verdict == "slower")
            if np.isfinite(whole.logs[:, column]).all():  # the gate has a third, should one be disturbed
                slower = _confirmed(base, _slower(whole, column, visible_gate[-1][column]))
                planted_gate, found_gate = planted_gate + 1, found_gate + (column in slower)
    return {
        "runs": runs,
        "benchmarks": len(names),
        "runs that alarm in over 5 % of draws, alone": int((alone / BASELINES > OFTEN).sum()),
        "the same, confirmed": int((after / BASELINES > OFTEN).sum()),
        "draws that alarm, alone": float(alone.mean() / BASELINES),
        "draws that alarm, confirmed": float(after.mean() / BASELINES),
        "alarms by run, alone": [int(count) for count in alone],
        "alarms by run, confirmed": [int(count) for count in after],
        "alarms by benchmark, alone": dict(sorted(by_name.items(), key=lambda item: -item[1])),
        "verdicts": verdicts,
        "visible alone, median over draws, quartiles over benchmarks": _quartiles(visible),
        "visible to the gate": _quartiles(visible_gate),
        "visible slowdowns planted": planted,
        "of them found alone": found,
        "of those to the gate planted": planted_gate,
        "of them found confirmed": found_gate,
    }


def _slower(side: SideTimings, column: int, effect: float) -> SideTimings:
    logs = side.logs.copy()
    logs[:, column] += np.log1p(effect)
    return SideTimings(logs, side.errors)


def _quartiles(visible: list[list[float]]) -> list[float]:
    typical = np.nanmedian(visible, axis=0)
    return [round(float(value), 4) for value in np.nanquantile(typical, (0.25, 0.5, 0.75))]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("record", "reduce", "judge"))
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--every", type=float, default=150.0, help="seconds between the starts of two runs")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    if options.what != "judge" and not options.folder:
        parser.error("name a folder")
    if options.what == "record":
        record(options.folder, options.runs, options.every)
    elif options.what == "reduce":
        reduce(options.folder, options.data)
    else:
        print(json.dumps(judge_all(*read(options.data)), indent=1))


if __name__ == "__main__":
    main()
