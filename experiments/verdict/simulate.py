"""False positives and power of the comparison on simulated benchmarks.

    python experiments/verdict/simulate.py [--drift 0.05] [--runs 2000] [--seed 1] [--out FILE.json]

A run times twenty benchmarks for a second each, one after another, in fresh processes. Rounds have lognormal
noise of 10 %, autocorrelated (AR(1), 0.5); 2 % of them are spikes of 3x. In a quarter of the benchmarks, half
of the layouts are 2x slower. Processes differ by 1 % or 3 %. With --drift the speed of the machine goes up
and down by this fraction in a minute; each process has a random phase, which its benchmarks share.

A slowdown is injected by multiplying the times of one benchmark.
"""

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import signal

sys.path.insert(0, str(Path(__file__).parent))

import rules

from gnnbench.engine.judge.groups import SideTimings, judge
from gnnbench.engine.judge.verdict import Thresholds, require_confirmation
from gnnbench.engine.measure import estimate

Array = NDArray[np.float64]

BENCHMARKS, PROCESSES = 20, 10
TWO_MODES = 5
BLOCKS, ROUNDS = 240, 3
"""Number of blocks in a second, with a call of 1 ms, an untimed call in each block, and copies."""
SECONDS = 1.0
SIGMA, AUTOCORRELATION, SPIKES, SPIKE = 0.1, 0.5, 0.02, 3.0
PERIOD = 60.0
EFFECTS = (0.02, 0.03, 0.05, 0.08, 0.12, 0.3)
PROCESS_SDS = (0.01, 0.03)
HEADS = (1, 3, 5)
CONFIRMING = 3
THRESHOLDS = Thresholds(effect=0.03)
PLANTED = [2, 14]
"""Benchmarks that are slowed down: one with two modes, one with one."""

Processes = tuple[Array, Array]
"""Log location and standard error of each process and benchmark."""


def streams(random: np.random.Generator, drift: float) -> Array:
    """Return the times of rounds [processes, benchmarks, blocks, rounds]; the true time is 1."""
    shape = (PROCESSES, BENCHMARKS, BLOCKS * ROUNDS)
    scale = SIGMA * np.sqrt(1 - AUTOCORRELATION**2)
    innovations = random.normal(0, scale, shape)
    innovations[..., 0] = random.normal(0, SIGMA, shape[:2])
    logs = signal.lfilter([1], [1, -AUTOCORRELATION], innovations)
    times = np.exp(logs) * np.where(random.random(shape) < SPIKES, SPIKE, 1.0)
    moments = np.arange(BENCHMARKS)[:, None] * SECONDS + np.linspace(0, SECONDS, BLOCKS * ROUNDS)
    phases = random.uniform(0, 2 * np.pi, PROCESSES)
    times *= 1 + drift * np.sin(2 * np.pi * moments / PERIOD + phases[:, None, None])
    blocks = times.reshape(PROCESSES, BENCHMARKS, BLOCKS, ROUNDS)
    slow = random.random((PROCESSES, TWO_MODES, BLOCKS)) < 0.5  # noqa: PLR2004 - half of the layouts
    blocks[:, :TWO_MODES] *= np.where(slow, 2.0, 1.0)[..., None]
    return blocks


@dataclass(frozen=True)
class Outcome:
    """The result of comparing two sides in one run."""

    covered_family: bool
    """Whether all simultaneous intervals contain the true ratio."""
    covered_own: float
    """Share of the benchmarks whose per-benchmark interval contains it."""
    half_width: float
    """Half-width of the simultaneous interval, median over benchmarks."""
    alarm: bool
    """Whether any benchmark is slower or faster, which is a false positive."""
    found: dict[float, tuple[bool, ...]]
    """By effect, whether the slowdown is found in each of the slower benchmarks."""


def measured(blocks: Array) -> Processes:
    """Return log location and standard error of each process and benchmark."""
    logs, errors = np.empty(blocks.shape[:2]), np.empty(blocks.shape[:2])
    for index in np.ndindex(*logs.shape):
        values = np.median(blocks[index], axis=1)
        logs[index] = np.log(estimate.estimate(values).location)
        errors[index] = estimate.standard_error(values)
    return logs, errors


def slowed(side: Processes, effect: float) -> SideTimings:
    """Return a side with slower benchmarks."""
    logs = side[0].copy()
    logs[:, PLANTED] += np.log1p(effect)
    return SideTimings(logs, side[1])


def outcome(base: Processes, head: Processes) -> Outcome:
    """Judge two sides without and with slowdowns."""
    judged = judge(SideTimings(*base), SideTimings(*head), THRESHOLDS)
    verdicts = {one.verdict for one in judged}
    covered = [(one.low <= 1 <= one.high, one.own_low <= 1 <= one.own_high) for one in judged]
    found = {effect: judge(SideTimings(*base), slowed(head, effect), THRESHOLDS) for effect in EFFECTS}
    return Outcome(
        all(family for family, _ in covered),
        float(np.mean([own for _, own in covered])),
        float(np.median([one.high / one.ratio - 1 for one in judged])),
        bool(verdicts & {"slower", "faster"}),
        {
            effect: tuple(all_[column].verdict == "slower" for column in PLANTED)
            for effect, all_ in found.items()
        },
    )


def gate(base: Processes, head: Processes, effect: float) -> set[int]:
    """Return what `--benchmark-compare` fails: one process is judged, three more confirm."""
    side = slowed(head, effect)
    first = judge(SideTimings(*base), SideTimings(side.logs[:1], side.errors[:1]), THRESHOLDS)
    suspects = np.array([one.looks_slower(THRESHOLDS) for one in first])
    if not suspects.any():
        return set()
    side.logs[1:, ~suspects] = np.nan
    found = [require_confirmation(one, CONFIRMING) for one in judge(SideTimings(*base), side, THRESHOLDS)]
    return {column for column, one in enumerate(found) if one.verdict == "slower"}


def one_run(seed: int, drift: float) -> dict[str, Any]:
    """Simulate a run and judge it in every way."""
    random = np.random.default_rng(seed)
    blocks = streams(random, drift)
    logs, errors = measured(blocks)
    factors = random.normal(0, 1, logs.shape)
    found: dict[str, Any] = {"rules": {}}
    if drift:  # nothing else makes the processes differ that the rules are applied to
        found["rules"] = rules.judge_all(blocks.reshape(PROCESSES, BENCHMARKS, -1))
    for deviation in PROCESS_SDS:
        varied = logs + deviation * factors
        base = varied[:5], errors[:5]
        for heads in HEADS:
            found[f"{deviation} 5v{heads}"] = outcome(base, (varied[5 : 5 + heads], errors[5 : 5 + heads]))
        head = varied[5:9], errors[5:9]
        found[f"{deviation} gate"] = {effect: gate(base, head, effect) for effect in (0.0, *EFFECTS)}
    found["error"] = errors
    return found


def summarize(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return rates over all runs."""
    result: dict[str, Any] = {"runs": len(found)}
    for deviation in PROCESS_SDS:
        for heads in HEADS:
            key = f"{deviation} 5v{heads}"
            outcomes: list[Outcome] = [run[key] for run in found]
            result[key] = {
                "alarms": sum(one.alarm for one in outcomes),
                "covered_family": float(np.mean([one.covered_family for one in outcomes])),
                "covered_own": float(np.mean([one.covered_own for one in outcomes])),
                "half_width": float(np.median([one.half_width for one in outcomes])),
                "found": {
                    str(effect): dict(
                        zip(
                            ("two modes", "one mode"),
                            map(float, np.mean([one.found[effect] for one in outcomes], axis=0)),
                            strict=True,
                        )
                    )
                    for effect in EFFECTS
                },
            }
        fails = [run[f"{deviation} gate"] for run in found]
        result[f"{deviation} gate"] = {
            "alarms": sum(bool(run[0.0]) for run in fails),
            "found": {
                str(effect): float(np.mean([[column in run[effect] for column in PLANTED] for run in fails]))
                for effect in EFFECTS
            },
        }
    result["rules"] = {
        name: {
            kind: float(np.mean([run["rules"][name][kind] for run in found]))
            for kind in ("alarm", "any", "found")
        }
        for name in found[0]["rules"]
    }
    errors = np.array([run["error"] for run in found])
    result["error"] = {
        "two modes": float(np.median(errors[..., :TWO_MODES])),
        "one mode": float(np.median(errors[..., TWO_MODES:])),
    }
    return result


def simulate(runs: int, seed: int, drift: float) -> dict[str, Any]:
    """Simulate runs of fixed seeds, on all cores."""
    with ProcessPoolExecutor() as pool:
        seeds = range(seed * 1_000_000, seed * 1_000_000 + runs)
        found = list(pool.map(partial(one_run, drift=drift), seeds, chunksize=10))
    return summarize(found)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drift", type=float, default=0.0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    text = json.dumps(simulate(options.runs, options.seed, options.drift), indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
