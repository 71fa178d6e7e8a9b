"""Verdicts on memory between runs of identical code.

    python experiments/memory/runs.py FOLDER [--runs 50] [-- PYTEST ARGS]    # continues an interrupted run

Each run is a new process that times the benchmarks very briefly and measures the peak of their calls. FOLDER
keeps the run files. Each run is compared with the one before. The verdict is taken from the peaks alone,
although `gnnbench compare` takes none where both sides run the same code.
"""

import argparse
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

from gnnbench.engine.judge.memory import MemoryChange, Peaks
from gnnbench.engine.store import run_file

_ROOT = Path(__file__).parents[2]
_SHORT = ("--benchmark-max-time=0.001", "--benchmark-min-rounds=1", "-q", "-p", "no:cacheprovider")
_KERNELS = (
    *("test_spmm.py and pyg", "test_scatter.py and torch", "edge_softmax-forward-", "gcn_norm-forward-"),
    *("self_loops", "update_all_copy_u_sum", "message_passing and forward-pyg"),
)
_DEFAULT = ("benchmarks", "--gnn-dataset=rmat:11", "--gnn-hidden=64", "-k", " or ".join(_KERNELS))


def table(files: list[Path]) -> str:
    """Return how often each verdict occurs, and the number of benchmarks whose peak ever differed."""
    runs = [
        {name: Peaks.of(one.part.memory) for name, one in run_file.read(file).benchmarks.items()}
        for file in files
    ]
    changes = [
        change.verdict
        for older, newer in pairwise(runs)
        for name in older
        if (change := MemoryChange.between(older[name], newer.get(name)))
    ]
    names = [name for name in runs[0] if runs[0][name]]
    spans = [Peaks.all(run.get(name) for run in runs) for name in names]
    differing = [name for name, span in zip(names, spans, strict=True) if span is None or span.spread_bytes]
    return "\n".join(
        [
            f"{len(runs)} runs of {len(names)} benchmarks, {len(changes)} comparisons:",
            *(f"  {changes.count(verdict)} {verdict}" for verdict in sorted({*changes, "more memory"})),
            f"  {len(differing)} benchmarks whose peaks are not all equal: {', '.join(differing) or 'none'}",
        ]
    )


def main() -> None:
    """Run the missing runs, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("arguments", nargs="*", metavar="PYTEST ARGS")
    given = parser.parse_intermixed_args()
    arguments = given.arguments or _DEFAULT
    given.folder.mkdir(parents=True, exist_ok=True)
    files = [given.folder / f"{number:03}.json" for number in range(given.runs)]
    for file in files:
        if not file.exists():
            new = file.with_suffix(".new")
            command = [sys.executable, "-m", "pytest", *arguments, *_SHORT]
            saved = f"--benchmark-json={new.resolve()}"
            subprocess.run([*command, saved], cwd=_ROOT, check=True, stdout=subprocess.DEVNULL)
            new.rename(file)
    print(table(files))


if __name__ == "__main__":
    main()
