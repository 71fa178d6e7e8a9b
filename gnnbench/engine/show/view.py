"""The content of a page or slide, independent of the files' formats."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Literal

from ..drive.result import Result, Side
from ..ground import units
from ..ground.labels import Labels, Limit
from ..judge.comparison import Compared
from ..judge.verdict import Thresholds
from ..measure.counter_changes import Counters
from ..store.benchmark import Benchmark
from . import wording
from .causes import Told
from .measured import Measured, ProcessBlocks, processes_of, time_of
from .page import fragment
from .verdicts import divided
from .wording import CHANGED


@dataclass(frozen=True)
class BenchmarkView:
    """One benchmark."""

    fullname: str
    title: str
    """Operation and direction, or the name of the test."""
    context: str
    """The platform, and the inputs in which the benchmarks of the page differ."""
    labels: Labels | None = None
    row: Compared | None = None
    """Its verdict; None: it has none."""
    timed: Benchmark | None = None
    """Its measurement; None: the file is a result, or has none of it."""
    before: tuple[Benchmark, ...] = ()
    """Its measurements in the runs of the older side."""
    error: str = ""
    """Why it was interrupted."""

    @property
    def label(self) -> str:
        """Title and context."""
        return f"{self.title} {self.context}".strip()

    @property
    def fragment(self) -> str:
        """Id of its row in a page."""
        return fragment(self.fullname)

    @property
    def verdict(self) -> str:
        """Empty: it has none."""
        return wording.verdict(self.row) if self.row else ""

    @property
    def ratio(self) -> float:
        """1: it has none."""
        return (self.row and self.row.judgement.ratio) or 1.0

    @property
    def is_changed(self) -> bool:
        """Whether its time, its memory or its output changed."""
        return self.row is not None and wording.is_changed(self.row)

    @property
    def failed(self) -> bool:
        """Whether it is slower, needs more memory, has a different output or was interrupted."""
        return bool(self.error or (self.row and self.row.is_worse))

    @property
    def subject(self) -> str:
        """Operation and direction, `gcn_norm f+b`, or the title."""
        return self.labels.subject if self.labels else self.title

    @property
    def where(self) -> str:
        """The platform, ` on torch`; empty: unknown."""
        return f" on {self.labels.platform}" if self.labels else ""

    @property
    def change(self) -> str:
        """How its time changed: `gcn_norm f+b is 1.12x slower on torch`.

        Of one that is slower than accepted, by how much, and the whole ratio.
        """
        if self.verdict == "slower" and (limit := self.row and self.row.allowed):
            beyond = wording.times(self.verdict, self.ratio / limit.ratio)
            changed = f"{beyond} than accepted ({units.ratio(self.ratio)} in all)"
        else:
            changed = wording.times(self.verdict, self.ratio)
        return f"{self.subject} is {changed}{self.where}"

    @cached_property
    def time(self) -> Measured | None:
        """Its time in a run; None: it was not measured there."""
        return time_of(self.timed) if self.timed else None

    @property
    def seconds(self) -> float | None:
        """None: not known."""
        found = self.time if self.timed else self.row
        return found.seconds if found else None

    @property
    def counters(self) -> Counters | None:
        """None: they were not counted."""
        return self.timed.part.counters if self.timed else None

    @property
    def limit(self) -> Limit | None:
        """None: there is no model of its least work."""
        return self.timed.part.limit if self.timed else None

    @cached_property
    def processes(self) -> tuple[ProcessBlocks, ...]:
        """The processes of the older side, then those of the newer."""
        older = (processes_of(one, "base") for one in self.before)
        return (*chain(*older), *(processes_of(self.timed, "head") if self.timed else ()))


@dataclass(frozen=True)
class Verdicts:
    """Verdicts, and what is known of them."""

    result: Result
    """Its newer side has no text if it is the file of the page."""
    thresholds: Thresholds | None
    """None: the verdicts were saved without them."""
    causes: tuple[Told, ...] = ()
    """Those of most benchmarks first."""


@dataclass(frozen=True)
class View:
    """The whole content."""

    kind: Literal["run", "ab", "compare"]
    source: str
    shared: str = ""
    """Graph, width and types that all benchmarks have in common."""
    benchmarks: tuple[BenchmarkView, ...] = ()
    judged: Verdicts | None = None
    """None: there are no verdicts."""
    facts: tuple[tuple[str, str], ...] = ()
    """Place and time of the measurement: name and value."""
    notes: tuple[str, ...] = ()

    @cached_property
    def rows(self) -> tuple[BenchmarkView, ...]:
        """The benchmarks with a row: those that this file has measured, or whose verdict needed times."""
        return tuple(
            one for one in self.benchmarks if one.time or not (one.row and one.row.judgement.same_code)
        )

    @property
    def sides(self) -> tuple[Side, Side] | None:
        """What was compared; None: there are no verdicts."""
        return (self.judged.result.base, self.judged.result.head) if self.judged else None

    @cached_property
    def moved(self) -> list[BenchmarkView]:
        """Slower benchmarks, accepted ones, then faster ones, each with the largest change first."""
        changed = [one for one in self.benchmarks if one.verdict in CHANGED]
        return sorted(changed, key=lambda one: (CHANGED.index(one.verdict), -abs(math.log(one.ratio))))

    @cached_property
    def weighed(self) -> list[BenchmarkView]:
        """The benchmarks whose memory changed, those that need most more first."""
        added = [
            (memory.head_bytes - memory.base_bytes, one)
            for one in self.benchmarks
            if one.row and (memory := one.row.memory) and memory.changed
        ]
        return [one for _, one in sorted(added, key=lambda pair: -pair[0])]

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
        """One line on the benchmarks that run the same code on both sides; empty: there are none."""
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
        if self.judged:
            text = self._verdicts([one.row for one in others if one.row], self.judged)
        else:
            text = f"{units.count(len(others), 'benchmark')}, not compared with a baseline"
        return f"{text}; {cut} interrupted" if cut else text

    def _verdicts(self, rows: Sequence[Compared], judged: Verdicts) -> str:
        """Return the main result; of what is slower, the largest change."""
        effect = judged.thresholds.effect if judged.thresholds else None
        found = wording.headline(rows, effect, busy=judged.result.is_busy)
        slower = sum(one.verdict == "slower" for one in self.moved)
        if not slower:
            return found.whole
        alone = slower == 1 and not any(row.needs_more_memory for row in rows)
        return f"{found.said}{':' if alone else ';'} {self.moved[0].change}"


def ordered(benchmarks: Iterable[BenchmarkView]) -> tuple[BenchmarkView, ...]:
    """Return what failed, then other changes, then the rest, each in the order of the file."""
    return tuple(sorted(benchmarks, key=lambda one: 0 if one.failed else 1 if one.is_changed else 2))
