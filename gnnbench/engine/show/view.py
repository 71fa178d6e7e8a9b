"""The content of a page or slide, independent of the files' formats."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..drive.result import Result
from ..ground import units
from ..ground.labels import Labels
from ..judge.comparison import Compared
from ..store.benchmark import Benchmark
from . import wording
from .causes import Explained, of_result
from .charts.layouts import Band, Layouts
from .measured import Measured, block_medians, time_of
from .page import fragment
from .verdicts import divided
from .wording import CHANGED

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
    before: tuple[Benchmark, ...] = ()
    """Its measurements in the runs of the older side."""
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
    def subject(self) -> str:
        """Operation and direction, `gcn_norm f+b`, or the name of the test."""
        return self.labels.subject if self.labels else self.label

    @property
    def where(self) -> str:
        """The platform, ` on torch`. Empty if it is unknown."""
        return f" on {self.labels.platform}" if self.labels else ""

    @property
    def change(self) -> str:
        """How its time changed, also beyond what is accepted: `gcn_norm f+b is 1.12x slower on torch`."""
        if self.verdict == "slower" and (limit := self.row and self.row.allowed):
            beyond = wording.times(self.verdict, self.ratio / limit.ratio)
            changed = f"{beyond} than accepted ({units.ratio(self.ratio)} in all)"
        else:
            changed = wording.times(self.verdict, self.ratio)
        return f"{self.subject} is {changed}{self.where}"

    @cached_property
    def time(self) -> Measured | None:
        """Its time in a run. None if it was not measured there."""
        return time_of(self.timed)

    @property
    def seconds(self) -> float | None:
        """Its time. None if it is not known."""
        found = self.time or self.row
        return found.seconds if found else None

    @cached_property
    def layouts(self) -> Layouts | None:
        """The layouts of each process, those of the older side first. None if none was measured."""
        older = [times for one in self.before for times in block_medians(one)]
        newer = block_medians(self.timed)
        every = [*older, *newer]
        if not every:
            return None
        length, unit = units.scale(self.seconds or float(np.median(np.concatenate(every))))
        names = [f"base {number}" for number in range(1, len(older) + 1)]
        names += [f"this {number}" for number in range(1, len(newer) + 1)] if len(newer) > 1 else ["this run"]
        bands = [
            Band(name, number >= len(older), [time / length for time in times])
            for number, (name, times) in enumerate(zip(names, every, strict=False))
        ]
        if self.time is None:
            return Layouts(bands, unit)
        low, high = self.time.interval or (self.time.seconds, self.time.seconds)
        return Layouts(bands, unit, (low / length, self.time.seconds / length, high / length))


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
    def moved(self) -> list[BenchmarkView]:
        """Slower benchmarks, accepted ones, then faster ones, each with the largest change first."""
        changed = [one for one in self.benchmarks if one.verdict in CHANGED]
        return sorted(changed, key=lambda one: (CHANGED.index(one.verdict), -abs(math.log(one.ratio))))

    @cached_property
    def side_by_side(self) -> dict[str, dict[str, list[BenchmarkView]]]:
        """Benchmarks that differ only in their platform: by graph and types, then by operation."""
        found: dict[str, dict[str, list[BenchmarkView]]] = {}
        for one in self.rows:
            if one.labels and one.seconds:
                found.setdefault(one.labels.heading, {}).setdefault(one.subject, []).append(one)
        several = {
            title: {what: ones for what, ones in rows.items() if len(ones) > 1}
            for title, rows in found.items()
        }
        return {title: rows for title, rows in several.items() if rows}

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
        slower = sum(one.verdict == "slower" for one in self.moved)
        if not slower:
            return found.whole
        alone = slower == 1 and not any(row.needs_more_memory for row in rows)
        return f"{found.said}{':' if alone else ';'} {self.moved[0].change}"


def ordered(benchmarks: Iterable[BenchmarkView]) -> list[BenchmarkView]:
    """Return what failed, then other changes, then the rest, each in the order of the file."""

    def place(one: BenchmarkView) -> int:
        if one.error or (one.row and one.row.is_worse):
            return 0
        return 1 if one.row and wording.is_changed(one.row) else 2

    return sorted(benchmarks, key=place)
