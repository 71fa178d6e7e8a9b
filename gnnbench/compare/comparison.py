"""The verdicts of two sides, benchmark by benchmark."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from .. import codec, json_io
from ..measure.counter_changes import CounterChange
from ..measure.fingerprint.difference import Difference
from ..workloads.spec import Spec
from .allowed import Allowed
from .instructions import InstructionChange
from .memory import MemoryChange
from .verdict import Judgement


@dataclass(frozen=True)
class Work:
    """What one call of a benchmark does differently on both sides, as far as it is known."""

    difference: Difference | None = None
    """Between the fingerprints; None: a side has none."""
    counters: tuple[CounterChange, ...] = ()
    unseen: str | None = None
    """Why a side has no fingerprint; None: both have one, or nothing says why."""
    instructions: InstructionChange | None = None
    """None: they were not counted."""

    def notes(self) -> tuple[str, ...]:
        """Return the notes on code and counters that changed, if any did."""
        code = (f"code: {self.difference.sentence()}",) if self.difference else ()
        if self.difference is None and self.unseen:
            code = (f"code not compared, {self.unseen}",)
        counters = (f"counters: {', '.join(map(str, self.counters))}",) if self.counters else ()
        moved = self.instructions
        instructions = (f"instructions: {moved.sentence()}",) if moved else ()
        return (*code, *counters, *instructions)

    def as_json(self) -> dict[str, Any]:
        """Return the fields of a benchmark in saved results, see docs/formats.md, without instructions."""
        return {
            "counters": [asdict(change) for change in self.counters],
            "changed": codec.encode(self.difference),
            "no_fingerprint": self.unseen,
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Self:
        """Read what `as_json` returned; older files lack some or all of it."""
        changed = saved.get("changed")
        return cls(
            None if changed is None else codec.decode(changed, Difference),
            tuple(CounterChange(**change) for change in saved.get("counters", ())),
            saved.get("no_fingerprint"),
            InstructionChange.from_json(saved.get("instructions")),
        )


@dataclass(frozen=True)
class Compared:
    """One benchmark on both sides."""

    fullname: str
    judgement: Judgement
    seconds: float | None
    """The head's time, the geometric mean of its processes; None: not measured."""
    contended: bool = False
    """Whether no process of the head is known to be free of CPU contention."""
    notes: tuple[str, ...] = ()
    """Those of `work`, and others, such as a changed share of slow layouts."""
    spec: Spec | None = None
    work: Work = Work()
    redefined: str | None = None
    """How the definitions of the benchmark differ, in graph or code; None: they do not."""
    allowed: Allowed | None = None
    """None: no accepted slowdown is in force for it."""
    memory: MemoryChange | None = None
    """None: a side has no peak, the peaks cannot be compared, or both sides run the same code."""

    @property
    def needs_more_memory(self) -> bool:
        """Whether it needs more memory, and nothing excuses that."""
        return self.memory is not None and self.memory.fails

    @property
    def is_worse(self) -> bool:
        """Whether it is slower or needs more memory, and nothing excuses that."""
        return self.judgement.verdict == "slower" or self.needs_more_memory

    @classmethod
    def from_json(cls, name: str, saved: Mapping[str, Any]) -> Self:
        """Read a benchmark of a result of `gnnbench compare`, or the `comparison` of one in a run file.

        Args:
            name: its id.
            saved: the fields of docs/formats.md; a run file has the time elsewhere.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: a field is missing or has an impossible value.
        """
        nanoseconds = saved.get("head_ns")
        return cls(
            name,
            Judgement.from_json(saved),
            None if nanoseconds is None else json_io.positive(nanoseconds) / 1e9,
            notes=tuple(saved["notes"]),
            work=Work.from_json(saved),
            allowed=Allowed.from_json(saved.get("accepted")),
            memory=MemoryChange.from_json(saved.get("memory")),
        )


@dataclass(frozen=True)
class Comparison:
    """All benchmarks of two sides; `shared` as in `two_sample.JudgedRun`."""

    rows: list[Compared]
    shared: Judgement | None
