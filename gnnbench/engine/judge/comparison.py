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
"""Number of counters that a note names at most."""
Status = Literal["equal", "close", "differ", "not compared"]


@dataclass(frozen=True)
class Agreement:
    """How far the outputs of one benchmark agree on both sides."""

    status: Status
    """`close`: the outputs differ by no more than rounding may change."""
    reason: str = ""
    """Where and how the outputs differ, or why they were not compared. Empty if there is nothing to add."""
    error: NotNegative | None = None
    """The largest error of close outputs, in units in the last place of the largest value."""
    only_repeated: bool = False
    """Whether the head alone does less work for inputs that it has seen before. Then its time says nothing
    about new inputs."""
    reservation: str = ""
    """What was not compared or differs, such as the type, in an output that is equal or close otherwise."""
    excused: str | None = None
    """Why a different output does not fail: it is accepted. None if nothing excuses it."""

    @property
    def is_other(self) -> bool:
        """Whether times cannot be compared, because outputs differ or the head alone reuses earlier ones."""
        return self.status == "differ" or self.only_repeated

    @property
    def fails(self) -> bool:
        """Whether times cannot be compared, and nothing excuses this."""
        return self.is_other and self.excused is None


def not_compared(reason: str) -> Agreement:
    """Return the agreement of outputs that were not compared, with the reason."""
    return Agreement("not compared", reason)


@dataclass(frozen=True)
class Work:
    """The known differences between the sides in the work of one call of a benchmark."""

    changed: Difference | None = None
    """Difference between the fingerprints. None if a side has no fingerprint."""
    counters: tuple[CounterChange, ...] = ()
    no_fingerprint: str | None = None
    """Why a side has no fingerprint. None if both have one, or the reason is unknown."""
    instructions: InstructionChange | None = None
    cost: Positive | None = None
    """Cost of a call of the head / cost of a call of the base, if their code is the same. None if the costs
    are equal or unknown."""

    @property
    def cost_sentence(self) -> str:
        """A sentence on how the costs differ. Empty if they are equal or unknown."""
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
    """How much a benchmark was timed in turns."""

    pairs: Count
    """Pairs of processes that measured it, including excluded ones."""
    excluded: Count
    """Pairs excluded as outliers."""
    rounds: Count
    """Rounds timed on each side."""
    layouts: Count
    """Blocks on each side, each with new copies of the inputs."""
    seconds: NotNegative
    """Time that all pairs spent on it."""
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
    """The notes on `work`, and others."""
    labels: Labels | None = field(default=None, metadata=UNSAVED)
    work: Work = Work()
    redefined: str | None = None
    """How the definitions of the benchmark differ, in graph or code. None if they do not."""
    allowed: Allowed | None = None
    memory: MemoryChange | None = None
    """None if a side has no peak, peaks cannot be compared, or both sides run the same code."""
    counts: PairCounts | None = None
    """None if it was not timed in turns."""
    results: Agreement | None = None
    """None if outputs are not compared, or both sides run the same code."""
    on: GpuAndHost | None = None
    """The verdicts on the GPU's own time and on the host. None if wall or CPU time is judged."""

    @property
    def needs_more_memory(self) -> bool:
        """Whether it needs more memory, and nothing excuses that."""
        return self.memory is not None and self.memory.fails

    @property
    def has_other_result(self) -> bool:
        """Whether the head's output makes times incomparable, and nothing excuses that."""
        return self.results is not None and self.results.fails

    @property
    def is_worse(self) -> bool:
        """Whether it is slower, needs more memory or has a different output, and nothing excuses that."""
        return self.judgement.verdict == "slower" or self.needs_more_memory or self.has_other_result


@dataclass(frozen=True)
class Comparison:
    """All benchmarks of two sides."""

    rows: list[Compared]

    @property
    def is_judged(self) -> bool:
        """Whether there is a verdict on the time of any benchmark, or rules ignore all benchmarks."""
        judgements = [row.judgement for row in self.rows if row.judgement.verdict != "ignored"]
        return bool(self.rows) and (not judgements or any(row.judged for row in judgements))
