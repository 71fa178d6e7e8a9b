"""Are benchmarks that run the same code equally fast? Neighbouring releases of two projects are timed.

    python experiments/same_code/releases.py run FOLDER [--budget 60]    # continues an interrupted run
    python experiments/same_code/releases.py table FOLDER

For each pair of releases, `gnnbench affected` names the benchmarks whose code is the same; these are timed
with `gnnbench ab --time-all`. torch_geometric runs this repository's benchmarks; cattrs runs its own, from
the source distribution of its last release. FOLDER keeps all results.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

_ROOT = Path(__file__).parents[2]
_PYG = (
    *("2.3.0", "2.3.1", "2.4.0", "2.5.0", "2.5.1", "2.5.2", "2.5.3"),
    *("2.6.0", "2.6.1", "2.7.0", "2.8.0", "2.8.1"),
)
_SINCE = "2.6.0"
"""Earlier releases cannot read Cora's files with torch 2.6 and newer: they run on its synthetic stand-in."""
_PYG_SUITE = [
    *("benchmarks", "--gnn-all", "--gnn-platform", "pyg", "--gnn-dataset", "DATASET", "-k"),
    "forward-pyg and (conv or gcn_norm or linear or self_loops or spmm_sum or spmm_max or scatter)",
]
_CATTRS = (("24.1.2", "24.1.3"), ("25.1.0", "25.1.1"), ("26.2.0", "26.2.1"))
_CATTRS_SUITE = ["bench", "-k", "not unstructure"]
_NEEDED = ["attrs", "typing_extensions", "msgspec==0.22.0", "orjson==3.11.4"]
"""Packages that cattrs and its benchmarks need."""
_KINDS = ("same", "slower", "faster", "undecided", "incomparable")


class Pair(NamedTuple):
    """Two releases and the suite that runs on both."""

    project: str
    base: str
    head: str
    suite: list[str]
    folder: Path
    """pytest's working directory."""


def pairs(folder: Path) -> Iterator[Pair]:
    """Yield all pairs: those of cattrs, then those of torch_geometric, the newest first."""
    for base, head in _CATTRS:
        yield Pair("cattrs", base, head, _CATTRS_SUITE, folder / f"cattrs-{_CATTRS[-1][1]}")
    for base, head in list(pairwise(_PYG))[::-1]:
        dataset = "cora" if _PYG.index(base) >= _PYG.index(_SINCE) else "cora:synthetic"
        suite = [dataset if word == "DATASET" else word for word in _PYG_SUITE]
        yield Pair("torch_geometric", base, head, suite, _ROOT)


def prepare(folder: Path) -> None:
    """Download cattrs with its benchmarks and their dependencies."""
    release, pip = f"cattrs=={_CATTRS[-1][1]}", [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    if not (folder / "packages").exists():
        download = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(folder)]
        subprocess.run([*pip, *download, release], check=True)
        for archive in folder.glob("*.tar.gz"):
            with tarfile.open(archive) as file:
                file.extractall(folder, filter="data")
        install = ["install", "--quiet", "--no-deps", "--target", str(folder / "packages")]
        subprocess.run([*pip, *install, release, *_NEEDED], check=True)


def gnnbench(pair: Pair, folder: Path, command: str, file: Path, *words: str) -> Any:
    """Return the result of a command on a pair, from a file if there is one. Returns None if it fails."""
    if not file.exists():
        path = str(folder.resolve() / "packages") if pair.project == "cattrs" else ""
        sides = [f"pip:{pair.project}=={release}" for release in (pair.base, pair.head)]
        ended = subprocess.run(
            [Path(sys.executable).with_name("gnnbench"), command, *sides, "--json", file.resolve(), *words],
            cwd=pair.folder,
            env={**os.environ, "PYTHONPATH": path},
            check=False,
            capture_output=True,
            text=True,
        )
        print(command, *sides, *(ended.stdout or ended.stderr).strip().splitlines()[-1:], flush=True)
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def run(folder: Path, budget: str) -> None:
    """Run the comparisons without a result."""
    folder.mkdir(parents=True, exist_ok=True)
    prepare(folder)
    for pair in pairs(folder):
        name = f"{pair.project}-{pair.base}-{pair.head}"
        found = gnnbench(pair, folder, "affected", folder / f"{name}.affected.json", "--", *pair.suite)
        same = [name for name, one in found["benchmarks"].items() if one["status"] == "same"] if found else []
        if same:
            timed = ["--time-all", "--budget", budget, "--", *same, *pair.suite[1:-2]]
            gnnbench(pair, folder, "ab", folder / f"{name}.ab.json", *timed)


def table(folder: Path) -> str:
    """Return, by pair, how many benchmarks run the same code, and their verdicts by time."""
    lines = [
        f"| releases | benchmarks | same code | {' | '.join(f'{kind} by time' for kind in _KINDS)} |",
        "|---" * (len(_KINDS) + 3) + "|",
    ]
    sums: Counter[str] = Counter()
    for pair in pairs(folder):
        name = f"{pair.project}-{pair.base}-{pair.head}"
        files = [folder / f"{name}.{command}.json" for command in ("affected", "ab")]
        affected, timed = (json.loads(file.read_text()) if file.exists() else {} for file in files)
        rows, benchmarks = timed.get("comparison", {"rows": []})["rows"], affected.get("benchmarks", {})
        row = Counter(one["judgement"]["verdict"] for one in rows)
        row["benchmarks"] = len(benchmarks)
        row["same code"] += sum(one["status"] == "same" for one in benchmarks.values())
        sums += row
        lines.append(_line(f"{pair.project} {pair.base} → {pair.head}", row))
    return "\n".join([*lines, _line("all", sums)]) + "\n"


def _line(name: str, row: Counter[str]) -> str:
    return f"| {' | '.join([name, *(str(row[kind]) for kind in ('benchmarks', 'same code', *_KINDS))])} |"


def main() -> None:
    """Run the experiment, or print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("run", "table"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--budget", default="60")
    options = parser.parse_args()
    if options.command == "run":
        run(options.folder, options.budget)
    else:
        print(table(options.folder), end="")


if __name__ == "__main__":
    main()
