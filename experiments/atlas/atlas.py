"""Which releases of PyG, torch_sparse, torch_scatter and torch changed a benchmark's time by 5 % or more?

    python experiments/atlas/atlas.py run FOLDER [--package NAME ...] [--budget 360]
    python experiments/atlas/atlas.py commits FOLDER --clone PYG
    python experiments/atlas/atlas.py table FOLDER [--package NAME ...]
    python experiments/atlas/atlas.py results FOLDER [--package NAME ...]

Each release is compared with the one before it by `gnnbench ab`, on the benchmarks of this repository that
use the package. What changed by 5 % or more is compared a second time, alone. `commits` finds the commits of
the ten largest changes of PyG in a clone of it that has the tags. FOLDER keeps all results; a run continues
where an earlier one stopped. `table` prints the tables of docs/atlas.md. `results` compares what the
benchmarks of neighbouring releases return, times nothing, and prints the table of docs/results.md.
"""

import argparse
import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from gnnbench import units
from gnnbench.compare import causes, result
from gnnbench.compare.causes import Cause
from gnnbench.compare.comparison import Compared
from gnnbench.compare.result import Result
from gnnbench.compare.verdict import Verdict

_ROOT = Path(__file__).parents[2]
_GNNBENCH = str(Path(sys.executable).with_name("gnnbench"))
_RELEASES = {
    "torch_geometric": (
        *("2.3.0", "2.3.1", "2.4.0", "2.5.0", "2.5.1", "2.5.2", "2.5.3", "2.6.0", "2.6.1"),
        *("2.7.0", "2.8.0", "2.8.0.post1", "2.8.1"),
    ),
    "torch_sparse": ("0.6.15", "0.6.16", "0.6.17", "0.6.18"),
    "torch_scatter": ("2.0.9", "2.1.0", "2.1.1", "2.1.2"),
    "torch": ("2.11.0", "2.12.0", "2.12.1", "2.13.0", "2.14.0", "2.14.1"),
}
_PLATFORMS = {
    "torch_geometric": "pyg",
    "torch_sparse": "sparse",
    "torch_scatter": "pyg,sparse",
    "torch": "torch,pyg",
}
"""The platforms whose benchmarks use the package."""
_SINCE = "2.6.0"
"""Earlier releases of PyG cannot read Cora's files with torch 2.6 and newer: they run on its stand-in."""
_LEFT_OUT = "not compiled and not mh_ and not harness"
"""Compiling takes minutes in each process; the others' own code is not PyG's."""
_CHANGE = 0.05
_COMPARED = (0, 1, 3)
"""Exit codes of `gnnbench ab` after a comparison."""
_MIRRORED: dict[Verdict, Verdict] = {"slower": "faster", "faster": "slower"}
_NAMES = 3
"""Most functions or counters that a heading names."""
_LARGEST = 10
"""Number of changes whose commits are searched."""


class Step(NamedTuple):
    """Two neighbouring releases of a package."""

    package: str
    base: str
    head: str

    def file(self, folder: Path, which: str = "") -> Path:
        """Return where the result of a comparison is kept."""
        return folder / f"{self.package}-{self.base}-{self.head}{which}.json"

    @property
    def variants(self) -> list[str]:
        """Both sides, as `gnnbench ab` takes them."""
        equals = "===" if self.package == "torch" else "=="  # no build with a name, which few releases have
        return [f"pip:{self.package}{equals}{release}" for release in (self.base, self.head)]

    @property
    def options(self) -> list[str]:
        """Options of pytest."""
        old = self.package == "torch_geometric" and self.base < _SINCE
        dataset = "cora:synthetic" if old else "cora"
        return ["--gnn-platform", _PLATFORMS[self.package], "--gnn-dataset", dataset, "-k", _LEFT_OUT]


def steps(packages: list[str]) -> Iterator[Step]:
    """Yield all steps of some packages, the newest first."""
    for package in packages:
        for base, head in list(pairwise(_RELEASES[package]))[::-1]:
            yield Step(package, base, head)


def compare(step: Step, file: Path, budget: str, tests: list[str]) -> None:
    """Compare a step, unless its result is there or a side cannot be built."""
    failed = file.with_suffix(".failed")
    if file.exists() or failed.exists():
        return
    unfinished = file.with_suffix(".unfinished")
    command = [
        str(Path(sys.executable).with_name("gnnbench")),
        "ab",
        *step.variants,
        "--effect",
        f"{_CHANGE}",
    ]
    command += ["--total-budget", budget, "--json", str(unfinished.resolve()), "--", *tests, *step.options]
    ended = subprocess.run(command, cwd=_ROOT, check=False, capture_output=True, text=True)
    last = (ended.stdout or ended.stderr).strip().splitlines()[-1:]
    print(file.stem, *last, flush=True)
    if ended.returncode in _COMPARED:
        unfinished.rename(file)
    elif ended.returncode == 2:  # noqa: PLR2004 - a side cannot be built, or runs none of the benchmarks
        failed.write_text(ended.stderr, encoding="utf-8")
    else:
        raise SystemExit(ended.stderr)


def read(file: Path) -> Result | None:
    """Return a result, if it is there."""
    return result.read(file) if file.exists() else None


def changed(result: Result | None) -> dict[str, Compared]:
    """Return the benchmarks that are slower or faster by 5 % or more."""
    found = {}
    for row in result.comparison.rows if result else ():
        judged = row.judgement
        if judged.verdict in _MIRRORED and judged.ratio and max(judged.ratio, 1 / judged.ratio) > 1 + _CHANGE:
            found[row.fullname] = row
    return found


def run(folder: Path, packages: list[str], budget: str) -> None:
    """Compare what was not compared yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for step in steps(packages):
        compare(step, step.file(folder), budget, ["benchmarks"])
        if tests := list(changed(read(step.file(folder)))):
            compare(step, step.file(folder, "-again"), budget, tests)


def confirmed(first: Result | None, again: Result | None) -> dict[str, tuple[Compared, Compared]]:
    """Return the rows of the benchmarks that both comparisons found slower, or both faster."""
    seconds = changed(again)
    return {
        name: (row, seconds[name])
        for name, row in changed(first).items()
        if name in seconds and seconds[name].judgement.verdict == row.judgement.verdict
    }


def mirrored(row: Compared) -> Compared:
    """Return a row with slower for faster: `causes` looks at slower benchmarks."""
    verdict = row.judgement.verdict
    return replace(row, judgement=replace(row.judgement, verdict=_MIRRORED.get(verdict, verdict)))


def change_lines(step: Step, first: Result, again: Result) -> Iterator[str]:
    """Yield tables of the changes that both comparisons found, one for each cause."""
    found = confirmed(first, again)
    rows = [row for row, _ in found.values()]
    rows += [row for row in first.comparison.rows if row.judgement.verdict not in _MIRRORED]
    for verdict, sides in (("slower", rows), ("faster", list(map(mirrored, rows)))):
        for cause in causes.causes(sides):
            yield heading(step, verdict, cause)
            pairs = [found.pop(row.fullname) for row in cause.rows]
            yield from (line(*pair) for pair in pairs)
            yield command(first, [row.fullname for row, _ in pairs])
    for name, pair in found.items():
        yield heading(step, pair[0].judgement.verdict, pair[0].work.no_fingerprint)
        yield line(*pair)
        yield command(first, [name])


def heading(step: Step, verdict: str, cause: Cause | str | None) -> str:
    """Return the lines above the benchmarks of a cause; a text says why it is not known."""
    if isinstance(cause, Cause):
        texts = ", ".join(f"`{name}`" for name in (cause.names or cause.counters)[:_NAMES])
        more = f" ({', '.join(cause.counters[:_NAMES])})" if cause.names and cause.counters else ""
        through = f"{verdict} through {texts}{more}"
    else:
        through = f"{verdict}, cause not known" + (f": {cause}" if cause else "")
    return (
        f"\n**{step.package} {step.base} → {step.head}**, {through}\n\n"
        "| benchmark | first run | interval | second run | interval |\n|---|---|---|---|---|"
    )


def line(first: Compared, second: Compared) -> str:
    """Return the row of a benchmark."""
    cells = [first.fullname.rpartition("::")[2]]
    for judged in (first.judgement, second.judgement):
        cells += [f"{judged.ratio:.2f}x", units.interval(judged.low, judged.high)]
    return f"| {' | '.join(cells)} |"


def command(result: Result, names: list[str]) -> str:
    """Return the command that compares benchmarks again."""
    assert result.repeat
    return f"\n`{result.repeat.commands(names).ab}`"


def overview(folder: Path, packages: list[str]) -> Iterator[str]:
    """Yield a table row for each step: how many benchmarks have which verdict, and how many changed."""
    heads = "package", "releases", "benchmarks", "same code", "same", "undecided", "incomparable"
    yield f"| {' | '.join(heads)} | 5 % or more | also in the second run | note |"
    yield "|---" * (len(heads) + 3) + "|"
    for step in steps(packages):
        first, again = read(step.file(folder)), read(step.file(folder, "-again"))
        failed = step.file(folder).with_suffix(".failed")
        note = failed.read_text(encoding="utf-8").strip().splitlines()[-1] if failed.exists() else ""
        rows = first.comparison.rows if first else []
        kinds = Counter("same code" if row.judgement.same_code else row.judgement.verdict for row in rows)
        counts = [kinds[kind] for kind in ("same code", "same", "undecided", "incomparable")]
        changes = len(changed(first)), len(confirmed(first, again))
        cells = step.package, f"{step.base} → {step.head}", len(rows), *counts, *changes, note
        yield f"| {' | '.join(map(str, cells))} |"


def largest(folder: Path) -> dict[Step, list[str]]:
    """Return the benchmarks with the largest confirmed changes between releases of PyG, by step."""
    sizes = {
        (step, name): abs(math.log(row.judgement.ratio or 1))
        for step in steps(["torch_geometric"])
        for name, (row, _) in confirmed(read(step.file(folder)), read(step.file(folder, "-again"))).items()
    }
    found: dict[Step, list[str]] = {}
    for step, name in sorted(sizes, key=lambda one: -sizes[one])[:_LARGEST]:
        found.setdefault(step, []).append(name)
    return found


def search(folder: Path, clone: Path) -> None:
    """Find the commits of the largest changes."""
    for step, names in largest(folder).items():
        file = step.file(folder, "-commits")
        if file.exists() and not json.loads(file.read_text(encoding="utf-8"))["interrupted"]:
            continue
        ends = [f"git:{clone.resolve()}@{release}" for release in (step.base, step.head)]
        command = [_GNNBENCH, "bisect", *ends, "--json", str(file.resolve()), "--", *names, *step.options]
        subprocess.run(command, cwd=_ROOT, check=False)


def commit_lines(folder: Path) -> Iterator[str]:
    """Yield a table row for each of the largest changes, with its commits."""
    yield "| releases | benchmark | commits | ratio |\n|---|---|---|---|"
    for step, names in largest(folder).items():
        file = step.file(folder, "-commits")
        stages = json.loads(file.read_text(encoding="utf-8"))["stages"] if file.exists() else []
        changes = [change for stage in stages for change in stage["changes"]]
        for name in names:
            found = [
                (_causes(change["causes"]), f"{one['ratio']:.2f}x")
                for change in changes
                for one in change["benchmarks"]
                if one["id"] == name
            ]
            texts = [", ".join(column) for column in zip(*found, strict=True)] or ["not found", ""]
            cells = f"{step.base} → {step.head}", name.rpartition("::")[2], *texts
            yield f"| {' | '.join(cells)} |"


def _causes(causes: list[dict[str, Any]]) -> str:
    first = causes[0]
    more = f", or one of {len(causes) - 1} others" if len(causes) > 1 else ""
    return f"{first['name'][:10]} {first['title']}{more}"


def table(folder: Path, packages: list[str]) -> str:
    """Return the tables: what was compared, the commits of the largest changes, and all changes by cause."""
    lines = [*overview(folder, packages), "", *commit_lines(folder)]
    for step in steps(packages):
        first, again = read(step.file(folder)), read(step.file(folder, "-again"))
        if first and again:
            lines += change_lines(step, first, again)
    return "\n".join(lines) + "\n"


def results(folder: Path, packages: list[str]) -> Iterator[str]:
    """Compare the results of each step, unless that is done, and yield a table row for each."""
    folder.mkdir(parents=True, exist_ok=True)
    yield "| releases | same code | equal | close | differ | not compared | failed | largest error |"
    yield "|---|---|---|---|---|---|---|---|"
    for step in steps(packages):
        file = step.file(folder, "-results")
        if not file.exists():
            command = [_GNNBENCH, "affected", *step.variants, "--json", str(file.resolve())]
            subprocess.run([*command, "--", "benchmarks", *step.options], cwd=_ROOT, check=False)
        found = json.loads(file.read_text(encoding="utf-8"))["benchmarks"] if file.exists() else []
        agreements = [one["results"] for one in found if one["results"]]
        kinds = Counter(one["status"] for one in agreements)
        counts = [kinds[kind] for kind in ("equal", "close", "differ", "not compared")]
        same = sum(one["status"] == "same" for one in found)
        failed = sum(bool(one["failed"]) for one in found)
        error = max((one["error"] or 0.0 for one in agreements), default=0.0)
        cells = f"{step.base} → {step.head}", same, *counts, failed, f"{error:.1f}"
        yield f"| {' | '.join(map(str, cells))} |"
        for one in found:
            if one["results"] and one["results"]["status"] == "differ":
                print(f"{one['id']}: {one['results']['reason']}", file=sys.stderr)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("run", "commits", "table", "results"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--package", nargs="+", choices=tuple(_RELEASES), default=list(_RELEASES)[:-1])
    parser.add_argument("--budget", default="360", help="seconds for each comparison")
    parser.add_argument("--clone", type=Path, help="a clone of PyG")
    options = parser.parse_args()
    if options.what == "run":
        run(options.folder, options.package, options.budget)
    elif options.what == "commits":
        search(options.folder, options.clone)
    elif options.what == "results":
        for text in results(options.folder, options.package):
            print(text, flush=True)
    else:
        print(table(options.folder, options.package), end="")


if __name__ == "__main__":
    main()
