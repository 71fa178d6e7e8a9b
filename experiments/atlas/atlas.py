"""Which releases of PyG, torch_sparse, torch_scatter and torch changed a benchmark's time by 5 % or more?

    python experiments/atlas/atlas.py FOLDER [--package NAME ...] [--clone PYG]
    python experiments/atlas/atlas.py FOLDER [--package NAME ...] --results

`gnnbench watch` compares all releases, on the benchmarks of this repository that use the package, and writes
its results and a page to FOLDER/NAME. The same command continues an interrupted run. `--results` times
nothing: it compares the outputs in neighbouring releases, and counts them for docs/results.md.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from gnnbench.apps.watch.versions import Watched

_ROOT = Path(__file__).parents[2]
_GNNBENCH = str(Path(sys.executable).with_name("gnnbench"))
_PACKAGES = {
    "torch_geometric": ("2.3.0", "2.8.1", "pyg"),
    "torch_sparse": ("0.6.15", "0.6.18", "sparse"),
    "torch_scatter": ("2.0.9", "2.1.2", "pyg,sparse"),
    "torch": ("2.11.0", "2.14.1", "torch,pyg"),
}
"""The first and last release, and the platforms whose benchmarks use the package."""
# Compiling takes minutes in each process; the others' own code is not PyG's; with fewer threads the same code
# runs. Releases of PyG before 2.6.0 cannot read Cora's files with torch 2.6 and newer.
_SKIPPED = "not compiled and not mh_ and not harness and not thread"
_SUITE = ("benchmarks", "--gnn-dataset", "cora:synthetic", "-k", _SKIPPED)


def watch(folder: Path, package: str, clone: Path | None) -> None:
    """Compare all releases that were not compared yet."""
    first, last, platforms = _PACKAGES[package]
    state = (folder / package).resolve()
    ends = ("--since", first, "--until", last, *(("--clone", str(clone.resolve())) if clone else ()))
    limits = ("--effect", "5%", "--budget", "15", "--total-budget", "900")
    page = ("--page", str(state / "index.html"))
    command = [_GNNBENCH, "watch", package, "--state", str(state), *ends, *limits, *page]
    state.mkdir(parents=True, exist_ok=True)
    subprocess.run([*command, "--", *_SUITE, "--gnn-platform", platforms], cwd=_ROOT, check=False)


def results(folder: Path, package: str) -> Iterator[str]:
    """Compare the outputs in neighbouring releases, unless that is done; yield a row for each pair."""
    first, last, platforms = _PACKAGES[package]
    for base, head in list(pairwise(Watched(package, _ROOT).versions(first, last, None)))[::-1]:
        file = (folder / f"{package}-{base.name}-{head.name}-results.json").resolve()
        if not file.exists():
            command = [_GNNBENCH, "affected", base.variant, head.variant, "--json", str(file)]
            subprocess.run([*command, "--", *_SUITE, "--gnn-platform", platforms], cwd=_ROOT, check=False)
        found = json.loads(file.read_text(encoding="utf-8"))["benchmarks"] if file.exists() else []
        agreements = [one["results"] for one in found if one["results"]]
        kinds = Counter(one["status"] for one in agreements)
        counts = [kinds[kind] for kind in ("equal", "close", "differ", "not compared")]
        same = sum(one["status"] == "same" for one in found)
        failed = sum(bool(one["failed"]) for one in found)
        error = max((one["error"] or 0.0 for one in agreements), default=0.0)
        cells = f"{base.name} → {head.name}", same, *counts, failed, f"{error:.1f}"
        yield f"| {' | '.join(map(str, cells))} |"
        for one in found:
            if one["results"] and one["results"]["status"] == "differ":
                print(f"{one['id']}: {one['results']['reason']}", file=sys.stderr)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--package", nargs="+", choices=tuple(_PACKAGES), default=["torch_geometric"])
    parser.add_argument("--clone", type=Path, help="a clone of the package with its tags")
    parser.add_argument("--results", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if not options.results:
        for package in options.package:
            watch(options.folder, package, options.clone)
        return
    print("| releases | same code | equal | close | differ | not compared | failed | largest error |")
    print("|---|---|---|---|---|---|---|---|")
    for package in options.package:
        for text in results(options.folder, package):
            print(text, flush=True)


if __name__ == "__main__":
    main()
