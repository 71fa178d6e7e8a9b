"""The verdicts of two sides, benchmark by benchmark."""

from dataclasses import dataclass, field
from typing import Literal

from ..ground import units
from ..ground.codec import UNSAVED, Count, NotNegative, Positive
from ..ground.labels import Labels
from ..measure.counter_changes import CounterChange
from ..measure.fingerprint.difference import Difference
from .allowed import Allowed
from .instructions import InstructionChange
from .memory import MemoryChange
from .verdict import GpuAndHost, Judgement

_COUNTERS = 5
"""Counters that a note names."""
Status = Literal["equal", "close", "differ", "not compared"]


@dataclass(frozen=True)
class Agreement:
    """How the results of one benchmark agree on both sides."""

    status: Status
    """`close`: they differ by no more than rounding may change."""
    reason: str = ""
    """Where and how they differ, or why they were not compared; empty if nothing more is to be said."""
    error: NotNegative | None = None
    """Of results that are close, the largest error, in units in the last place of the largest value."""
    only_repeated: bool = False
    """Whether the head does less for inputs that it has seen, and the base does not: its time says nothing
    about new ones."""
    reservation: str = ""
    """What was not compared of an output that is equal or close, or is another, as a type; empty: nothing."""
    excused: str | None = None
    """Why a different output does not fail: it is accepted. None if nothing excuses it."""

    @property
    def is_other(self) -> bool:
        """Whether the times cannot be compared: the sides return other results, or one keeps them."""
        return self.status == "differ" or self.only_repeated

    @property
    def fails(self) -> bool:
        """Whether that is so, and nothing excuses it."""
        return self.is_other and self.excused is None


def not_compared(reason: str) -> Agreement:
    """Return that results were not compared, and why."""
    return Agreement("not compared", reason)


@dataclass(frozen=True)
class Work:
    """What one call of a benchmark does differently on both sides, as far as it is known."""

    changed: Difference | None = None
    """Between the fingerprints. None if a side has none."""
    counters: tuple[CounterChange, ...] = ()
    no_fingerprint: str | None = None
    """Why a side has no fingerprint. None if both have one, or nothing says why."""
    instructions: InstructionChange | None = None
    cost: Positive | None = None
    """How many times as much a call of the head costs, though its code is the same. None if as much, or if it
    is not known."""

    @property
    def cost_sentence(self) -> str:
        """How the costs differ; empty if they do not."""
        return f"same code, but a call costs {units.ratio(self.cost, 'less')}" if self.cost else ""

    def notes(self) -> tuple[str, ...]:
        """Return the notes on code and counters that changed, if any did."""
        code = (f"code: {self.changed.sentence()}",) if self.changed else ()
        if self.changed is None and self.no_fingerprint:
            code = (f"code not compared, {self.no_fingerprint}",)
        if self.cost:
            code = (self.cost_sentence,)
        changes = units.listed([str(counter) for counter in self.counters], _COUNTERS)
        counters = (f"counters: {changes}",) if changes else ()
        moved = self.instructions
        instructions = (f"instructions: {moved.sentence()}",) if moved else ()
        return (*code, *counters, *instructions)


@dataclass(frozen=True)
class PairCounts:
    """How much a benchmark was timed in turns."""

    pairs: Count
    """Pairs of processes in which it was measured, the excluded ones too."""
    excluded: Count
    """Pairs excluded as outliers."""
    rounds: Count
    """Rounds timed on each side."""
    layouts: Count
    """Blocks on each side."""
    seconds: NotNegative
    """Time of its visits."""
    decided: bool = True
    """Whether it is not measured any more, because it is decided or given up."""


@dataclass(frozen=True)
class Compared:
    """One benchmark on both sides."""

    fullname: str
    judgement: Judgement
    seconds: Positive | None = None
    """The head's time, the geometric mean of its processes. None if not measured."""
    notes: tuple[str, ...] = ()
    """Those of `work`, and others, such as a changed share of slow layouts."""
    labels: Labels | None = field(default=None, metadata=UNSAVED)
    work: Work = Work()
    redefined: str | None = None
    """How the definitions of the benchmark differ, in graph or code. None if they do not."""
    allowed: Allowed | None = None
    memory: MemoryChange | None = None
    """None if a side has no peak, the peaks cannot be compared, or both sides run the same code."""
    counts: PairCounts | None = None
    """None if it was not timed in turns."""
    results: Agreement | None = None
    """None if results were not asked for, or both sides run the same code."""
    on: GpuAndHost | None = None
    """The verdicts on the GPU's own time and on the host. None if wall or CPU time is judged."""

    @property
    def needs_more_memory(self) -> bool:
        """Whether it needs more memory, and nothing excuses that."""
        return self.memory is not None and self.memory.fails

    @property
    def has_other_result(self) -> bool:
        """Whether the head computes something else, and nothing excuses that."""
        return self.results is not None and self.results.fails

    @property
    def is_worse(self) -> bool:
        """Whether it is slower, needs more memory or has a different output, and nothing excuses that."""
        return self.judgement.verdict == "slower" or self.needs_more_memory or self.has_other_result


@dataclass(frozen=True)
class Comparison:
    """All benchmarks of two sides."""

    rows: list[Compared]
