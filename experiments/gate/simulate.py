"""False positives and power of interleaved `pytest --benchmark-compare`, on simulated pairs of processes.

    python experiments/gate/simulate.py [--runs 2000] [--power 300] [--keep FILE.jsonl] [--out FILE.json]

The schedule and the decision rule are the real ones; the machine is that of experiments/ab/simulate.py. No
benchmark runs the same code on both sides. Twenty benchmarks have 300 seconds together. They enter the
schedule in the order of today's time divided by the time in the record, which was measured in another minute
and in other processes. A slowdown is in one benchmark, with one mode or with two.

Finished runs are kept in FILE.jsonl, one per line, and not repeated.
"""

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

from gnnbench.engine.judge.schedule import PairPlan, Schedule

sys.path.insert(0, str(Path(__file__).parents[2]))
from experiments.ab import simulate as ab

BUDGET, FIRST_PASS = 300.0, 0.5
EFFECTS = (0.05, 0.1)
ALARMS = ("slower", "faster")


def one_run(key: ab.Key) -> dict[str, Any]:
    """Simulate a run, and return its result."""
    kind, effect, seed = key
    random = np.random.default_rng([seed, 4])
    slowed = ab.PLANTED.get(kind)
    machine = ab.Machine(random, {slowed: effect} if slowed else {})
    schedule = Schedule(first_pass(machine), ab.THRESHOLDS, math.inf, BUDGET, random=random)
    while plan := schedule.next():
        schedule.add(machine.pair(plan))
    decisions = schedule.decisions()
    found = {name: one.judgement.verdict for name, one in decisions.items()}
    verdict = found.pop(slowed, None)
    return {
        "kind": kind,
        "effect": effect,
        "seed": seed,
        "verdict": verdict,
        "alarm": any(one in ALARMS for one in found.values()),
        "same": float(np.mean([one == "same" for one in found.values()])),
        "timed": sum(one.counts.pairs > 0 for one in decisions.values()),
        "seconds": schedule.spent_seconds,
    }


def first_pass(machine: ab.Machine) -> list[str]:
    """Return the benchmarks by the ratio of today's time to the record's, the largest first."""
    plan = PairPlan(dict.fromkeys(ab.NAMES, FIRST_PASS))
    record, today = machine.pair(plan).visits, machine.pair(plan).visits
    ratios = {
        name: np.quantile(today[name].head_ns, 0.1) / np.quantile(record[name].base_ns, 0.1)
        for name in ab.NAMES
    }
    return sorted(ab.NAMES, key=lambda name: -ratios[name])


def simulate(runs: int, power: int, seed: int, keep: Path | None = None) -> dict[str, Any]:
    """Simulate `runs` A/A runs, and `power` runs with each slowdown, except for finished ones."""
    first = seed * 1_000_000
    slowed = [(kind, effect) for effect in EFFECTS for kind in ab.PLANTED]
    wanted = [("identical", 0.0, first + run) for run in range(runs)]
    wanted += [(*group, first + run) for group in slowed for run in range(power)]
    found = ab.kept(one_run, wanted, keep)

    def of(kind: str, effect: float) -> dict[str, Any]:
        return _summary([one for one in found if (one["kind"], one["effect"]) == (kind, effect)])

    return {
        "identical": of("identical", 0.0),
        **{f"{kind}-mode benchmark {100 * effect:.0f} % slower": of(kind, effect) for kind, effect in slowed},
    }


def _summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return rates over all runs; `alarms` are runs with a false positive, `same` and `timed` are means."""
    verdicts = [run["verdict"] for run in runs]
    return {
        "runs": len(runs),
        "found": verdicts.count("slower"),
        "alarms": sum(run["alarm"] for run in runs),
        "same": float(np.mean([run["same"] for run in runs])),
        "timed": float(np.mean([run["timed"] for run in runs])),
        "seconds": float(np.median([run["seconds"] for run in runs])),
    }


if __name__ == "__main__":
    ab.command_line(simulate, __doc__)
