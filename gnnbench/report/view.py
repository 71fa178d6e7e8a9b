"""The content of a page or slide, independent of the files' formats."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Literal

from ..compare.allowed import Allowed
from ..compare.comparison import Compared
from ..compare.memory import MemoryChange
from ..compare.verdict import Judgement, Thresholds
from ..measure.counter_changes import Counters
from ..results.benchmark import Benchmark
from ..workloads.least_work import Limit
from ..workloads.spec import Spec
from .causes import Told
from .measured import Measured, ProcessBlocks, processes_of, time_of
from .page import fragment

_SHORT_COMMIT = 10


@dataclass(frozen=True)
class BenchmarkView:
    """One benchmark."""

    fullname: str
    title: str
    """Operation and direction, or the name of the test."""
    context: str
    """The fields of the spec in which the benchmarks of the page differ."""
    spec: Spec | None = None
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
    def judgement(self) -> Judgement | None:
        """None: it has no verdict."""
        return self.row.judgement if self.row else None

    @property
    def allowed(self) -> Allowed | None:
        """What is accepted; None: nothing is."""
        return self.row.allowed if self.row else None

    @property
    def memory(self) -> MemoryChange | None:
        """None: there is no verdict on its memory."""
        return self.row.memory if self.row else None

    @property
    def notes(self) -> tuple[str, ...]:
        """Changed code and counters, changed share of slow layouts."""
        return self.row.notes if self.row else ()

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
    def peak_bytes(self) -> int | None:
        """None: it is nondeterministic, or was not measured."""
        return self.counters.memory.get("peak_bytes") if self.counters else None

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
class JudgedBy:
    """Thresholds and sides of the verdicts."""

    thresholds: Thresholds | None
    """None: the verdicts were saved without them."""
    base: str
    """Description of the older side."""
    head: str = ""
    """Description of the newer side; empty: the file itself."""
    shared: Judgement | None = None
    """Verdict on all benchmarks together, if a drift was removed."""


@dataclass(frozen=True)
class BreakdownPart:
    """A range of a profiled call."""

    name: str
    seconds: float
    """Mean over the middle half of the repeats, by the time of the whole call."""
    self_seconds: float
    """Without nested ranges."""
    depth: int
    """Level of nesting, from 1."""


@dataclass(frozen=True)
class Bar:
    """A profiled call."""

    label: str
    """Platform, or "call"."""
    seconds: float
    """Sum of the ranges' times without nested ranges, and of the rest."""
    parts: tuple[BreakdownPart, ...]
    """Its ranges, depth first."""
    rest_seconds: float
    """Time outside of all ranges."""


@dataclass(frozen=True)
class Breakdown:
    """The time of calls by range, with platforms side by side."""

    title: str
    kind: str
    """`phases` or `layers`."""
    bars: tuple[Bar, ...]

    @property
    def work(self) -> str:
        """Return what was profiled, without widths and types: `epoch train on cora`."""
        return self.title.partition(" · ")[0]


@dataclass(frozen=True)
class View:
    """The whole content."""

    kind: Literal["run", "ab", "compare", "profile"]
    source: str
    """The file's name."""
    shared: str = ""
    """Graph, width and types that all benchmarks have in common."""
    benchmarks: tuple[BenchmarkView, ...] = ()
    judged: JudgedBy | None = None
    """None: there are no verdicts."""
    causes: tuple[Told, ...] = ()
    """Those of most benchmarks first."""
    breakdowns: tuple[Breakdown, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    """Place and time of the measurement: name and value."""
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[BenchmarkView, ...]:
        """The benchmarks with a row: those that this file has measured, or whose verdict needed times."""
        return tuple(
            one for one in self.benchmarks if one.time or not (one.judgement and one.judgement.same_code)
        )


def environment_facts(environment: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return name and value of each known field.

    Args:
        environment: from a file; empty if the file has none.
    """
    if not environment:
        return ()
    gpu = environment.get("gpu") or {}
    commit = environment.get("commit")
    changed = ", with uncommitted changes" if environment.get("dirty") else ""
    libraries = " · ".join(f"{name} {version}" for name, version in environment.get("libraries") or ())
    found = {
        "processor": environment.get("cpu"),
        "threads": environment.get("threads"),
        "GPU": gpu.get("name"),
        "system": environment.get("system"),
        "Python": environment.get("python"),
        "libraries": libraries,
        "commit": commit and f"{str(commit)[:_SHORT_COMMIT]}{changed}",
    }
    return tuple((name, str(value)) for name, value in found.items() if value)
