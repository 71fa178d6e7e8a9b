"""How many benchmarks does a commit of torch_geometric leave untouched, and how soon is that known?

    python experiments/same_code/history.py FOLDER REPOSITORY [--commits 100]    # continues a run

`gnnbench ab` compares each of the last commits of REPOSITORY (a clone of torch_geometric) that touch
`torch_geometric/` with the one before it, the oldest first, as for one pull request after the other, with
an empty cache at the beginning. FOLDER keeps the comparisons. A line says for each how many of the core
benchmarks run the same code, and the seconds until the answer; the last one sums them up.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_SUITE = ("benchmarks", "-m", "core", "--gnn-platform", "pyg", "--gnn-dataset", "cora")


def commits(repository: Path, number: int) -> list[str]:
    """Return the last commits that touch the package, and the one before them; the oldest first."""
    log = ["git", "-C", str(repository), "log", f"-{number + 1}", "--format=%H", "--", "torch_geometric"]
    return subprocess.run(log, check=True, capture_output=True, text=True).stdout.split()[::-1]


def compare(repository: Path, base: str, head: str, file: Path) -> None:
    """Save the comparison of two commits."""
    sides = [f"git:{repository.resolve()}@{commit}" for commit in (base, head)]
    words = ["ab", *sides, "--total-budget", "60", "--json", str(file.resolve()), "--", *_SUITE]
    cache = {**os.environ, "GNNBENCH_CACHE": str(file.resolve().with_name("cache"))}
    command = [sys.executable, "-m", "gnnbench", *words]
    subprocess.run(command, cwd=_ROOT, env=cache, check=False, capture_output=True)


def main() -> None:
    """Read the command line, and run the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--commits", type=int, default=100)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    untouched, seconds = 0, []
    for base, head in pairwise(commits(options.repository, options.commits)):
        file = options.folder / f"{head}.json"
        if not file.exists():
            compare(options.repository, base, head, file)
        result = json.loads(file.read_text(encoding="utf-8"))
        rows = result["comparison"]["rows"]
        same = sum(row["judgement"]["same_code"] for row in rows)
        untouched += same == len(rows)
        seconds.append(result["seconds"])
        print(f"{head[:10]} {result['seconds']:6.1f} s: {same} of {len(rows)} same code", flush=True)
    median = statistics.median(seconds)
    print(f"{untouched} of {len(seconds)} commits change no benchmark; {median:.1f} s (median)")


if __name__ == "__main__":
    main()
