"""The content of a page or slide (a view), which is read from a run file or a result."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ..drive import result
from ..drive.result import SHORT_COMMIT, Result, Side
from ..ground import json_io, units
from ..ground.environment import Environment
from ..ground.labels import Labels
from ..judge.comparison import Compared
from ..store import run_file
from ..store.run_file import Benchmark, RunFile
from . import wording
from .causes import Explained, of_result, ranked
from .measured import Measured, time_of
from .names import labels_in, short_and_shared

_NOT_TIMED = Benchmark("", ())
_REMEDY = "give a run file, or a result of gnnbench ab, or of gnnbench compare without --by"


@dataclass(frozen=True)
class BenchmarkView:
    """What a page shows about one benchmark."""

    fullname: str
    label: str
    """Operation, direction, platform, and inputs that differ on the page; or the test's name."""
    labels: Labels | None = None
    row: Compared | None = None
    """The verdict. None if the benchmark has none."""
    timed: Benchmark = _NOT_TIMED
    """The measurement. Empty if the file is a result, or has no times of the benchmark."""
    error: str = ""
    """Why the benchmark was interrupted. Empty if it was not."""

    @property
    def fragment(self) -> str:
        """The HTML id of the benchmark's row, the same on every page."""
        return f"b-{hashlib.sha256(self.fullname.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"

    @property
    def verdict(self) -> str:
        """The verdict to show. Empty if the benchmark has none."""
        return wording.verdict(self.row) if self.row else ""

    @property
    def ratio(self) -> float:
        """Head time / base time. 1 if the benchmark has no ratio."""
        return (self.row and self.row.judgement.ratio) or 1.0

    @property
    def slowdown(self) -> str:
        """A sentence on how much slower the benchmark is: `gcn_norm f+b torch is 1.12x slower`."""
        ratio = units.ratio(self.ratio, changed=True)
        if limit := self.row and self.row.allowed:
            beyond = units.ratio(self.ratio / limit.ratio, changed=True)
            return f"{self.label} is {beyond} slower than accepted ({ratio} in all)"
        return f"{self.label} is {ratio} slower"

    @cached_property
    def time(self) -> Measured | None:
        """The time in a run. None if the run did not measure the benchmark."""
        return time_of(self.timed)

    @property
    def seconds(self) -> float | None:
        """The time in seconds. None if unknown."""
        timing = self.time or self.row
        return timing.seconds if timing else None


@dataclass(frozen=True)
class View:
    """The content of a page or slide."""

    kind: str
    """The command that made the file; `report` for a run file."""
    source: str
    """Name of the file."""
    shared: str = ""
    """Graph, width and types that all benchmarks have in common."""
    benchmarks: tuple[BenchmarkView, ...] = ()
    result: Result | None = None
    """The verdicts. None if there are none. The head's title is empty if the head is the run file itself."""
    facts: tuple[tuple[str, str], ...] = ()
    """Machine and time of the measurement, as pairs of name and value."""
    notes: tuple[str, ...] = ()

    @cached_property
    def causes(self) -> list[Explained]:
        """Causes of the slowdowns, those with the most benchmarks first."""
        return of_result(self.result) if self.result else []

    @cached_property
    def changed(self) -> list[BenchmarkView]:
        """The changed benchmarks, sorted by `ranked`."""
        by_name = {view.fullname: view for view in self.benchmarks}
        rows = [view.row for view in self.benchmarks if view.row and wording.is_changed(view.row)]
        return [by_name[row.fullname] for row in ranked(rows, self.causes)]

    @cached_property
    def rows(self) -> list[BenchmarkView]:
        """The rows of the page's table: interrupted benchmarks, changed ones, others."""
        interrupted = [view for view in self.benchmarks if view.error]
        # A benchmark that was not timed because it runs the same code has no row.
        others = [
            view for view in self.benchmarks if view.time or not (view.row and view.row.judgement.same_code)
        ]
        return list({view.fullname: view for view in (*interrupted, *self.changed, *others)}.values())

    @cached_property
    def same_code(self) -> str:
        """How many benchmarks run the same code on both sides. Empty if none does."""
        count = sum(view.row is not None and view.row.judgement.same_code for view in self.benchmarks)
        return wording.same_code(count) if count else ""

    @property
    def headline(self) -> str:
        if not self.benchmarks:
            return "This file has no benchmarks"
        complete = [benchmark for benchmark in self.benchmarks if benchmark.row or not benchmark.error]
        interrupted = len(self.benchmarks) - len(complete)
        if all(benchmark.error for benchmark in self.benchmarks):
            return f"{wording.all_benchmarks(len(self.benchmarks), 'is', 'are')} interrupted"
        if self.result:
            text = self._verdicts([benchmark.row for benchmark in complete if benchmark.row], self.result)
        else:
            text = f"{units.count(len(complete), 'benchmark')}, not compared with a baseline"
        return f"{text}; {interrupted} interrupted" if interrupted else text

    def _verdicts(self, rows: Sequence[Compared], result: Result) -> str:
        """Return the headline of the verdicts, with the largest slowdown if a benchmark is slower."""
        headline = wording.headline(rows, result.thresholds.effect, busy=result.is_busy)
        slower = [view for view in self.benchmarks if view.verdict == "slower"]
        if not slower:
            return headline.text
        single = len(slower) == 1 and not any(row.needs_more_memory for row in rows)
        return f"{headline.main}{':' if single else ';'} {max(slower, key=lambda view: view.ratio).slowdown}"


def read(path: Path) -> View:
    """Return the view of a file, which is a run file or a saved result."""
    content = json_io.read(path, _REMEDY)
    kind = result.kind(content)
    if kind is None:
        json_io.refuse(path, "neither a run file nor a result", _REMEDY)
    run_or_result = run_file.parse(path, content) if kind == "run" else result.parse(path, content)
    with json_io.refusing(path, "damaged", "save it again"):
        return _of_run(run_or_result) if isinstance(run_or_result, RunFile) else _of_result(run_or_result)


def _of_result(result: Result) -> View:
    benchmarks, shared = _benchmarks(result.rows)
    timing = [] if result.seconds is None else [("took", f"{result.seconds:,.0f} s")]
    if (share := result.contention_share) is not None:
        timing.append(("CPU time of other programs", units.fraction(share)))
    facts = (*timing, *environment_facts(result.environment))
    return View(result.command, result.path.name, shared, benchmarks, result, facts, result.all_notes())


def _of_run(run: RunFile) -> View:
    compared = run.part.compared
    verdicts = replace(result.parse(run.path, compared), head=Side("")) if compared else None
    benchmarks, shared = _benchmarks(verdicts.rows if verdicts else (), run)
    timing = (("measured", run.datetime[:19].replace("T", " ")),) if run.datetime else ()
    facts = (*timing, *environment_facts(run.environment))
    notes = verdicts.notes if verdicts else ()
    return View("report", run.path.name, shared, benchmarks, verdicts, facts, notes)


def _benchmarks(
    rows: Sequence[Compared], run: RunFile | None = None
) -> tuple[tuple[BenchmarkView, ...], str]:
    """Return a view of each timed, judged or interrupted benchmark, and what their names have in common."""
    timed = run.benchmarks if run else {}
    verdicts = {row.fullname: row for row in rows}
    errors = {entry.fullname: str(entry.error) for entry in run.part.incomplete} if run else {}
    names = list(dict.fromkeys([*timed, *verdicts, *errors]))
    labels = {**labels_in(names), **{name: row.labels for name, row in timed.items() if row.labels}}
    short, shared = short_and_shared({name: labels[name] for name in names})
    views = (
        BenchmarkView(
            fullname=name,
            label=short[name],
            labels=labels[name],
            row=verdicts.get(name),
            timed=timed.get(name, _NOT_TIMED),
            error=errors.get(name, ""),
        )
        for name in names
    )
    return tuple(views), shared


def environment_facts(environment: Environment | None) -> tuple[tuple[str, str], ...]:
    """Return the fields of an environment that are not empty, as pairs of name and value."""
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
        "commit": environment.commit and f"{environment.commit[:SHORT_COMMIT]}{changed}",
    }
    return tuple((name, str(value)) for name, value in facts.items() if value)
