"""The verdicts of two sides, benchmark by benchmark."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from ..ground import codec, units
from ..ground.codec import Count, NotNegative, Positive
from ..ground.labels import Labels
from ..measure.counter_changes import CounterChange
from ..measure.fingerprint.difference import Difference
from .allowed import Allowed
from .instructions import InstructionChange
from .memory import MemoryChange
from .verdict import Judgement

_COUNTERS = 5
"""Counters that a note names."""
Status = Literal["equal", "close", "differ", "not compared"]


@dataclass(frozen=True)
class Agreement:
    """How the results of one benchmark agree on both sides."""

    status: Status
    """`close`: they differ by no more than rounding may change."""
    reason: str = ""
    """Where and how they differ, or why they were not compared; empty: nothing more is to be said."""
    error: NotNegative | None = None
    """Of results that are close, the largest error, in units in the last place of the largest value."""
    only_repeated: bool = False
    """Whether the head does less for inputs that it has seen, and the base does not: its time says nothing
    about new ones."""
    reservation: str = ""
    """What was not compared of an output that is equal or close, or is another, as a type; empty: nothing."""
    excused: str | None = None
    """Why another result does not fail: it is accepted; None: nothing excuses it."""

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
    """Between the fingerprints; None: a side has none."""
    counters: tuple[CounterChange, ...] = ()
    no_fingerprint: str | None = None
    """Why a side has no fingerprint; None: both have one, or nothing says why."""
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
        changes = units.listed([str(one) for one in self.counters], _COUNTERS)
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
    seconds: float | None
    """The head's time, the geometric mean of its processes; None: not measured."""
    notes: tuple[str, ...] = ()
    """Those of `work`, and others, such as a changed share of slow layouts."""
    labels: Labels | None = None
    work: Work = Work()
    redefined: str | None = None
    """How the definitions of the benchmark differ, in graph or code; None: they do not."""
    allowed: Allowed | None = None
    memory: MemoryChange | None = None
    """None: a side has no peak, the peaks cannot be compared, or both sides run the same code."""
    counts: PairCounts | None = None
    """None: it was not timed in turns."""
    results: Agreement | None = None
    """None: results were not asked for, or both sides run the same code."""

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
        """Whether it is slower, needs more memory or has another result, and nothing excuses that."""
        return self.judgement.verdict == "slower" or self.needs_more_memory or self.has_other_result

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form of docs/formats.md; all fields are on one level."""
        return {
            "id": self.fullname,
            **self.judgement.as_json(),
            "head_ns": None if self.seconds is None else self.seconds * 1e9,
            "notes": list(self.notes),
            **codec.encode(self.work),
            "accepted": codec.encode(self.allowed),
            "memory": codec.encode(self.memory),
            "results": codec.encode(self.results),
            **(codec.encode(self.counts) if self.counts else {}),
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any], name: str | None = None) -> Self:
        """Read what `as_json` returned."""
        found, work = codec.decode({"id": name, **saved}, SavedRow), codec.decode(saved, Work)
        return cls(
            found.id,
            Judgement.from_json(saved),
            None if found.head_ns is None else found.head_ns / 1e9,
            notes=found.notes,
            work=work,
            allowed=found.accepted,
            memory=found.memory,
            results=found.results,
        )


@dataclass(frozen=True)
class SavedRow:
    """The fields of `Compared.as_json` that are neither those of its judgement nor of its work."""

    id: str
    head_ns: Positive | None = None
    notes: tuple[str, ...] = ()
    accepted: Allowed | None = None
    memory: MemoryChange | None = None
    results: Agreement | None = None


@dataclass(frozen=True)
class Comparison:
    """All benchmarks of two sides."""

    rows: list[Compared]
