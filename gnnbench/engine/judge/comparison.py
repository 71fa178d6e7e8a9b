"""The comparison of two sides, benchmark by benchmark: verdicts, and differences in work and output."""

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
"""Largest number of counters in a note."""
Status = Literal["equal", "close", "differ", "not compared"]


@dataclass(frozen=True)
class Agreement:
    """How well the outputs of one benchmark on both sides agree."""

    status: Status
    """`close`: the outputs differ by no more than rounding errors can explain."""
    reason: str = ""
    """Where and how the outputs differ, or why they were not compared. Empty if there is nothing to add."""
    error: NotNegative | None = None
    """The largest difference between `close` outputs, in units in the last place of the largest value."""
    only_repeated: bool = False
    """Whether only the head does less work for inputs that it has seen before, so its time is misleading."""
    reservation: str = ""
    """What else differs, such as the type, or was not compared, although the values are equal or close."""
    excused: str | None = None
    """Why a different output does not fail the benchmark. None if nothing excuses it."""

    @property
    def is_different(self) -> bool:
        """Whether times are not comparable: outputs differ, or only the head reuses earlier results."""
        return self.status == "differ" or self.only_repeated

    @property
    def fails(self) -> bool:
        """Whether times cannot be compared, and nothing excuses this."""
        return self.is_different and self.excused is None


def not_compared(reason: str) -> Agreement:
    return Agreement("not compared", reason)


@dataclass(frozen=True)
class Work:
    """How the work of one call of a benchmark differs between the sides."""

    changed: Difference | None = None
    """Difference between the fingerprints of the code. None if a side has no fingerprint."""
    counters: tuple[CounterChange, ...] = ()
    no_fingerprint: str | None = None
    """Why a side has no fingerprint. None if both sides have one, or the reason is unknown."""
    instructions: InstructionChange | None = None
    cost: Positive | None = None
    """Cost of a call, head / base, if both sides run the same code. None if costs are equal or unknown."""

    @property
    def cost_sentence(self) -> str:
        """How the costs differ, as a phrase. Empty if they are equal or unknown."""
        return f"same code, but a call costs {units.ratio(self.cost, 'less')}" if self.cost else ""

    def notes(self) -> tuple[str, ...]:
        """Return notes on the code, counters and instructions that changed."""
        code = (f"code: {self.changed.sentence()}",) if self.changed else ()
        if self.changed is None and self.no_fingerprint:
            code = (f"code not compared: {self.no_fingerprint}",)
        if self.cost:
            code = (self.cost_sentence,)
        text = units.listed([str(counter) for counter in self.counters], _COUNTERS)
        counters = (f"counters: {text}",) if text else ()
        change = self.instructions
        instructions = (f"instructions: {change.sentence()}",) if change else ()
        return (*code, *counters, *instructions)


@dataclass(frozen=True)
class PairCounts:
    """How often and how long pairs of processes timed a benchmark."""

    pairs: Count
    """Pairs of processes that timed the benchmark, including excluded pairs."""
    excluded: Count
    """Pairs excluded as outliers."""
    rounds: Count
    """Rounds timed on each side."""
    layouts: Count
    """Blocks on each side, each with new copies of the inputs."""
    seconds: NotNegative
    """Time that all pairs spent on the benchmark."""
    decided: bool = True
    """Whether the benchmark is not timed again, because it is decided or given up."""


@dataclass(frozen=True)
class Compared:
    """One benchmark on both sides."""

    fullname: str
    judgement: Judgement
    seconds: Positive | None = None
    """The head's time: the median of pairs, or the geometric mean of saved processes. None if not timed."""
    notes: tuple[str, ...] = ()
    """The notes on `work`, and other notes."""
    labels: Labels | None = field(default=None, metadata=UNSAVED)
    work: Work = Work()
    redefined: str | None = None
    """How the two definitions of the benchmark differ, in graph or code. None if they are equal."""
    allowed: Allowed | None = None
    memory: MemoryChange | None = None
    """None if a side has no peak, peaks cannot be compared, or both sides run the same code."""
    counts: PairCounts | None = None
    """None if pairs of processes did not time the benchmark."""
    results: Agreement | None = None
    """None if outputs are not compared, or both sides run the same code."""
    on: GpuAndHost | None = None
    """The verdicts on the GPU's own time and on the host. None if wall or CPU time is judged."""

    @property
    def needs_more_memory(self) -> bool:
        """Whether the head needs more memory, and nothing excuses that."""
        return self.memory is not None and self.memory.fails

    @property
    def has_different_output(self) -> bool:
        """Whether the head's output makes times incomparable, and nothing excuses that."""
        return self.results is not None and self.results.fails

    @property
    def is_worse(self) -> bool:
        """Whether the head is slower, needs more memory or has a different output, without an excuse."""
        return self.judgement.verdict == "slower" or self.needs_more_memory or self.has_different_output


@dataclass(frozen=True)
class Comparison:
    """All benchmarks of two sides."""

    rows: list[Compared]

    @property
    def is_judged(self) -> bool:
        """Whether any time was judged, any benchmark is worse, or rules ignore all benchmarks."""
        rows = [row for row in self.rows if row.judgement.verdict != "ignored"]
        return bool(self.rows) and (not rows or any(row.judgement.judged or row.is_worse for row in rows))
