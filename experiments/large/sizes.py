"""Does the cost of an operation grow linearly with the graph? Times and peaks from rmat:14 to ogbn-products.

    python experiments/large/sizes.py run FOLDER [--graphs rmat:14 ...] [--width 32]    # continues
    python experiments/large/sizes.py table FOLDER

Each benchmark runs in a process of its own, so that the peak of the resident set is its own. To run out of
memory is a result. Close other programs first.
"""

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gnnbench.engine.ground import units

_ROOT = Path(__file__).parents[2]
_GRAPHS = (*(f"rmat:{scale}" for scale in range(14, 23)), "ogbn-products:synthetic")
_FILES = {
    "spmm_sum": "test_spmm.py::test_spmm",
    "gcn_norm": "test_gcn_norm.py::test_gcn_norm",
    "edge_softmax": "test_edge_softmax.py::test_edge_softmax",
    "epoch": "test_epoch.py::test_epoch",
}
_DIRECTIONS = {"epoch": "train"}
_PLATFORMS = ("pyg", "torch", "dgl")
_SECONDS = 2
_LINEAR = 1.1
"""Largest exponent of the number of entries with which a cost counts as linear."""


def ids(graph: str, width: int) -> Iterator[tuple[str, str, str]]:
    """Yield operation, platform and test id of each benchmark on a graph."""
    for operation, place in _FILES.items():
        direction = _DIRECTIONS.get(operation, "forward_backward")
        for platform in _PLATFORMS:
            spec = f"{operation}-{direction}-{platform}-float32-int64-{graph}-{width}-cpu"
            yield operation, platform, f"benchmarks/{place}[{spec}]"


def measured(nodeid: str, width: int, scratch: Path) -> dict[str, Any]:
    """Run a benchmark in a process; return its time, its peaks, or why it did not run."""
    scratch.unlink(missing_ok=True)
    graph = nodeid.partition("int64-")[2].rpartition(f"-{width}-")[0]
    options = [f"--gnn-dataset={graph}", f"--gnn-hidden={width}", f"--benchmark-max-time={_SECONDS}"]
    options += ["--benchmark-min-rounds=3", "--gnn-layouts=one", "-rs", "-p", "no:cacheprovider"]
    words = [sys.executable, "-m", "pytest", nodeid, *options, f"--benchmark-json={scratch.resolve()}"]
    process = subprocess.Popen(words, cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    peak_bytes = usage.ru_maxrss * 1024
    entries = json.loads(scratch.read_text())["benchmarks"] if scratch.exists() else []
    scratch.unlink(missing_ok=True)
    if not entries:
        return {"failed": _why(output, process.returncode), "process_peak_bytes": peak_bytes}
    ours = entries[0]["extra_info"]["gnnbench"]
    return {
        "nodes": ours["graph"]["nodes"],
        "entries": ours["graph"]["entries"],
        "seconds": ours["measurement"]["location_ns"] / 1e9,
        "call_peak_bytes": ours["counters"]["details"]["memory"]["peak_bytes"],
        "least_bytes": ours["limit"]["least"]["bytes"],
        "process_peak_bytes": peak_bytes,
    }


def _why(output: str, status: int) -> str:
    """Return why a benchmark did not run: it was skipped, failed, or its process was ended."""
    for line in output.splitlines():
        if line.startswith("SKIPPED [1] "):
            return line.partition(": ")[2]
        if line.startswith("E  ") or (line.startswith("gnnbench: ") and "OOM" in line):
            return " ".join(line.removeprefix("E").split())
    return f"the process ended with status {status}" + (": killed for memory?" if status < 0 else "")


def exponent(smaller: dict[str, Any], larger: dict[str, Any], field: str) -> float:
    """Return p so that a cost grows as entries ** p from one size to the next."""
    return math.log(larger[field] / smaller[field]) / math.log(larger["entries"] / smaller["entries"])


def table(folder: Path) -> str:
    """Return times and peaks by size, and the growth from each size to the next."""
    found = {
        tuple(json.loads(file.read_text())["key"]): json.loads(file.read_text()) for file in _files(folder)
    }
    lines = []
    for operation in _FILES:
        for platform in _PLATFORMS:
            rows = [
                (graph, found[key]) for graph in _GRAPHS if (key := (operation, platform, graph)) in found
            ]
            if rows:
                lines += [f"\n{operation} on {platform}", *_rows(rows)]
    return "\n".join(lines)


def _files(folder: Path) -> Sequence[Path]:
    return sorted(file for file in folder.glob("*.json") if file.name != _SCRATCH)


def _rows(rows: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[str]:
    words = ("entries", "time", "/entry", "grows", "call", "grows", "process")
    widths = (12, 9, 9, 6, 9, 6, 9)
    yield f"{'graph':24} {' '.join(f'{word:>{width}}' for word, width in zip(words, widths, strict=True))}"
    before: dict[str, Any] | None = None
    for graph, one in rows:
        if "failed" in one:
            yield f"{graph:24} {one['failed']}"
            continue
        grows = ["", ""]
        if before and graph.startswith("rmat"):
            exponents = [exponent(before, one, field) for field in ("seconds", "call_peak_bytes")]
            grows = [f"^{value:.2f}{'*' if value > _LINEAR else ''}" for value in exponents]
        each = units.seconds(one["seconds"] / one["entries"])
        sizes = [units.size(one[f"{what}_peak_bytes"]) for what in ("call", "process")]
        yield (
            f"{graph:24} {one['entries']:12,} {units.seconds(one['seconds']):>9} {each:>9} {grows[0]:>6} "
            f"{sizes[0]:>9} {grows[1]:>6} {sizes[1]:>9}"
        )
        before = one


_SCRATCH = "running.json"


def main() -> None:
    """Measure the benchmarks without a result, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("step", choices=("run", "table"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--graphs", nargs="+", default=_GRAPHS)
    parser.add_argument("--width", type=int, default=32)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for graph in given.graphs if given.step == "run" else ():
        for operation, platform, nodeid in ids(graph, given.width):
            file = given.folder / f"{operation}-{platform}-{graph.replace(':', '_')}.json"
            if file.exists():
                continue
            one = measured(nodeid, given.width, given.folder / _SCRATCH)
            new = file.with_suffix(".new")
            new.write_text(
                json.dumps({"key": [operation, platform, graph], "width": given.width, **one}, indent=1)
            )
            new.rename(file)
            print(operation, platform, graph, one.get("failed") or units.seconds(one["seconds"]), flush=True)
    print(table(given.folder))


if __name__ == "__main__":
    main()
