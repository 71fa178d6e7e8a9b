"""The content of a page or slide, and how it is read from a run file or a result."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ..drive import result
from ..drive.result import Result, Side
from ..ground import json_io, units
from ..ground.environment import Environment
from ..ground.labels import Labels
from ..judge.comparison import Compared
from ..store import run_file
from ..store.benchmark import Benchmark
from ..store.run_file import RunFile
from . import wording
from .causes import Explained, of_result
from .measured import Measured, time_of
from .names import labels_in, short_and_shared
from .verdicts import divided

_NOT_TIMED = Benchmark("", ())
_SHORT_COMMIT = 10
_REMEDY = "give a run file, or a result of gnnbench ab or compare"


@dataclass(frozen=True)
class BenchmarkView:
    """One benchmark."""

    fullname: str
    label: str
    """Operation, direction, platform, and what else differs on the page; or the name of the test."""
    labels: Labels | None = None
    row: Compared | None = None
    """Its verdict. None if it has none."""
    timed: Benchmark = _NOT_TIMED
    """Its measurement, which is empty if the file is a result or has none of it."""
    error: str = ""
    """Why it was interrupted."""

    @property
    def fragment(self) -> str:
        """Id of its row, the same in each page."""
        return f"b-{hashlib.sha256(self.fullname.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"

    @property
    def verdict(self) -> str:
        """Empty if it has none."""
        return wording.verdict(self.row) if self.row else ""

    @property
    def ratio(self) -> float:
        """1 if it has none."""
        return (self.row and self.row.judgement.ratio) or 1.0

    @property
    def slowdown(self) -> str:
        """How much slower it is, also beyond what is accepted: `gcn_norm f+b torch is 1.12x slower`."""
        ratio = units.ratio(self.ratio, changed=True)
        if limit := self.row and self.row.allowed:
            beyond = units.ratio(self.ratio / limit.ratio, changed=True)
            return f"{self.label} is {beyond} slower than accepted ({ratio} in all)"
        return f"{self.label} is {ratio} slower"

    @cached_property
    def time(self) -> Measured | None:
        """Its time in a run. None if it was not measured there."""
        return time_of(self.timed)

    @property
    def seconds(self) -> float | None:
        """Its time. None if it is not known."""
        found = self.time or self.row
        return found.seconds if found else None


@dataclass(frozen=True)
class View:
    """The whole content."""

    kind: str
    """`report`, or the command that made the file."""
    source: str
    shared: str = ""
    """Graph, width and types that all benchmarks have in common."""
    benchmarks: tuple[BenchmarkView, ...] = ()
    result: Result | None = None
    """The verdicts. None if there are none; its newer side has no text if it is the file of the page."""
    facts: tuple[tuple[str, str], ...] = ()
    """Place and time of the measurement: name and value."""
    notes: tuple[str, ...] = ()

    @cached_property
    def causes(self) -> list[Explained]:
        """What slower benchmarks have in common, those of most benchmarks first."""
        return of_result(self.result) if self.result else []

    @cached_property
    def rows(self) -> tuple[BenchmarkView, ...]:
        """The benchmarks with a row: those that this file has measured, or whose verdict needed times."""
        return tuple(
            one for one in self.benchmarks if one.time or not (one.row and one.row.judgement.same_code)
        )

    @cached_property
    def same_code(self) -> str:
        """One line on the benchmarks that run the same code on both sides. Empty if there are none."""
        return divided([one.row for one in self.benchmarks if one.row])[1]

    @property
    def headline(self) -> str:
        """The main result, on one line."""
        if not self.benchmarks:
            return "This file has no benchmarks"
        others = [one for one in self.benchmarks if one.row or not one.error]
        cut = len(self.benchmarks) - len(others)
        if all(one.error for one in self.benchmarks):
            return f"{wording.every(len(self.benchmarks), 'is', 'are')} interrupted"
        if self.result:
            text = self._verdicts([one.row for one in others if one.row], self.result)
        else:
            text = f"{units.count(len(others), 'benchmark')}, not compared with a baseline"
        return f"{text}; {cut} interrupted" if cut else text

    def _verdicts(self, rows: Sequence[Compared], result: Result) -> str:
        """Return the main result; of what is slower, the largest change."""
        found = wording.headline(rows, result.thresholds.effect, busy=result.is_busy)
        slower = [one for one in self.benchmarks if one.verdict == "slower"]
        if not slower:
            return found.whole
        alone = len(slower) == 1 and not any(row.needs_more_memory for row in rows)
        return f"{found.said}{':' if alone else ';'} {max(slower, key=lambda one: one.ratio).slowdown}"


def ordered(benchmarks: Iterable[BenchmarkView]) -> list[BenchmarkView]:
    """Return what failed, then other changes, then the rest, each in the order of the file."""

    def place(one: BenchmarkView) -> int:
        if one.error or (one.row and one.row.is_worse):
            return 0
        return 1 if one.row and wording.is_changed(one.row) else 2

    return sorted(benchmarks, key=place)


def read(path: Path) -> View:
    """Read the file of a page: a run file or a result."""
    content = json_io.read(path, _REMEDY)
    kind = result.kind(content)
    if kind is None:
        json_io.refuse(path, "neither a run file nor a result", _REMEDY)
    found = run_file.parse(path, content) if kind == "run" else result.parse(path, content)
    with json_io.refusing(path, "damaged", "save it again"):
        return _of_run(found) if isinstance(found, RunFile) else _of_result(found)


def _of_result(found: Result) -> View:
    benchmarks, common = _benchmarks(found.rows)
    taken = [] if found.seconds is None else [("took", f"{found.seconds:,.0f} s")]
    if (busy := found.contention_share) is not None:
        taken.append(("CPU time of other programs", units.fraction(busy)))
    facts = (*taken, *environment_facts(found.environment))
    return View(found.command, found.path.name, common, benchmarks, found, facts, found.all_notes())


def _of_run(run: RunFile) -> View:
    judged = _saved(run)
    benchmarks, common = _benchmarks(judged.rows if judged else (), run)
    taken = (("measured", run.datetime[:19].replace("T", " ")),) if run.datetime else ()
    facts = (*taken, *environment_facts(run.environment))
    return View("report", run.path.name, common, benchmarks, judged, facts, judged.notes if judged else ())


def _benchmarks(
    rows: Sequence[Compared], run: RunFile | None = None
) -> tuple[tuple[BenchmarkView, ...], str]:
    """Return the benchmarks of a run and those that have a verdict, and what all have in common."""
    timed = run.benchmarks if run else {}
    judged = {row.fullname: row for row in rows}
    cut = {one.fullname: str(one.error) for one in run.part.incomplete} if run else {}
    names = list(dict.fromkeys([*timed, *judged, *cut]))
    labels = {**labels_in(names), **{name: row.labels for name, row in timed.items() if row.labels}}
    short, common = short_and_shared({name: labels[name] for name in names})
    found = tuple(
        BenchmarkView(
            name,
            short[name],
            labels[name],
            judged.get(name),
            timed.get(name) or Benchmark(name, ()),
            cut.get(name, ""),
        )
        for name in names
    )
    return found, common


def _saved(run: RunFile) -> Result | None:
    """Return the verdicts of `--benchmark-compare` in a run file. Returns None if it has none."""
    saved = run.part.compared
    return replace(result.parse(run.path, saved), head=Side("")) if saved else None  # it is the page's file


def environment_facts(environment: Environment | None) -> tuple[tuple[str, str], ...]:
    """Return name and value of each known field."""
    if not environment:
        return ()
    changed = ", with uncommitted changes" if environment.dirty else ""
    facts = {
        "processor": environment.cpu,
        "threads": environment.threads,
        "GPU": environment.gpu and environment.gpu.name,
        "system": environment.system,
        "Python": environment.python,
        "libraries": " · ".join(map(" ".join, environment.libraries)),
        "commit": environment.commit and f"{environment.commit[:_SHORT_COMMIT]}{changed}",
    }
    return tuple((name, str(value)) for name, value in facts.items() if value)
