"""The content of a page or slide as plain values, independent of the files' formats."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..compare.allowed import Allowed
from ..compare.memory import MemoryChange
from ..compare.verdict import Judgement, Thresholds
from ..workloads.least_work import Limit
from ..workloads.spec import Spec
from .names import clean

_SHORT_COMMIT = 10

Side = Literal["base", "head"]


@dataclass(frozen=True)
class ProcessBlocks:
    """The blocks of one benchmark in one process."""

    side: Side
    blocks_ns: tuple[float, ...]
    """Median of each block (each has its own layout), in the order of measurement."""


@dataclass(frozen=True)
class Measured:
    """A benchmark's time and its interval."""

    seconds: float
    low_seconds: float | None
    """Lower bound of the interval; None, as `high_seconds`: too few blocks."""
    high_seconds: float | None
    level: float
    """Level of the interval."""
    location: str
    """Name of the estimate."""
    facts: tuple[tuple[str, str], ...] = ()
    """Further facts: name and value."""
    remarks: tuple[str, ...] = ()
    """Notes on the measurement."""


@dataclass(frozen=True)
class CallCounts:
    """The counters of one call."""

    operators: tuple[tuple[str, int], ...]
    """Name and number of calls, the most frequent first; with functions of other libraries."""
    count: int
    """Number of PyTorch operators, as in the terminal's table."""
    host_reads: int
    """Number of host-device synchronisations."""
    peak_bytes: int | None
    allocated_bytes: int | None


@dataclass(frozen=True)
class BenchmarkView:
    """One benchmark."""

    fullname: str
    title: str
    """Operation and direction, or the name of the test."""
    context: str
    """The fields of the spec in which the benchmarks of the page differ."""
    spec: Spec | None = None
    seconds: float | None = None
    """None: not known."""
    measured: Measured | None = None
    work: CallCounts | None = None
    limit: Limit | None = None
    judgement: Judgement | None = None
    allowed: Allowed | None = None
    """What is accepted; None: nothing is."""
    memory: MemoryChange | None = None
    """None: there is no verdict on its memory."""
    notes: tuple[str, ...] = ()
    """Changed counters, changed share of slow layouts."""
    processes: tuple[ProcessBlocks, ...] = ()
    error: str = ""
    """Why it was interrupted."""

    @property
    def label(self) -> str:
        """Title and context."""
        return f"{self.title} {self.context}".strip()


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
class CauseView:
    """What slower benchmarks have in common."""

    sentence: str
    fullnames: tuple[str, ...]
    """Of the benchmarks, the largest ratio first."""
    commands: tuple[tuple[str, str], ...]
    """What each does, and the command."""


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
    causes: tuple[CauseView, ...] = ()
    """Those of most benchmarks first."""
    breakdowns: tuple[Breakdown, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    """Place and time of the measurement: name and value."""
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[BenchmarkView, ...]:
        """The benchmarks with a row: those that this file has measured, or whose verdict needed times."""
        return tuple(
            one for one in self.benchmarks if one.measured or not (one.judgement and one.judgement.same_code)
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
    return tuple((name, clean(value)) for name, value in found.items() if value)
