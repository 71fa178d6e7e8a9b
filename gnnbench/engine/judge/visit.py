"""What a pair of processes, one for each side, finds out about benchmarks.

A visit is the measurement of one benchmark in one pair of processes. It alternates between the sides: a turn
is one block of rounds of each side. An inspection counts what one call does, and fingerprints its code.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from statistics import fmean, geometric_mean, median
from typing import Any, Literal, NamedTuple, Self

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

_GPU_INPUT = {"operators", "inputs"}
"""Parts of a fingerprint that determine what the GPU computes."""
_EQUAL_GPU_TIME = 1.05
"""The GPU's own times of both sides count as equal up to this ratio."""
_CALLS_PER_OPERATOR = 500
"""Number of Python calls that take about as long as an operator on a small graph."""
_THROTTLED = 0.97
"""A GPU counts as slower than usual below this share of its usual clock rate."""
_BLOCK_SECONDS = 0.003
_MOST_ROUNDS = 50


class Size(NamedTuple):
    """The size of a benchmark's blocks. It is equal in all pairs of a run, so that times are comparable."""

    iterations: int
    rounds: int

    @classmethod
    def of(cls, iterations: int, round_seconds: Iterable[float]) -> Self:
        """Return the size of blocks that take about `_BLOCK_SECONDS`.

        `round_seconds`: duration of a round on each side. Their geometric mean is used, because one of the
        two processes may happen to be many times slower than usual.
        """
        rounds = round(_BLOCK_SECONDS / geometric_mean(round_seconds))
        return cls(iterations, min(max(rounds, 1), _MOST_ROUNDS))


@dataclass(frozen=True)
class CpuTimes:
    """The CPU times of a visit. Calls that wait or use other threads have none."""

    base_ns: tuple[float, ...]
    """Mean CPU time of a call, for each block of the base."""
    head_ns: tuple[float, ...]
    share: float
    """CPU time of the base's blocks / their duration. Other programs used the rest of the time."""

    @classmethod
    def of(cls, *sides: Sequence[Mapping[str, Any]]) -> Self | None:
        """Return the CPU times in the blocks of base and head. Returns None if a side's calls wait."""
        if any(block["cpu_ns"] is None for side in sides for block in side):
            return None
        if any(sum(block["waits"] for block in side) > max(1, len(side) // 100) for side in sides):
            return None
        base, head = (tuple(block["cpu_ns"] for block in side) for side in sides)
        return cls(base, head, fmean(block["cpu_share"] for block in sides[0]))


@dataclass(frozen=True)
class Visit:
    """The times of one benchmark in one pair of processes. Each block has new copies of the inputs."""

    base_ns: tuple[float, ...]
    """Median time of a call, for each block of the base in the order of measurement."""
    head_ns: tuple[float, ...]
    """Median time of a call, for each block of the head. Both sides have equally many blocks."""
    rounds: int
    """Number of rounds of each side in all blocks."""
    seconds: float
    """Duration of the visit, including set-up, calibration and tear-down on both sides."""
    mean_logs: tuple[float, ...] = ()
    """Log ratio, head / base, of the mean times of the blocks of each turn. Empty: that of the medians."""
    cpu: CpuTimes | None = None
    """None if the CPU time is unknown, or says nothing about the duration of a call."""
    gpu: "Visit | None" = None
    """The visit with the GPU's own times. None if a block has no GPU time."""
    wall: "Visit | None" = None
    """The visit with wall times, if `base_ns` and `head_ns` are the GPU's own times. Otherwise None."""

    @classmethod
    def of(cls, *sides: Sequence[Mapping[str, Any]]) -> Self:
        """Return a visit from the blocks that both sides report. The caller sets its `seconds`."""
        base, head = (tuple(block["ns"] for block in side) for side in sides)
        rounds = sum(block["rounds"] for block in sides[1])
        mean_logs = tuple(math.log(new["mean_ns"] / old["mean_ns"]) for old, new in zip(*sides, strict=False))
        by_gpu = None
        if all(block["gpu_ns"] for side in sides for block in side):
            turns = _at_usual_clock([*zip(*sides, strict=True)])
            of_base, of_head = (tuple(turn[side]["gpu_ns"] for turn in turns) for side in range(len(sides)))
            by_gpu = cls(of_base, of_head, rounds, 0.0)
        return cls(base, head, rounds, 0.0, mean_logs, CpuTimes.of(*sides), by_gpu)


def _at_usual_clock(turns: Sequence[Turn]) -> Sequence[Turn]:
    """Return the turns in which the GPU's clock was not slower than usual, or all if too few remain."""
    usual = median(block["gpu_hertz"] for turn in turns for block in turn)
    steady = [turn for turn in turns if min(block["gpu_hertz"] for block in turn) > _THROTTLED * usual]
    return steady if len(steady) >= FEWEST_BLOCKS else turns


@dataclass(frozen=True)
class NotTimed:
    """Why a benchmark was not timed in a pair of processes."""

    kind: Kind
    """`no benchmark`: the test does not use the fixture. `died`: a process ended or did not answer.
    `incomparable`: the sides cannot be compared. `head fails`: only the head fails, even if it runs alone."""
    text: str
    """One line. It names the side if the benchmark failed."""
    sides: tuple[str, ...] = field(default=(), compare=False)
    """The sides to which `kind` applies."""
    head_fails: bool = field(default=False, compare=False)
    """Whether the head raised, died or cannot be collected, although the base can be timed."""
    base_fails: bool = field(default=False, compare=False)
    """Whether the base raised, although the head can be timed."""


@dataclass(frozen=True)
class Inspections:
    """The inspections of one call of a benchmark, on both sides, and how they differ."""

    work: Work = field(default_factory=Work)
    sides: tuple[Mapping[str, Any], ...] = field(default=(), compare=False, metadata=UNSAVED)
    """What the worker of each side reported. Empty if the inspections were read from a file."""
    memory: MemoryChange | None = None
    """None if a side has no peak, or both sides run the same code."""
    results: Agreement | None = None
    """None if outputs are not compared, or both sides run the same code."""
    failed: str | None = None
    """Why the benchmark could not be inspected, in one line. None if it was inspected."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """Notes on differing files that both sides nevertheless share, and on GPU launches that differ."""
    same_kernels: bool = field(default=False, metadata=UNSAVED)
    """Whether the GPU runs the same kernels on the same values for equally long on both sides."""
    status: Status = field(init=False)
    """Whether the code that the benchmark runs changed. The benchmark is affected unless this is `same`."""

    def __post_init__(self) -> None:
        status: Status = "same" if self.same_code else "changed"
        object.__setattr__(self, "status", "unknown" if self.unknown else status)

    @property
    def unknown(self) -> str | None:
        """Why it is unknown whether both sides run the same code. None if this is known."""
        return self.failed or self.work.no_fingerprint

    @property
    def same_code(self) -> bool:
        """Whether both sides run the same code, with the same settings, kind of input, cost and launches."""
        is_same = self.work.changed is not None and not self.work.changed and self.work.cost is None
        return is_same and not self.other_launch

    @property
    def same_launches(self) -> bool:
        """Whether both sides launch the same kernels in the same order, on operators with equal inputs."""
        changed = self.work.changed
        if changed is None or self.process_wide or not _GPU_INPUT.isdisjoint(changed.work):
            return False
        return bool(self._launches) and all(self._launches) and not self.other_launch

    @property
    def _launches(self) -> Sequence[Sequence[str]]:
        """The GPU launches of each side. Empty for a side whose launches are unknown."""
        return [side.get("launches", ()) for side in self.sides]

    @property
    def other_launch(self) -> str:
        """The first GPU launch that differs. Empty if all are equal, or a side's launches are unknown."""
        if not all(self._launches):
            return ""
        differing = (pair for pair in zip_longest(*self._launches, fillvalue="nothing") if len({*pair}) > 1)
        return next((f"the head launches {head} in place of {base}" for base, head in differing), "")

    @property
    def same_work(self) -> bool:
        """Whether the host's work is known, and all its counts are equal on both sides."""
        return bool(self.sides) and all(side["counts"] for side in self.sides) and not self.work.counters

    @property
    def needs_host_time(self) -> bool:
        """Whether both sides use a GPU, and the host's work may differ. Then the host is judged too."""
        kernels = (side["counts"].get("kernels") for side in self.sides)
        uses_gpu = bool(self._launches) and all(map(any, zip(self._launches, kernels, strict=True)))
        return uses_gpu and not self.same_work

    @property
    def process_wide(self) -> tuple[str, ...] | None:
        """The settings and libraries that differ. They apply to a whole process. None if unknown."""
        changed = self.work.changed
        return None if changed is None else (*changed.settings, *changed.libraries)

    @property
    def added_work(self) -> float:
        """How many more operators and Python calls the head executes, as a share of the base's number.

        The larger the share, the likelier it is that the head is slower. An operator counts as
        _CALLS_PER_OPERATOR Python calls. 0 if a side was not counted, or both sides run the same code.
        """
        counts = [
            sum(
                number * (1 if name == PYTHON_CALLS else _CALLS_PER_OPERATOR)
                for name, number in side["counts"].items()
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
        """Compare what the workers of base and head report on one call.

        `variables`: names of environment variables that differ. `trapped`: libraries that count as equal,
        because none of their differing functions was executed.
        """
        counts = base["counts"], head["counts"]
        no_fingerprint = base["unseen"] or head["unseen"]
        if base["unseen"] != head["unseen"]:
            no_fingerprint = f"{'base' if base['unseen'] else 'head'}: {no_fingerprint}"
        difference = None
        if not no_fingerprint:
            prints = (codec.decode(side["fingerprint"], Fingerprint) for side in (base, head))
            difference = Difference.between(*prints)
            settings = dict.fromkeys((*difference.settings, *(f"${name}" for name in variables)))
            libraries = tuple(name for name in difference.libraries if name not in trapped)
            difference = replace(difference, libraries=libraries, settings=tuple(settings))
        memory = MemoryChange.between(*(Peaks.of(side.get("memory")) for side in (base, head)))
        if difference is not None and not difference:
            memory = None
        changes = between(*counts) if all(counts) else ()
        return cls(Work(difference, changes, no_fingerprint), (base, head), memory)

    def with_gpu_costs(self, answers: Sequence[Mapping[str, Any]]) -> "Inspections":
        """Return these inspections with `same_kernels` set, from the GPU times that the workers report."""
        costs = [codec.decode(answer["cost"], Cost).seconds for answer in answers if answer["cost"]]
        times = [seconds for seconds in costs if seconds]
        is_equal = len(times) == len(self.sides) and max(times) < _EQUAL_GPU_TIME * min(times)
        return replace(self, same_kernels=is_equal)

    def with_costs(self, answers: Sequence[Mapping[str, Any]], *, is_strict: bool) -> "Inspections":
        """Return these inspections with the costs of a call that the workers report; see `Cost.change`."""
        sides = tuple(
            {**side, "cost": answer["cost"]} for side, answer in zip(self.sides, answers, strict=True)
        )
        if reason := next((text for answer in answers if (text := answer.get("unseen"))), None):
            work = replace(self.work, changed=None, no_fingerprint=reason)
        else:
            base, head = (codec.decode(answer["cost"], Cost) for answer in answers)
            work = replace(self.work, cost=base.change(head, is_strict=is_strict) if self.same_code else None)
        return replace(self, work=work, sides=sides)


NOT_INSPECTED = Inspections()


def lower_cost(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lower of two costs that a worker reported, or the second answer if one has no cost."""
    if not (first["cost"] and second["cost"]):
        return {**first, **second}
    costs = (codec.decode(answer["cost"], Cost) for answer in (first, second))
    return {**first, "cost": codec.encode(next(costs).lower(next(costs)))}


@dataclass(frozen=True)
class PairTimes:
    """What one pair of fresh processes measured, by benchmark, and how long it took."""

    start_seconds: float
    """Time until both processes were ready."""
    visits: Mapping[str, Visit] = field(default_factory=dict)
    failures: Mapping[str, NotTimed] = field(default_factory=dict)
    """Why this pair did not time a benchmark."""
    further_start_seconds: float | None = None
    """Average time to start another pair. None if that takes as long as the start of this pair."""
