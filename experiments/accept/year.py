"""A simulated year with accepted slowdowns.

    python experiments/accept/year.py [--years 10] [--windows 6] [--seed 1] [--early] [--out FILE.json]

A year has six windows of 50 commits, in a real git repository. Each commit is compared in turns with the
record of its window, which is the last commit before it. The machine, with twenty benchmarks of 60 seconds
each, is that of experiments/ab/simulate.py; the schedule, the decision rule, `gnnbench accept`'s entries and
the rules that say when they hold are the real ones. All benchmarks are timed: none runs the same code.

In each window two slowdowns are intended. They land as a merge, a squash, a squash of a branch that went on
after it was accepted, a rebase, or directly. What lands directly is accepted when the gate has found it. Of
the twelve of a year, three are undone after ten commits, and their entry is removed two commits later, as the
output suggests. The others stay until the next record contains them.

In each window two slowdowns are not intended; they are mended after four commits. One may be on top of an
accepted one, or come where one was undone, as large as that.

With --early, a benchmark is not timed any more as soon as it is slower than the base, as if nothing was
accepted: an ablation of the schedule's rule.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gnnbench.engine.drive import acceptable
from gnnbench.engine.drive.result import Result, Side
from gnnbench.engine.drive.settle import allowed
from gnnbench.engine.ground import environment
from gnnbench.engine.ground.codec import as_text
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.judge.comparison import Compared, Comparison
from gnnbench.engine.judge.schedule import Schedule
from gnnbench.engine.process.variants.prepare import Prepared
from gnnbench.engine.store import accepted

sys.path.insert(0, str(Path(__file__).parents[2]))
from experiments.ab import simulate as ab

WINDOW, WINDOWS = 50, 6
SIZES = (0.06, 0.08, 0.1, 0.15, 0.2, 0.3)
KINDS = (*["undone"] * 3, *["stays"] * 9)
LANDINGS = ("merge", "squash", "squash of more", "rebase", "direct")
UNDONE, REMOVED = 10, 12
FIXED = 4
"""Commits after which something happens to a slowdown."""


@dataclass
class Slowdown:
    """A commit that makes a benchmark slower."""

    at: int
    """Number of its commit on main."""
    name: str
    size: float
    kind: str
    """`undone`, `stays`, or of the unintended ones `alone`, `on top`, `again`."""
    landing: str = "direct"
    seen: list[int] = field(default_factory=list)
    """Commits at which it was reported."""
    accepted_at: int | None = None
    """From this commit on it is accepted."""

    @property
    def intended(self) -> bool:
        """Whether it is to be accepted."""
        return self.kind in KINDS

    @property
    def end(self) -> float:
        """Number of the commit that undoes it."""
        lasts = {"undone": UNDONE, "stays": math.inf}.get(self.kind, FIXED)
        return self.at + lasts

    def log(self, commit: int) -> float:
        """Return its part of the log time at a commit."""
        return math.log1p(self.size) if self.at <= commit < self.end else 0.0

    def holds(self, commit: int) -> bool:
        """Tell whether it is accepted at a commit."""
        return self.accepted_at is not None and self.accepted_at <= commit


def planned(random: np.random.Generator, windows: int) -> list[Slowdown]:
    """Return the slowdowns of a year."""
    kinds = list(map(str, random.permutation(KINDS)))
    landings = list(map(str, random.permutation(3 * LANDINGS)))
    found: list[Slowdown] = []
    for window in range(windows):
        start = window * WINDOW
        names = list(map(str, random.permutation(ab.NAMES)))
        ours = [
            Slowdown(
                start + int(random.integers(*place)), names.pop(), _size(random), kinds.pop(), landings.pop()
            )
            for place in ((3, 9), (10, 15))
        ]
        found += ours
        stays = [one for one in ours if one.kind == "stays"]
        undone = [one for one in ours if one.kind == "undone"]
        first, second = (start + int(random.integers(*place)) for place in ((30, 34), (40, 45)))
        if stays and window % 3 < 2:  # noqa: PLR2004 - in two of three windows
            found.append(Slowdown(first, stays[0].name, _size(random), "on top"))
        else:
            found.append(Slowdown(first, names.pop(), _size(random), "alone"))
        if undone:
            found.append(Slowdown(second, undone[0].name, undone[0].size, "again"))
        else:
            found.append(Slowdown(second, names.pop(), _size(random), "alone"))
    return found


def _size(random: np.random.Generator) -> float:
    return float(random.choice(SIZES))


class Repository:
    """The project, whose commits change one line of a file for each benchmark."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "-q", "-b", "main")
        for name in ("user.name=Ada", "user.email=ada@example.org", "commit.gpgsign=false", "gc.auto=0"):
            self.git("config", *name.split("="))
        for name in [*ab.NAMES, "other"]:
            (folder / name).write_text("0\n")
        self.commit("first")

    def git(self, *words: str) -> str:
        """Run git."""
        command = ["git", *words]
        done = subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message: str) -> str:
        """Commit everything; return the commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def edit(self, name: str, commit: int, part: str = "") -> None:
        """Change a benchmark's file."""
        with (self.folder / name).open("a") as file:
            file.write(f"{commit} {part}\n")


class Year:
    """Goes through the commits of a year.

    Args:
        seed: of the year.
        windows: its number of windows, at most six.
        folder: for the repository.
        early: see --early.
    """

    def __init__(self, seed: int, windows: int, folder: Path, *, early: bool) -> None:
        self.early = early
        self.random = np.random.default_rng([seed, 8])
        self.slowdowns = planned(self.random, windows)
        self.repository = Repository(folder)
        self.folder, self.windows = folder, windows
        self.environment = environment.collect(folder)
        self.counts: Counter[str] = Counter()
        self.surprises: list[str] = []

    def run(self) -> dict[str, Any]:
        """Return what happened."""
        for window in range(self.windows):
            start = window * WINDOW
            record = self.repository.git("rev-parse", "HEAD")
            for number in range(start + 1, start + WINDOW + 1):
                self._land(number)
                self._gate(number, start, record)
        return {
            "counts": dict(self.counts),
            "surprises": self.surprises,
            "slowdowns": [
                {**asdict(one), "missed_at_first": one.at not in one.seen} for one in self.slowdowns
            ],
        }

    def _land(self, number: int) -> None:
        """Make the commit of a number on main."""
        ours = [one for one in self.slowdowns if one.at == number]
        for one in self.slowdowns:
            if one.kind == "undone" and number == one.at + REMOVED:
                self._remove(one)
            if one.end == number:
                self.repository.edit(one.name, number, "mended")
        for one in ours:
            if one.intended and one.landing != "direct":
                self._land_branch(one)
                return
            self.repository.edit(one.name, number)
        self.repository.edit("other", number)
        self.repository.commit(f"commit {number}")

    def _remove(self, one: Slowdown) -> None:
        found = accepted.find(self.folder)
        numbers = {entry.number for entry in found.entries if entry.benchmark == one.name}
        accepted.write(found, [], numbers)

    def _land_branch(self, one: Slowdown) -> None:
        git, edit, commit = self.repository.git, self.repository.edit, self.repository.commit
        base = git("rev-parse", "HEAD")
        git("checkout", "-q", "-b", "branch")
        edit(one.name, one.at, "slow")
        commit("slow")
        edit(one.name, one.at, "more")
        head = commit("more")
        result = self._compared(base, head, {one.name: one.size})
        if self._accept(one, result):
            one.accepted_at = one.at
        else:
            self.counts["not slower in the pull request"] += 1
        commit("accept")
        if one.landing == "squash of more":
            edit(one.name, one.at, "review")
            commit("review")
        git("checkout", "-q", "main")
        edit("other", one.at)
        commit("meanwhile")
        if one.landing == "merge":
            git("merge", "-q", "--no-edit", "branch")
        elif one.landing == "rebase":
            git("checkout", "-q", "branch")
            git("rebase", "-q", "main")
            git("checkout", "-q", "main")
            git("merge", "-q", "--ff-only", "branch")
        else:
            git("merge", "-q", "--squash", "branch")
            commit("squash")
        git("branch", "-qD", "branch")

    def _accept(self, one: Slowdown, result: Result) -> bool:
        """Accept a benchmark as the command does; tell whether it was slower."""
        file = self.folder.parent / f"{self.folder.name}.json"
        file.write_text(as_text(result))
        found = accepted.find(self.folder)
        try:
            new, replaced = acceptable.entries(file, [one.name], found, one.kind)
        except UsageError:
            return False
        accepted.write(found, new, replaced)
        return True

    def _compared(self, base: str, head: str, effects: dict[str, float]) -> Result:
        """Compare two commits as `gnnbench ab` does, on the simulated machine."""
        entries = accepted.find(self.folder)
        sides = [Prepared(f"git:{one}", (), {}, one, dirty=False, versions={}) for one in (base, head)]
        limits = {} if self.early else allowed(entries, *sides)
        schedule = Schedule(ab.NAMES, ab.THRESHOLDS, ab.BUDGET, random=self.random, allowed=limits)
        machine = ab.Machine(self.random, effects)
        while plan := schedule.next():
            schedule.add(machine.pair(plan))
        self.counts["seconds"] += round(schedule.spent_seconds)
        rows = [Compared(name, one.judgement, None) for name, one in schedule.decisions().items()]
        found, spent = Comparison(rows), schedule.spent_seconds
        thresholds = replace(ab.THRESHOLDS, accepted=entries)
        result = Result("ab", *map(Side.of, sides), found, thresholds, self.environment, spent)
        return result.settled()

    def _gate(self, number: int, start: int, record: str) -> None:
        """Compare a commit of main with the record of its window, and count."""
        head = self.repository.git("rev-parse", "HEAD")
        ours = [one for one in self.slowdowns if start < one.at <= number]
        logs = {name: sum(one.log(number) for one in ours if one.name == name) for name in ab.NAMES}
        effects = {name: math.expm1(log) for name, log in logs.items() if log}
        result = self._compared(record, head, effects)
        judgements = {row.fullname: row.judgement for row in result.comparison.rows}
        verdicts = {name: one.verdict for name, one in judgements.items()}
        slower = {name for name, verdict in verdicts.items() if verdict == "slower"}
        # What is there and not accepted; the rest must not fail.
        present = [one for one in ours if one.log(number)]
        bad = {one.name for one in present if not one.holds(number)}
        self.counts["commits"] += 1
        if not bad:
            self.counts["commits without a slowdown"] += 1
            self.counts["of these failed"] += bool(slower)
        for name in slower - bad:
            self.surprises.append(f"commit {number}: {name} is slower: {judgements[name]}")
        for one in present:
            if one.holds(number) and one.name not in bad:
                self.counts["accepted benchmarks"] += 1
                self.counts["of these slower"] += one.name in slower
                self.counts["of these called accepted"] += verdicts[one.name] == "accepted"
            elif not one.holds(number) and one.name in slower:
                one.seen.append(number)
        self._count_recoveries(number, ours, result)
        for one in present:
            if one.intended and one.accepted_at is None and self._accept(one, result):
                one.accepted_at = number + 1

    def _count_recoveries(self, number: int, ours: list[Slowdown], result: Result) -> None:
        said = {line.partition(" is not as slow")[0] for line in result.notes if "any more (" in line}
        undone = {one.name for one in ours if one.kind == "undone" and one.end <= number < one.at + REMOVED}
        self.counts["undone benchmarks"] += len(undone)
        self.counts["of these named as recovered"] += len(undone & said)
        self.counts["wrongly named as recovered"] += len(said - undone)


def one_year(seed: int, windows: int = WINDOWS, *, early: bool = False) -> dict[str, Any]:
    """Simulate a year."""
    with tempfile.TemporaryDirectory(prefix="gnnbench-year-") as folder:
        project = Path(folder, "project")
        project.mkdir()
        return Year(seed, windows, project, early=early).run()


def summary(years: list[dict[str, Any]]) -> dict[str, Any]:
    """Count over years."""
    counts: Counter[str] = Counter()
    for year in years:
        counts.update(year["counts"])
    found: dict[str, Any] = {"years": len(years), **counts}
    slowdowns = [one for year in years for one in year["slowdowns"]]
    for kind in ("alone", "on top", "again"):
        ours = [one for one in slowdowns if one["kind"] == kind]
        found[f"unintended, {kind}"] = {
            "count": len(ours),
            "found at once": sum(not one["missed_at_first"] for one in ours),
            "found before mended": sum(bool(one["seen"]) for one in ours),
            "missed": sorted(one["size"] for one in ours if not one["seen"]),
            "sizes": dict(sorted(Counter(one["size"] for one in ours).items())),
        }
    intended = [one for one in slowdowns if one["kind"] in KINDS]
    found["intended"] = {
        "count": len(intended),
        "accepted": sum(one["accepted_at"] is not None for one in intended),
    }
    found["surprises"] = [line for year in years for line in year["surprises"]]
    return found


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--years", type=int, default=10)
    parser.add_argument("--windows", type=int, default=WINDOWS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--early", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    seeds = range(options.seed * 1000, options.seed * 1000 + options.years)
    ab.medians()  # the workers are forked, and have it too
    years = []
    with ProcessPoolExecutor() as pool:
        simulated = partial(one_year, windows=options.windows, early=options.early)
        for year in pool.map(simulated, seeds):
            years.append(year)
            print(f"{len(years)} of {len(seeds)}: {year['counts']}", file=sys.stderr, flush=True)
    text = json.dumps(summary(years), indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
