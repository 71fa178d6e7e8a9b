"""How often the rule is wrong, and what it finds, on a machine whose truth is known.

    python experiments/verdict/simulate.py [--runs 2000] [--seed 1] [--out FILE.json]

A run is twenty benchmarks, timed for a second each, one after another, in fresh processes. Per round:
lognormal noise of 10 % that depends on the round before (AR(1), 0.5), 2 % spikes of 3x, a drift of 20 % up
and down in a minute, of a phase that is random for each process and the same for all its benchmarks. A
quarter of the benchmarks have two kinds of layouts, 2x apart, half of each. Processes differ by 1 % or 3 %.

Slowdowns are planted by multiplying one benchmark's times, which leaves everything else as it was.
"""

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import signal, stats

sys.path.insert(0, str(Path(__file__).parent))

import rules

from gnnbench import drift, location
from gnnbench.verdict import Side, Thresholds, judge

Array = NDArray[np.float64]

BENCHMARKS, PROCESSES = 20, 10
TWO_MODES = 5
BLOCKS, ROUNDS = 240, 3
"""What a second is enough for with a call of a millisecond, one untimed call a block, and copying."""
SECONDS = 1.0
SIGMA, AUTOCORRELATION, SPIKES, SPIKE = 0.1, 0.5, 0.02, 3.0
DRIFT, PERIOD = 0.2, 60.0
EFFECTS = (0.02, 0.03, 0.05, 0.08, 0.12, 0.3)
PROCESS_SDS = (0.01, 0.03)
HEADS = (1, 3, 5)
THRESHOLDS = Thresholds(effect=0.03)


def streams(random: np.random.Generator) -> Array:
    """Return the rounds of a run's processes [processes, benchmarks, blocks, rounds]; the truth is 1."""
    shape = (PROCESSES, BENCHMARKS, BLOCKS * ROUNDS)
    scale = SIGMA * np.sqrt(1 - AUTOCORRELATION**2)
    innovations = random.normal(0, scale, shape)
    innovations[..., 0] = random.normal(0, SIGMA, shape[:2])
    logs = signal.lfilter([1], [1, -AUTOCORRELATION], innovations)
    times = np.exp(logs) * np.where(random.random(shape) < SPIKES, SPIKE, 1.0)
    moments = np.arange(BENCHMARKS)[:, None] * SECONDS + np.linspace(0, SECONDS, BLOCKS * ROUNDS)
    phases = random.uniform(0, 2 * np.pi, PROCESSES)
    times *= 1 + DRIFT * np.sin(2 * np.pi * moments / PERIOD + phases[:, None, None])
    blocks = times.reshape(PROCESSES, BENCHMARKS, BLOCKS, ROUNDS)
    slow = random.random((PROCESSES, TWO_MODES, BLOCKS)) < 0.5  # noqa: PLR2004 - half of the layouts
    blocks[:, :TWO_MODES] *= np.where(slow, 2.0, 1.0)[..., None]
    return blocks


@dataclass(frozen=True)
class Outcome:
    """What one side against the other gave in one run, for each benchmark."""

    log_ratio: Array
    wide: Array
    """Half-width of the interval for all benchmarks at once."""
    own: Array
    """Half-width of the benchmark's own interval."""
    alarm: bool
    """Whether any benchmark, or the run as a whole, is called slower or faster."""


def measured(blocks: Array) -> tuple[Array, Array]:
    """Return log location and standard error of each process and benchmark."""
    logs, errors = np.empty(blocks.shape[:2]), np.empty(blocks.shape[:2])
    z = stats.norm.isf((1 - location.LEVEL) / 2)
    for index in np.ndindex(*logs.shape):
        found = location.estimate(np.median(blocks[index], axis=1))
        logs[index] = np.log(found.location)
        bounds = [bound for bound in (found.low, found.high) if bound is not None]
        errors[index] = max(abs(np.log(bound) - logs[index]) for bound in bounds) / z
    return logs, errors


def outcome(base: tuple[Array, Array], head: tuple[Array, Array]) -> Outcome:
    """Judge two sides."""
    judged = judge(Side(*base), Side(*head), THRESHOLDS)
    found = judged.benchmarks
    verdicts = {one.verdict for one in (*found, *((judged.shared,) if judged.shared else ()))}
    ratios = np.log([one.ratio for one in found])
    return Outcome(
        ratios,
        np.log([one.high for one in found]) - ratios,
        np.log([one.own_high for one in found]) - ratios,
        bool(verdicts & {"slower", "faster"}),
    )


def confirmed(base: tuple[Array, Array], head: tuple[Array, Array], effect: float, column: int) -> bool:
    """Tell whether the gate fails a benchmark that is slower by an effect, with three more processes."""
    logs = head[0].copy()
    logs[:, column] += np.log1p(effect)
    first = judge(Side(*base), Side(logs[:1], head[1][:1]), THRESHOLDS)
    suspects = np.array([one.looks_slower(THRESHOLDS) for one in first.benchmarks])
    if not suspects[column]:
        return False
    again = drift.neighbours(suspects) if first.shared else suspects
    logs[1:, ~again] = np.nan
    return judge(Side(*base), Side(logs, head[1]), THRESHOLDS).benchmarks[column].verdict == "slower"


def one_run(seed: int) -> dict[str, Any]:
    """Simulate a run and judge it in every way."""
    random = np.random.default_rng(seed)
    blocks = streams(random)
    logs, errors = measured(blocks)
    factors = random.normal(0, 1, logs.shape)
    found: dict[str, Any] = {"rules": rules.judge_all(blocks.reshape(PROCESSES, BENCHMARKS, -1))}
    for deviation in PROCESS_SDS:
        varied = logs + deviation * factors
        for heads in HEADS:
            sides = (varied[:5], errors[:5]), (varied[5 : 5 + heads], errors[5 : 5 + heads])
            found[f"{deviation} 5v{heads}"] = outcome(*sides)
        sides = (varied[:5], errors[:5]), (varied[5:9], errors[5:9])
        columns = range(BENCHMARKS)
        found[f"{deviation} gate"] = {
            0.0: [confirmed(*sides, 0.0, column) for column in columns],
            **{
                effect: [confirmed(*sides, effect, column) for column in (0, BENCHMARKS - 1)]
                for effect in EFFECTS
            },
        }
    found["error"] = errors
    return found


def summarize(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Count over runs."""
    result: dict[str, Any] = {"runs": len(found)}
    for deviation in PROCESS_SDS:
        for heads in HEADS:
            key = f"{deviation} 5v{heads}"
            ratio = np.array([run[key].log_ratio for run in found])
            wide = np.array([run[key].wide for run in found])
            own = np.array([run[key].own for run in found])
            least = np.log1p(THRESHOLDS.effect)
            alarms = np.array([run[key].alarm for run in found])
            result[key] = {
                "alarms": int(alarms.sum()),
                "covered_family": float((np.abs(ratio) <= wide).all(axis=1).mean()),
                "covered_own": float((np.abs(ratio) <= own).mean()),
                "half_width": float(np.expm1(np.median(wide))),
                "found": {
                    str(effect): {
                        name: float((ratio + np.log1p(effect) > np.maximum(wide, least))[:, columns].mean())
                        for name, columns in _COLUMNS.items()
                    }
                    for effect in EFFECTS
                },
            }
        gate = [run[f"{deviation} gate"] for run in found]
        result[f"{deviation} gate"] = {
            "alarms": int(sum(any(run[0.0]) for run in gate)),
            "found": {str(effect): float(np.mean([run[effect] for run in gate])) for effect in EFFECTS},
        }
    result["rules"] = {
        name: {
            kind: float(np.mean([run["rules"][name][kind] for run in found]))
            for kind in ("alarm", "any", "found")
        }
        for name in found[0]["rules"]
    }
    errors = np.array([run["error"] for run in found])
    result["error"] = {name: float(np.median(errors[..., columns])) for name, columns in _COLUMNS.items()}
    return result


_COLUMNS = {"two modes": slice(None, TWO_MODES), "one mode": slice(TWO_MODES, None)}


def simulate(runs: int, seed: int) -> dict[str, Any]:
    """Simulate runs of fixed seeds, on all cores."""
    with ProcessPoolExecutor() as pool:
        found = list(pool.map(one_run, range(seed * 1_000_000, seed * 1_000_000 + runs), chunksize=10))
    return summarize(found)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    text = json.dumps(simulate(options.runs, options.seed), indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
