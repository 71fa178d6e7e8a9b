"""How often the interval of a benchmark's time holds what it should.

    python experiments/interval/coverage.py simulated [--runs 2000]
    python experiments/interval/coverage.py real FOLDER...
    python experiments/interval/coverage.py reach

`simulated` measures benchmarks on the fake clock and counts the intervals that hold the true time: the
estimate from 100,000 blocks of the same machine, at the moments of the benchmark if the machine drifts. The
share is that of the benchmarks with an interval; `without` is the share of those without (`?` in tables).
`real` reads the run files of experiments/agreement. The interval, if there is one, of every second block of
a process should hold the estimate of the other blocks; because that estimate varies as much, a right interval
of 95 % holds it in about 83 %. `reach` prints the factors of the lower bound in
gnnbench/engine/measure/estimate.py.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import special

from gnnbench.engine.measure import estimate
from gnnbench.engine.measure.clock import Call
from gnnbench.engine.measure.simulated_clock import FakeClock, FakeMachine, Noise, Truth

SIZES = (8, 15, 50)
ROUNDS = 3
TRUE_BLOCKS = 100_000
STEADY = Noise(drift=0)
MACHINES: dict[str, tuple[Noise, Truth]] = {
    "little noise": (Noise(sigma=0.02, drift=0), Truth(1e-3)),
    "noise": (STEADY, Truth(1e-3)),
    "much noise": (Noise(sigma=0.3, drift=0), Truth(1e-3)),
    "spikes in 15 % of the rounds": (Noise(spike_probability=0.15, drift=0), Truth(1e-3)),
    "drift": (Noise(), Truth(20e-3)),
    "layouts 80 % fast": (STEADY, Truth(1e-3, ((1, 0.8), (2, 0.2)))),
    "layouts 50 % fast": (STEADY, Truth(1e-3, ((1, 0.5), (2, 0.5)))),
    "layouts 20 % fast": (STEADY, Truth(1e-3, ((1, 0.2), (2, 0.8)))),
    "layouts 30 % fast, 1.2x apart": (STEADY, Truth(1e-3, ((1, 0.3), (1.2, 0.7)))),
    "noise that lasts (autocorrelation 0.9)": (Noise(autocorrelation=0.9, drift=0), Truth(1e-3)),
}


def measured(clock: FakeClock, count: int) -> NDArray[np.float64]:
    """Return the values of `count` blocks in seconds [count]."""
    values = []
    for _ in range(count):
        clock.inputs_moved()
        values.append(clock.block(Call(int, (), {}), ROUNDS, 1).seconds)
    return estimate.block_values(values)


def simulated(runs: int) -> None:
    """Print the share of benchmarks whose interval contains the true time, and the median half-width."""
    print("| machine |", " | ".join(f"{size} blocks" for size in SIZES), "|\n|---|---|---|---|")
    for name, (noise, truth) in MACHINES.items():
        steady = FakeMachine(0, {}, Noise(**{**vars(noise), "drift": 0}))
        values = measured(FakeClock(steady, name, truth), TRUE_BLOCKS)
        without_drift = estimate.estimate(values).location
        cells = []
        for size in SIZES:
            held, missing, widths = 0, 0, []
            for seed in range(1, runs + 1):
                machine = FakeMachine(seed, {}, noise)
                found = estimate.estimate(measured(FakeClock(machine, name, truth), size))
                true = during(machine, values) if noise.drift else without_drift
                if found.low is None or found.high is None:
                    missing += 1
                    continue
                held += found.low <= true <= found.high
                widths.append(found.half_width)
            without = f", {missing / runs:.1%} without" if missing else ""
            share = f"{held / len(widths):.1%} (±{np.median(widths):.1%}{without})" if widths else "none"
            cells.append(share)
        print(f"| {name} |", " | ".join(cells), "|", flush=True)


def during(machine: FakeMachine, values: NDArray[np.float64]) -> float:
    """Return the estimate of a steady machine's values [TRUE_BLOCKS] over the time of one that drifts."""
    drift = np.array([machine.drift(moment) for moment in np.linspace(0, machine.now_seconds, 1000)])
    return float(np.quantile(values.reshape(-1, len(drift)) * drift, estimate.QUANTILE))


def real(folders: list[Path]) -> None:
    """Print how often the interval of half of a process's blocks contains the estimate of the other half."""
    halves: dict[tuple[str, int], list[bool]] = {}
    for file in sorted(file for folder in folders for file in folder.glob("sample-*.json")):
        for benchmark in json.loads(file.read_text(encoding="utf-8"))["benchmarks"]:
            measurement = benchmark["extra_info"]["gnnbench"]["measurement"]
            values = estimate.block_values(measurement["processes"][0]["blocks_ns"])
            for size in SIZES:
                if len(values) < 2 * size:
                    continue
                one, other = values[: 2 * size : 2], values[1 : 2 * size : 2]
                found, expected = estimate.estimate(one), estimate.estimate(other).location
                held = halves.setdefault((benchmark["name"], size), [])
                if found.low is not None and found.high is not None:
                    held.append(found.low <= expected <= found.high)
    print("| kernel |", " | ".join(f"{size} blocks" for size in SIZES), "|\n|---|---|---|---|")
    for name in sorted({name for name, _ in halves}):
        cells = [f"{sum(one)} of {len(one)}" for size in SIZES for one in [halves.get((name, size), [])]]
        print(f"| {name} |", " | ".join(cells), "|")


def reach(draws: int = 400_000) -> None:
    """Print, for each number of values, the factor that gives the level if their logarithms are normal."""
    random = np.random.default_rng(1)
    for level in (estimate.SHOWN_LEVEL, estimate.JUDGED_LEVEL):
        factors = []
        for size in estimate.SIZES:
            ordered = np.sort(random.normal(size=(draws, size)), axis=1)
            smallest = ordered[:, 0]
            ratios = (smallest - special.ndtri(estimate.QUANTILE)) / (np.median(ordered, axis=1) - smallest)
            factors.append(max(0.0, float(np.quantile(ratios, (1 + level) / 2))))
        print(level, ", ".join(f"{factor:.2f}" for factor in factors))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("simulated").add_argument("--runs", type=int, default=2000)
    commands.add_parser("real").add_argument("folders", type=Path, nargs="+")
    commands.add_parser("reach")
    options = parser.parse_args()
    if options.command == "simulated":
        simulated(options.runs)
    elif options.command == "real":
        real(options.folders)
    else:
        reach()
