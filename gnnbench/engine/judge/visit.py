"""The measurements of a pair of processes, one per side, which take turns, and a visit's estimates."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from statistics import geometric_mean, median
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from ..ground import codec
from ..ground.codec import UNSAVED
from ..measure.clock import FEWEST_BLOCKS
from ..measure.cost import Cost
from ..measure.counter_changes import PYTHON_CALLS, between
from ..measure.fingerprint.difference import Difference
from ..measure.fingerprint.fingerprint import Fingerprint
from .comparison import Agreement, Work
from .memory import MemoryChange, Peaks

Turn = tuple[Mapping[str, Any], ...]
"""A block of each side."""
Status = Literal["changed", "same", "unknown"]
Kind = Literal["same code", "skipped", "no benchmark", "died", "incomparable", "head fails", "failed"]

_GIVEN = {"operators", "inputs"}
"""Parts of a fingerprint's work that tell the input of the GPU."""
_AS_LONG = 1.05
"""Largest ratio of the GPU's own times at which it works equally long on both sides."""
_OPERATOR = 500
"""Number of Python calls that take about as long as an operator on a small graph."""
_THROTTLED = 0.97
"""Share of the usual clock rate below which a GPU is slower than usual."""
_BLOCK_SECONDS = 0.003
_MOST_ROUNDS = 50


class Size(NamedTuple):
    """The size of a block: the same in all pairs of a run, so that their times are comparable."""

    iterations: int
    rounds: int

    @classmethod
    def of(cls, iterations: int, round_seconds: Iterable[float]) -> Self:
        """Return the size of a block of about `_BLOCK_SECONDS`.

        `round_seconds`: length of a round of each side. Their geometric mean counts: one of the two
        processes may happen to be many times slower than usual.
        """
        rounds = round(_BLOCK_SECONDS / geometric_mean(round_seconds))
        return cls(iterations, min(max(rounds, 1), _MOST_ROUNDS))


@dataclass(frozen=True)
class CpuTimes:
    """The CPU time of a visit whose calls neither wait nor use other threads."""

    base_ns: tuple[float, ...]
    """CPU time of one call in each block of the base, the mean of the block."""
    head_ns: tuple[float, ...]
    share: float
    """CPU time of the base's blocks, as a share of their duration; other programs used the rest."""

    @classmethod
    def of(cls, *sides: Sequence[Mapping[str, Any]]) -> Self | None:
        """Return the CPU times from the workers' answers to `block`. Returns None if calls of a side wait."""
        if any(block["cpu_ns"] is None for side in sides for block in side):
            return None
        if any(sum(block["waits"] for block in side) > max(1, len(side) // 100) for side in sides):
            return None
        base, head = (tuple(block["cpu_ns"] for block in side) for side in sides)
        return cls(base, head, float(np.mean([block["cpu_share"] for block in sides[0]])))


@dataclass(frozen=True)
class Visit:
    """One benchmark in one pair: blocks of rounds in turns; each block has new copies of the inputs."""

    base_ns: tuple[float, ...]
    """Median time of one call in each block of the base."""
    head_ns: tuple[float, ...]
    """The same for the head: one value for each block of the base, in the order of measurement."""
    rounds: int
    """Number of rounds of each side, over all blocks."""
    seconds: float
    """Total duration, with set-up, calibration and tear-down of both sides."""
    cpu: CpuTimes | None = None
    """None if the CPU time is unknown, or says nothing about the duration of a call."""
    gpu: "Visit | None" = None
    """The same visit by the GPU's own time. None if a block has none."""
    wall: "Visit | None" = None
    """The same visit by wall time. None unless the GPU's own time counts."""

    @classmethod
    def of(cls, *sides: Sequence[Mapping[str, Any]]) -> Self:
        """Return a visit from the answers to `block` of the workers of base and head."""
        base, head = (tuple(block["ns"] for block in side) for side in sides)
        rounds = sum(block["rounds"] for block in sides[1])
        by_gpu = None
        if all(block["gpu_ns"] for side in sides for block in side):
            turns = _at_usual_clock([*zip(*sides, strict=True)])
            of_base, of_head = (tuple(turn[side]["gpu_ns"] for turn in turns) for side in range(len(sides)))
            by_gpu = cls(of_base, of_head, rounds, 0.0)
        return cls(base, head, rounds, 0.0, CpuTimes.of(*sides), by_gpu)


def _at_usual_clock(turns: Sequence[Turn]) -> Sequence[Turn]:
    """Return the turns in which the GPU's clock was as fast as usual on both sides, or all if too few."""
    usual = median(block["gpu_hertz"] for turn in turns for block in turn)
    steady = [turn for turn in turns if min(block["gpu_hertz"] for block in turn) > _THROTTLED * usual]
    return steady if len(steady) >= FEWEST_BLOCKS else turns


@dataclass(frozen=True)
class NotTimed:
    """Why a benchmark was not timed in a pair."""

    kind: Kind
    """Both sides run the same code, both skip it, neither calls `benchmark`, a process died or did not
    answer, the sides disturb each other, the head fails alone too, or anything else ("failed")."""
    text: str
    """One line, which names the side if the benchmark failed."""
    sides: tuple[str, ...] = field(default=(), compare=False)
    """The sides that failed, skipped, or have no benchmark."""
    head_fails: bool = field(default=False, compare=False)
    """Whether the head raised, died or cannot be collected, although the base can be timed."""
    base_fails: bool = field(default=False, compare=False)
    """Whether the base raised, although the head can be timed."""


@dataclass(frozen=True)
class Inspections:
    """The inspections of one benchmark on both sides."""

    work: Work = field(default_factory=Work)
    sides: tuple[Mapping[str, Any], ...] = field(default=(), compare=False, metadata=UNSAVED)
    """The answers of the workers of base and head. Empty if the inspections were read from a file."""
    memory: MemoryChange | None = None
    """None if a side has no peak, or both run the same code."""
    results: Agreement | None = None
    """None if outputs are not compared, or both sides run the same code."""
    failed: str | None = None
    """Why the benchmark could not be inspected, in one line. None if it was inspected."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """On files that both sides use although the files differ, and on launches that differ."""
    same_kernels: bool = field(default=False, metadata=UNSAVED)
    """Whether the GPU works equally long on both sides, and launches the same kernels on the same values."""
    status: Status = field(init=False)
    """Whether the code that the benchmark runs changed. A benchmark is affected unless this is `same`."""

    def __post_init__(self) -> None:
        status: Status = "same" if self.same_code else "changed"
        object.__setattr__(self, "status", "unknown" if self.unknown else status)

    @property
    def unknown(self) -> str | None:
        """Why it is unknown whether both sides run the same code. None if it is known."""
        return self.failed or self.work.no_fingerprint

    @property
    def same_code(self) -> bool:
        """Whether both sides run the same code, at the same cost, on the same kind of input and settings."""
        is_same = self.work.changed is not None and not self.work.changed and self.work.cost is None
        return is_same and not self.other_launch

    @property
    def on_gpu(self) -> bool:
        """Whether both sides run kernels on a GPU."""
        kernels = (side["counts"].get("kernels") for side in self.sides)
        return bool(self._launches) and all(map(any, zip(self._launches, kernels, strict=True)))

    @property
    def same_launches(self) -> bool:
        """Whether the GPU gets the same launches in the same order, and operators with the same values."""
        changed = self.work.changed
        if changed is None or changed.libraries or changed.settings or not _GIVEN.isdisjoint(changed.work):
            return False
        return bool(self._launches) and all(self._launches) and not self.other_launch

    @property
    def _launches(self) -> Sequence[Sequence[str]]:
        """The GPU launches of both sides; empty for a side whose launches are unknown."""
        return [side.get("launches", ()) for side in self.sides]

    @property
    def other_launch(self) -> str:
        """The first launch on a GPU that differs. Empty if none does, or a side's launches are unknown."""
        if not all(self._launches):
            return ""
        differing = (pair for pair in zip_longest(*self._launches, fillvalue="nothing") if len({*pair}) > 1)
        return next((f"launches {head} in place of {base}" for base, head in differing), "")

    @property
    def same_work(self) -> bool:
        """Whether the counts of the host's work are equal on both sides. Also False if they are unknown."""
        return bool(self.sides) and all(side["counts"] for side in self.sides) and not self.work.counters

    @property
    def common(self) -> tuple[str, ...] | None:
        """The differing settings and libraries, which all code of a process shares. None if unknown."""
        changed = self.work.changed
        return None if changed is None else (*changed.settings, *changed.libraries)

    @property
    def added_work(self) -> float:
        """How much more is counted in the head than in the base, as a share of the base's counts.

        The larger the share, the likelier the head is slower. An operator counts as much as _OPERATOR
        Python calls. The share is 0 if a side was not counted, or both run the same code.
        """
        counts = [
            sum(
                number * (1 if name == PYTHON_CALLS else _OPERATOR) for name, number in side["counts"].items()
            )
            for side in self.sides
        ]
        if self.same_code or not (counts and all(counts)):
            return 0.0
        base, head = counts
        return (head - base) / base

    @classmethod
    def of(
        cls,
        base: Mapping[str, Any],
        head: Mapping[str, Any],
        variables: Iterable[str] = (),
        trapped: Collection[str] = (),
    ) -> "Inspections":
        """Compare both workers' answers to `inspect`. `variables`: environment variables that differ.

        `trapped`: libraries that count as equal, as none of their functions that differ was executed.
        """
        counts = base["counts"], head["counts"]
        unseen = base["unseen"] or head["unseen"]
        if base["unseen"] != head["unseen"]:
            unseen = f"{'base' if base['unseen'] else 'head'}: {unseen}"
        difference = None
        if not unseen:
            prints = (codec.decode(side["fingerprint"], Fingerprint) for side in (base, head))
            difference = Difference.between(*prints)
            settings = (*difference.settings, *(f"${name}" for name in variables))
            libraries = tuple(name for name in difference.libraries if name not in trapped)
            settings = tuple(dict.fromkeys(settings))
            difference = replace(difference, libraries=libraries, settings=settings)
        memory = MemoryChange.between(*(Peaks.of(side.get("memory")) for side in (base, head)))
        if difference is not None and not difference:
            memory = None
        changes = between(*counts) if all(counts) else ()
        return cls(Work(difference, changes, unseen), (base, head), memory)

    def with_gpu_costs(self, answers: Sequence[Mapping[str, Any]]) -> "Inspections":
        """Return these inspections of equal launches, with both workers' answers to `cost`."""
        costs = [codec.decode(answer["cost"], Cost).seconds for answer in answers if answer["cost"]]
        times = [seconds for seconds in costs if seconds]
        return replace(
            self, same_kernels=len(times) == len(self.sides) and max(times) < _AS_LONG * min(times)
        )

    def with_costs(self, answers: Sequence[Mapping[str, Any]], *, is_strict: bool) -> "Inspections":
        """Return these inspections with both workers' answers to `cost`; see `Cost.change`."""
        sides = tuple(
            {**side, "cost": answer["cost"]} for side, answer in zip(self.sides, answers, strict=True)
        )
        if unseen := next((reason for answer in answers if (reason := answer.get("unseen"))), None):
            work = replace(self.work, changed=None, no_fingerprint=unseen)
        else:
            base, head = (codec.decode(answer["cost"], Cost) for answer in answers)
            work = replace(self.work, cost=base.change(head, is_strict=is_strict) if self.same_code else None)
        return replace(self, work=work, sides=sides)


def lower(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lower of a worker's two answers to `cost`, or one without numbers if either has none."""
    if not (first["cost"] and second["cost"]):
        return {**first, **second}
    costs = (codec.decode(answer["cost"], Cost) for answer in (first, second))
    return {**first, "cost": codec.encode(next(costs).lower(next(costs)))}


@dataclass(frozen=True)
class PairTimes:
    """One fresh process of each side."""

    start_seconds: float
    """Time until both were ready."""
    visits: Mapping[str, Visit] = field(default_factory=dict)
    """By benchmark."""
    failures: Mapping[str, NotTimed] = field(default_factory=dict)
    """By benchmark: why this pair did not time it."""
    settled_seconds: float = 0.0
    """Time for benchmarks that need no timing: both sides skip them, or run the same code."""
    further_start_seconds: float | None = None
    """How long the start of a further pair takes, on average. None if as long as that of this pair."""
