"""Agreement of fresh processes that run the same code, with layouts sampled and without.

    python experiments/agreement/agreement.py run FOLDER [--processes 20] [--seconds 5]
    python experiments/agreement/agreement.py table FOLDER

`run` alternately starts processes with layouts sampled and without, writes a run file for each to FOLDER, and
continues an interrupted run. Before and after each kernel it checks that no other virtual machine on the host
slows this one (quiet.py). `table` prints the tables of docs/experiments/measurement.md, for all processes and
for undisturbed ones, with gnnbench's estimate and with others, and draws the picture.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import altair as alt
import numpy as np
import quiet

from gnnbench.engine.measure import estimate

KERNELS = Path(__file__).with_name("kernels.py")
POLICIES = ("sample", "one")
FASTEST = "fastest"


def run(folder: Path, processes: int, seconds: float) -> None:
    """Measure each kernel for `seconds` in fresh processes."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(processes):
        for policy in POLICIES if number % 2 else reversed(POLICIES):
            file = folder / f"{policy}-{number:02}.json"
            if file.exists():
                continue
            print(f"{file.name} of {processes} processes each", flush=True)
            command = [sys.executable, "-m", "pytest", str(KERNELS), "-q", "--gnn-layouts", policy]
            # A precision that is never reached: all spend the same time.
            command += ["--gnn-precision", "0.0001", "--benchmark-max-time", str(seconds)]
            command += [f"--benchmark-json={file.with_suffix('.part')}", "-p", "no:cacheprovider"]
            fastest = str((folder / FASTEST).absolute())
            environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "AGREEMENT_FASTEST": fastest}
            subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
            file.with_suffix(".part").rename(file)


def blocks(folder: Path, *, undisturbed: bool) -> dict[tuple[str, str], list[list[list[float]]]]:
    """Return by policy and kernel the blocks of each process, or of each undisturbed one, in nanoseconds."""
    found: dict[tuple[str, str], list[list[list[float]]]] = {}
    most = quiet.CONTENDED * float((folder / FASTEST).read_text(encoding="utf-8"))
    for policy in POLICIES:
        for file in sorted(folder.glob(f"{policy}-*.json")):
            for benchmark in json.loads(file.read_text(encoding="utf-8"))["benchmarks"]:
                if undisturbed and max(benchmark["extra_info"]["look_seconds"]) > most:
                    continue
                kernel = benchmark["name"].removeprefix("test_")
                measurement = benchmark["extra_info"]["gnnbench"]["measurement"]
                found.setdefault((policy, kernel), []).append(measurement["processes"][0]["blocks_ns"])
    return found


def spread(processes: list[list[list[float]]], quantile: float, value: str) -> tuple[float, float]:
    """Return the largest time over the smallest, and the standard deviation of the logarithms of times."""
    reduce = np.median if value == "median" else np.min
    locations = [np.quantile([reduce(block) for block in process], quantile) for process in processes]
    return max(locations) / min(locations), float(np.std(np.log(locations), ddof=1))


def table(folder: Path) -> None:
    """Print the tables and draw the picture."""
    print("all processes:")
    agreement(blocks(folder, undisturbed=False))
    found = blocks(folder, undisturbed=True)
    print("\nundisturbed ones:")
    agreement(found)
    candidates(found)
    picture(found, Path(folder) / "agreement.svg")


def agreement(found: dict[tuple[str, str], list[list[list[float]]]]) -> None:
    """Print how far the processes agree, by kernel."""
    kernels = list(dict.fromkeys(kernel for _, kernel in found))
    print(f"| kernel | {' | '.join(POLICIES)} | covered |\n|---|---|---|---|")
    for kernel in kernels:
        texts = []
        for policy in POLICIES:
            ratio, deviation = spread(found[policy, kernel], estimate.QUANTILE, "median")
            texts.append(f"{ratio:.3f} (sd {deviation:.1%}, {len(found[policy, kernel])})")
        runs = [estimate.estimate(estimate.block_values(process)) for process in found["sample", kernel]]
        middle = float(np.median([run.location for run in runs]))
        covered = sum((run.low or 0) <= middle <= (run.high or np.inf) for run in runs)
        print(f"| {kernel} | {' | '.join(texts)} | {covered} |")


def candidates(found: dict[tuple[str, str], list[list[list[float]]]]) -> None:
    """Print how far the processes agree with other estimates."""
    kernels = list(dict.fromkeys(kernel for _, kernel in found))
    tried = [(quantile, value) for value in ("median", "min") for quantile in (0.1, 0.25, 0.5)]
    for policy in POLICIES:
        print(f"\n{policy}, largest over smallest:\n| kernel |", end="")
        print(*(f" {quantile:.0%} of {value}s |" for quantile, value in tried), sep="")
        print("|---" * (len(tried) + 1) + "|")
        for kernel in kernels:
            ratios = (spread(found[policy, kernel], *candidate)[0] for candidate in tried)
            print(f"| {kernel} |", *(f" {ratio:.3f} |" for ratio in ratios), sep="")


def picture(found: dict[tuple[str, str], list[list[list[float]]]], file: Path) -> None:
    """Draw the time of each process, divided by the smallest of its kernel."""
    rows = []
    for (policy, kernel), processes in found.items():
        locations = [estimate.estimate(estimate.block_values(process)).location for process in processes]
        smallest = min(locations)
        label = {"sample": "layouts sampled", "one": "one layout"}[policy]
        rows += [{"kernel": kernel, "layouts": label, "ratio": value / smallest} for value in locations]
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(filled=True, opacity=0.6, size=45)
        .encode(
            x=alt.X("ratio:Q", title="time of a run over that of the fastest run")
            .scale(type="log", domainMin=1)
            .axis(grid=True),
            y=alt.Y("layouts:N", title=None, sort=["layouts sampled", "one layout"]),
            color=alt.Color("layouts:N", legend=None).scale(range=["#0b7a75", "#c8553d"]),
            row=alt.Row("kernel:N", title=None).header(labelAngle=0, labelAlign="left", labelFontSize=12),
        )
        .properties(width=420, height=44)
    )
    chart.save(file)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    if options.what == "run":
        run(options.folder, options.processes, options.seconds)
    else:
        table(options.folder)


if __name__ == "__main__":
    main()
