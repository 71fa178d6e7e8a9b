"""Bisects planted repositories of 64 commits, with real torch calls on 20,000 nodes.

    python experiments/bisect/planted.py FOLDER [--only NAME] [--commits 64] [--effect 0.10]

FOLDER gets a repository for each case, and `results.json` with the answers; cases with an answer are not run
again. Each repository has a package `kernels` with four kernels. From a random commit on, one kernel does a
part of its work twice. There are ten such cases: in `one-0` to `one-4` the other commits change other
functions, in `every-0` to `every-4` every commit also changes the kernel's code, but not its time. Five more
cases have two changes, a change that is undone, commits around the change that cannot be imported, such
commits elsewhere, and no change.

Run it on a quiet machine.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from gnnbench.engine.ground.files import write_whole

NAMES = ("gcn_norm", "gather_scatter", "degree", "softmax")
SUITE = """
import kernels
import pytest
import torch

N, E, F = 20_000, 200_000, 64


@pytest.fixture(scope="session")
def inputs():
    make = torch.Generator().manual_seed(1)
    index = torch.randint(N, (2, E), generator=make)
    return index, torch.rand(E, generator=make), torch.rand(N, F, generator=make)


@pytest.mark.parametrize("name", kernels.NAMES)
def test_kernel(benchmark, inputs, name):
    benchmark(getattr(kernels, name), *inputs)
"""
KERNELS = """
import torch

NAMES = {names!r}
COMMIT = {commit}
{broken}

def more_work(x, share):
    # Part of the kernel's own work once more.
    return x[: int(len(x) * share)]


def gcn_norm(index, weight, x):
    {change[gcn_norm]}
    deg = torch.zeros(len(x)).scatter_add_(0, index[1], weight)
    scale = deg.pow(-0.5).masked_fill_(deg == 0, 0.0)
    if {share[gcn_norm]}:
        part = more_work(index.T, {share[gcn_norm]}).T
        torch.zeros(len(x)).scatter_add_(0, part[1], weight[: part.size(1)])
        scale[part[0]] * weight[: part.size(1)] * scale[part[1]]
    return scale[index[0]] * weight * scale[index[1]]


def gather_scatter(index, weight, x):
    {change[gather_scatter]}
    out = torch.zeros_like(x)
    out.index_add_(0, index[1], x[index[0]] * weight[:, None])
    if {share[gather_scatter]}:
        part = more_work(index.T, {share[gather_scatter]}).T
        torch.zeros_like(x).index_add_(0, part[1], x[part[0]] * weight[: part.size(1), None])
    return out


def degree(index, weight, x):
    {change[degree]}
    return torch.bincount(index[1], minlength=len(x))


def softmax(index, weight, x):
    {change[softmax]}
    top = torch.full((len(x),), -torch.inf).scatter_reduce_(0, index[1], weight, "amax")
    out = (weight - top[index[1]]).exp_()
    return out / torch.zeros(len(x)).scatter_add_(0, index[1], out)[index[1]]
"""
SLOWED = ("gcn_norm", "gather_scatter")


@dataclass(frozen=True)
class Case:
    """A repository with planted changes."""

    name: str
    kernel: str
    shares: dict[int, float]
    """By commit, the share of the kernel's work that is done twice from this commit on."""
    every: bool = False
    """Whether every commit changes the kernel's code."""
    broken: range = range(0)
    """Commits that cannot be imported."""

    def module(self, commit: int, draw: random.Random) -> str:
        """Return the package's content at a commit."""
        share = dict.fromkeys(NAMES, 0.0)
        for since, size in sorted(self.shares.items()):
            if commit >= since:
                share[self.kernel] = size
        touched = self.kernel if self.every else draw.choice([one for one in NAMES if one != self.kernel])
        change = {name: f"_ = {commit if name == touched else 0}" for name in NAMES}
        broken = f"raise ImportError('commit {commit} is broken')" if commit in self.broken else ""
        return KERNELS.format(names=NAMES, commit=commit, broken=broken, share=share, change=change)


def cases(commits: int, effect: float) -> list[Case]:
    """Return all cases."""
    draw = random.Random(27)  # noqa: S311 - places, not secrets
    found = []
    for kind in ("one", "every"):
        for number in range(5):
            place = draw.randrange(1, commits + 1)
            found.append(Case(f"{kind}-{number}", SLOWED[number % 2], {place: effect}, every=kind == "every"))
    third = commits // 3
    found.append(Case("two-steps", SLOWED[0], {third: effect, 2 * third: 2.5 * effect}, every=True))
    found.append(Case("step-back", SLOWED[1], {third: 3 * effect, 2 * third: effect}, every=True))
    found.append(Case("broken-around", SLOWED[0], {third: effect}, broken=range(third - 2, third + 3)))
    found.append(Case("broken-elsewhere", SLOWED[1], {third: effect}, broken=range(2 * third, 2 * third + 8)))
    found.append(Case("no-change", SLOWED[0], {}))
    return found


def create(folder: Path, case: Case, commits: int) -> None:
    """Make the repository; its commits are titled by their numbers, and the first has the tag `good`."""

    def git(*words: str) -> None:
        who = ("-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        command = ["git", *who, *words]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)

    folder.mkdir(parents=True)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_kernels.py").write_text(SUITE)
    git("init", "-q", "-b", "main")
    draw = random.Random(case.name)  # noqa: S311
    for commit in range(commits + 1):
        (folder / "kernels.py").write_text(case.module(commit, draw))
        git("add", ".")
        git("commit", "-q", "-m", str(commit))
        if not commit:
            git("tag", "good")


def bisect(folder: Path, cache: Path) -> dict[str, object]:
    """Run `gnnbench bisect`, and return its result."""
    script = str(Path(sys.executable).with_name("gnnbench"))
    start = time.monotonic()
    words = [script, "bisect", "git:good", "git:main", "--json", "found.json", "--", "test_kernels.py"]
    variables = {**os.environ, "GNNBENCH_CACHE": str(cache)}
    variables.pop("PYTHONHASHSEED", None)
    status = subprocess.run(words, cwd=folder, env=variables, check=False).returncode
    if status not in (0, 1, 3):
        raise SystemExit(status)
    found = json.loads((folder / "found.json").read_text())
    return {
        "exit": status,
        "changes": [
            {
                "commits": [int(cause["title"]) for cause in one["causes"]],
                "benchmarks": {
                    name.partition("[")[2][:-1]: change["ratio"] for name, change in one["changes"].items()
                },
            }
            for one in found["findings"]
        ],
        "summary": {
            row["fullname"]: row["judgement"]["verdict"] for row in found["ends"]["comparison"]["rows"]
        },
        "pairs": found["pairs"],
        "unfinished": found["unfinished"],
        "seconds": round(time.monotonic() - start, 1),
    }


def outcome(case: Case, found: dict[str, object]) -> str:
    """Return a word that says whether the planted changes were found."""
    changes = found["changes"]
    assert isinstance(changes, list)
    planted = set(case.shares)
    named = {one["commits"][0] for one in changes if len(one["commits"]) == 1}
    if named - planted or any(case.kernel not in one["benchmarks"] for one in changes):
        return "WRONG"
    ranges = [set(one["commits"]) for one in changes if len(one["commits"]) > 1]
    if set(case.broken) & planted:
        return "found as a range" if len(ranges) == 1 and planted <= ranges[0] else "missed"
    return "found" if named == planted and not ranges else "missed"


def main() -> None:
    """Bisect the cases without a result, and print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", help="run this case")
    parser.add_argument("--commits", type=int, default=64)
    parser.add_argument("--effect", type=float, default=0.10)
    options = parser.parse_args()
    results = options.folder / "results.json"
    done = json.loads(results.read_text()) if results.exists() else {}
    for case in cases(options.commits, options.effect):
        if options.only not in (None, case.name):
            continue
        repository = options.folder / case.name
        if case.name not in done:
            if not repository.exists():
                create(repository, case, options.commits)
            done[case.name] = bisect(repository, options.folder / "cache")
            write_whole(results, json.dumps(done, indent=1) + "\n")
        found = done[case.name]
        print(
            f"{case.name}: planted at {sorted(case.shares)}: {outcome(case, found)}; {found['changes']};"
            f" {found['pairs']} pairs, {found['seconds']} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
