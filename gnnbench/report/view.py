"""What a page or a slide shows, as plain values: made from any of our files, drawn by whoever likes."""

from dataclasses import dataclass
from typing import Literal

from ..compare.verdict import Judgement, Thresholds
from ..workloads.spec import Spec

Side = Literal["base", "head"]


@dataclass(frozen=True)
class ProcessBlocks:
    """What a process measured of one benchmark."""

    side: Side
    blocks_ns: tuple[float, ...]
    """The median of each block, and so of each layout, in the order in which they were measured."""


@dataclass(frozen=True)
class Measured:
    """A benchmark's time, with what stands behind it."""

    seconds: float
    low_seconds: float | None
    """Of its interval, with `high_seconds`; None: too few blocks for a bound."""
    high_seconds: float | None
    level: float
    """Of the interval."""
    location: str
    """What the time is."""
    facts: tuple[tuple[str, str], ...] = ()
    """What else is known of it, by name."""
    remarks: tuple[str, ...] = ()
    """What must be known of it."""


@dataclass(frozen=True)
class CallCounts:
    """What one call does."""

    operators: tuple[tuple[str, int], ...]
    """Names and how often, the most frequent first; other libraries' functions are among them."""
    count: int
    """Of what PyTorch's dispatcher was asked for, as in the terminal's table."""
    host_reads: int
    peak_bytes: int | None
    allocated_bytes: int | None


@dataclass(frozen=True)
class Limit:
    """How far it is from what the machine can do."""

    fraction: float
    """The least time over the measured one."""
    bytes: int
    flops: int
    note: str
    """Why it is above 1; empty where it is not."""


@dataclass(frozen=True)
class BenchmarkView:
    """One benchmark."""

    fullname: str
    title: str
    """What is run."""
    context: str
    """On what, as far as the benchmarks of the page differ in it; empty where they do not."""
    spec: Spec | None = None
    seconds: float | None = None
    """None: not known."""
    measured: Measured | None = None
    work: CallCounts | None = None
    limit: Limit | None = None
    judgement: Judgement | None = None
    notes: tuple[str, ...] = ()
    """What stands beside the verdict: counters that differ, changed weights of layout modes."""
    processes: tuple[ProcessBlocks, ...] = ()
    error: str = ""
    """Why it was cut short."""

    @property
    def label(self) -> str:
        """Title and context."""
        return f"{self.title} {self.context}".strip()


@dataclass(frozen=True)
class JudgedBy:
    """How verdicts were reached."""

    thresholds: Thresholds | None
    """None: not known, of verdicts that were saved without."""
    base: str
    """What the older side was, in words."""
    head: str = ""
    """Likewise the newer, where it is not the file itself."""
    shared: Judgement | None = None
    """Of the run as a whole, where the machine drifted."""


@dataclass(frozen=True)
class BreakdownPart:
    """A range of a profiled call."""

    name: str
    seconds: float
    """Median over the repeats."""
    self_seconds: float
    """Without the ranges inside of it that are parts too."""
    depth: int
    """1 within the whole call, 2 within such a range, ..."""


@dataclass(frozen=True)
class Bar:
    """A profiled call."""

    label: str
    """Its platform, or its name where nothing stands beside it."""
    seconds: float
    parts: tuple[BreakdownPart, ...]
    """Those inside of it, depth first; what is left of it is the rest."""
    rest_seconds: float


@dataclass(frozen=True)
class Breakdown:
    """Where the time of a call goes, platforms side by side."""

    title: str
    kind: str
    """`phases` or `layers`."""
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Found:
    """How often an injected slowdown was called slower; of 0, identical code, how often it was wrong."""

    planted: float
    count: int
    of: int


@dataclass(frozen=True)
class Calibrated:
    """What is known of `gnnbench ab` on a machine."""

    settings: tuple[tuple[str, str], ...]
    false_positives: str
    """Verdicts on identical code that were false positives, in words."""
    false_positive_runs: str
    benchmarks: tuple[tuple[str, tuple[Found, ...], float | None], ...]
    """Name, how often each was found, and the smallest planted slowdown that is found often enough."""


@dataclass(frozen=True)
class View:
    """Everything."""

    kind: Literal["run", "ab", "compare", "calibration", "profile"]
    source: str
    """The file's name."""
    shared: str = ""
    """What all benchmarks have in common: the graph, widths, types."""
    benchmarks: tuple[BenchmarkView, ...] = ()
    judged: JudgedBy | None = None
    """None: there are no verdicts."""
    breakdowns: tuple[Breakdown, ...] = ()
    calibrations: tuple[Calibrated, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    """Where and when it was measured."""
    notes: tuple[str, ...] = ()
