"""How many benchmarks does a commit of torch_geometric leave untouched?

    python experiments/same_code/history.py run FOLDER REPOSITORY [--commits 100]
    python experiments/same_code/history.py table FOLDER REPOSITORY
    python experiments/same_code/history.py answer FOLDER REPOSITORY

`run` takes the fingerprints of the core benchmarks on the platform pyg at each of the last commits of
REPOSITORY (a clone of torch_geometric) that touch `torch_geometric/`, and keeps them in FOLDER. `table`
compares each commit with the one before it, and counts the commits by the number of benchmarks that run the
same code.

`answer` runs `gnnbench ab` for each commit and the one before it, the oldest first, as for one pull request
after the other, with an empty cache at the beginning. It prints how long each answer took, and for how many
benchmarks it says *same code* otherwise than the fingerprints do.
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_SUITE = ("benchmarks", "-m", "core", "--gnn-platform", "pyg", "--gnn-dataset", "cora")


def commits(repository: Path, number: int) -> list[str]:
    """Return the last commits that touch the package, and the one before them; the oldest first."""
    log = ["git", "-C", str(repository), "log", f"-{number + 1}", "--format=%H", "--", "torch_geometric"]
    return subprocess.run(log, check=True, capture_output=True, text=True).stdout.split()[::-1]


def take(repository: Path, commit: str, file: Path) -> None:
    """Save the inspections of the suite with a commit's package."""
    with tempfile.TemporaryDirectory() as folder:
        archive = ["git", "-C", str(repository), "archive", commit, "torch_geometric"]
        packed = subprocess.run(archive, check=True, stdout=subprocess.PIPE).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as files:
            files.extractall(folder, filter="data")
        path = os.pathsep.join((folder, str(_HERE)))
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "fingerprints", "-p", "no:cacheprovider", *_SUITE],
            cwd=_ROOT,
            env={**os.environ, "FINGERPRINTS": str(file.resolve()), "PYTHONPATH": path},
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def is_same(base: dict[str, Any], head: dict[str, Any], name: str) -> bool:
    """Return whether a benchmark runs the same code at both commits."""
    one, other = (side.get(name, {}).get("fingerprint") for side in (base, head))
    return bool(one) and one == other


def untouched(base: dict[str, Any], head: dict[str, Any]) -> int:
    """Count the benchmarks that run the same code at both commits."""
    return sum(is_same(base, head, name) for name in head)


def table(folder: Path, chosen: list[str]) -> str:
    """Return the number of commits by the number of benchmarks that they leave untouched."""
    found = [json.loads((folder / f"{commit}.json").read_text(encoding="utf-8")) for commit in chosen]
    counts = Counter((untouched(base, head), len(head)) for base, head in pairwise(found))
    lines = ["| benchmarks that run the same code | commits |", "|---|---|"]
    lines += [f"| {same} of {of} | {number} |" for (same, of), number in sorted(counts.items(), reverse=True)]
    whole = sum(same * number for (same, _), number in counts.items())
    all_of_them = sum(of * number for (_, of), number in counts.items())
    return "\n".join([*lines, f"\n{whole:,} of {all_of_them:,} benchmarks in all."]) + "\n"


def answers(folder: Path, repository: Path, chosen: list[str]) -> Iterator[str]:
    """Yield a line for each comparison of neighbouring commits: seconds, and what it says."""
    cache = {**os.environ, "GNNBENCH_CACHE": str((folder / "cache").resolve())}
    for base, head in pairwise(chosen):
        saved = folder / f"{head}.ab.json"
        if not saved.exists():
            sides = [f"git:{repository.resolve()}@{one}" for one in (base, head)]
            command = ["ab", *sides, "--total-budget", "60", "--json", str(saved.resolve()), "--", *_SUITE]
            start = time.perf_counter()
            called = [sys.executable, "-m", "gnnbench", *command]
            subprocess.run(called, cwd=_ROOT, env=cache, check=False, capture_output=True)
            found = json.loads(saved.read_text(encoding="utf-8"))
            found["answer_seconds"] = round(time.perf_counter() - start, 1)
            saved.write_text(json.dumps(found), encoding="utf-8")
        found = json.loads(saved.read_text(encoding="utf-8"))
        files = (folder / f"{one}.json" for one in (base, head))
        before, after = (json.loads(file.read_text(encoding="utf-8")) for file in files)
        same = {row["fullname"]: row["judgement"]["same_code"] for row in found["comparison"]["rows"]}
        otherwise = sum(one != is_same(before, after, name) for name, one in same.items())
        how = "from files" if any("without a process" in note for note in found["notes"]) else "inspected"
        seconds = found["answer_seconds"]
        what = f"{sum(same.values())} of {len(same)} same code, {otherwise} otherwise"
        yield f"{head[:10]} {seconds:6.1f} s, {how}: {what}"


def main() -> None:
    """Run the experiment, or print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("run", "table", "answer"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--commits", type=int, default=100)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    chosen = commits(options.repository, options.commits)
    if options.command == "table":
        print(table(options.folder, chosen), end="")
        return
    if options.command == "answer":
        for line in answers(options.folder, options.repository, chosen):
            print(line, flush=True)
        return
    files = {commit: options.folder / f"{commit}.json" for commit in chosen}
    waiting = [commit for commit, file in files.items() if not file.exists()]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # nothing is timed
        taken = pool.map(lambda commit: take(options.repository, commit, files[commit]), waiting)
        for number, _ in enumerate(taken, 1):
            print(f"{number} of {len(waiting)}", flush=True)


if __name__ == "__main__":
    main()
