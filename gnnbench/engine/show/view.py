"""The content of a page or slide, independent of the files' formats."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..drive.result import Result
from ..ground import units
from ..ground.labels import Labels
from ..judge.comparison import Compared
from ..store.benchmark import Benchmark
from . import wording
from .causes import Explained, of_result
from .measured import Measured, time_of
from .page import fragment
from .verdicts import divided

_NOT_TIMED = Benchmark("", ())


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
        """Id of its row in a page."""
        return fragment(self.fullname)

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
    left_out: Sequence[str] = ()
    """What is left out of run files, a line for each reason."""

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
