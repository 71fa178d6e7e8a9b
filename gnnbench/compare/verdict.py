"""One log ratio and its standard error in, a verdict out."""

import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from enum import Enum
from typing import Any, Literal, Self, get_args

from scipy import special

from .. import json_io, units

_WIDEST = 700.0

_SAVED = {"minimum_detectable_effect": "visible", "shrunk": "borrowed"}
"""Fields of a judgement that have another name in files."""

Verdict = Literal["slower", "faster", "same", "undecided", "incomparable"]


@dataclass(frozen=True)
class Thresholds:
    """The one set that all decisions are made by."""

    effect: float
    """A change that matters, as a fraction."""
    family_level: float = 0.99
    """Of the intervals that hold for all benchmarks of a run at once: by Bonferroni."""
    own_level: float = 0.95
    """Of a benchmark's own interval."""
    found: float = 0.9
    """Probability with which the minimum detectable effect is found."""


class Reason(Enum):
    """Why a benchmark has its verdict: code looks at the member, people read its text."""

    EXCLUDES_ONE = "the {family_level} interval for all benchmarks at once excludes 1"
    WITHIN_EFFECT = "the {own_level} interval lies within {effect}"
    SMALL_CHANGE = "surely different, but by less than {effect}"
    WIDE_INTERVAL = "the interval is too wide"
    TOO_FEW_BLOCKS = "too few blocks to have an interval"

    def text(self, thresholds: Thresholds) -> str:
        """Return the reason in words, with the levels and the effect that were decided by."""
        return self.value.format(
            family_level=units.level(thresholds.family_level),
            own_level=units.level(thresholds.own_level),
            effect=units.fraction(thresholds.effect),
        )


@dataclass(frozen=True)
class Judgement:
    """What was decided of one benchmark, and on what grounds."""

    verdict: Verdict
    reason: str
    ratio: float | None = None
    """Head's time over base's; None where one of them is missing."""
    low: float | None = None
    """Of the interval that holds for all benchmarks of the run at once, with `high`."""
    high: float | None = None
    own_low: float | None = None
    """Of the benchmark's own interval, with `own_high`."""
    own_high: float | None = None
    minimum_detectable_effect: float | None = None
    """A slowdown that would have been found nine times in ten, as a fraction."""
    process_sd: float | None = None
    """Standard deviation of a process's log time."""
    shrunk: bool = False
    """Whether the other benchmarks tell more of it than this one's own processes."""
    base_processes: int = 0
    head_processes: int = 0
    code: Reason | None = None
    """Which reason it is, where something depends on that. It is not saved."""

    @property
    def judged(self) -> bool:
        """Whether it could be compared, and there was enough to judge by: then there is an interval."""
        return self.verdict != "incomparable" and self.low is not None

    def looks_slower(self, thresholds: Thresholds) -> bool:
        """Tell whether it is worth measuring again: by the effect, and by a standard error or so.

        What is looked at again costs time only: the verdict is that on all processes.
        """
        if self.ratio is None or self.ratio < 1 + thresholds.effect:
            return False
        if self.own_high is None:
            return self.code is Reason.TOO_FEW_BLOCKS  # of one process; several have an interval
        return self.ratio**2 > self.own_high / self.ratio

    def as_json(self, notes: Sequence[str] = (), record: str | None = None) -> dict[str, Any]:
        """Return it as docs/formats.md describes it, with notes and the record that it was compared with."""
        saved = {_SAVED.get(name, name): value for name, value in asdict(self).items() if name != "code"}
        return {"against": record, **saved, "notes": list(notes)}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Self:
        """Read what `as_json` gave. A result of `gnnbench ab` lacks the fields about processes.

        Raises:
            KeyError, ValueError: it is something else.
        """
        if saved["verdict"] not in get_args(Verdict):
            raise ValueError(f"{reprlib.repr(saved['verdict'])} is no verdict")
        numbers: dict[str, Any] = {
            field.name: None if saved[name] is None else json_io.finite(saved[name])
            for field in fields(cls)
            if field.type == float | None and (name := _SAVED.get(field.name, field.name)) in saved
        }
        if numbers["ratio"] is not None:
            json_io.positive(numbers["ratio"])
        return cls(
            saved["verdict"],
            str(saved["reason"]),
            **numbers,
            shrunk=bool(saved.get("borrowed")),
            base_processes=int(json_io.finite(saved.get("base_processes", 0))),
            head_processes=int(json_io.finite(saved.get("head_processes", 0))),
        )


def confirmed(judgement: Judgement, fresh: int) -> Judgement:
    """Take back a verdict of slower that too few undisturbed processes have confirmed.

    Args:
        judgement: on all processes.
        fresh: processes that were to confirm it; two are needed, where there are so many.
    """
    if judgement.verdict == "slower" and judgement.head_processes < 1 + min(fresh, 2):
        return replace(judgement, verdict="undecided", reason="too few undisturbed processes confirmed it")
    return judgement


def judge_ratio(
    log_ratio: float,
    error: float,
    degrees_of_freedom: float,
    thresholds: Thresholds,
    family: int,
    least: float = 0.0,
) -> Judgement:
    """Judge a log ratio by its standard error.

    Args:
        log_ratio: head / base.
        error: its standard error.
        degrees_of_freedom: degrees of freedom of that.
        thresholds: what a verdict needs.
        family: benchmarks that the interval for all at once counts.
        least: what the caller wants the log ratio to exceed besides; it raises the minimum detectable effect.
    """
    own = _own(error, degrees_of_freedom, thresholds)
    wide = error * _quantile((1 - thresholds.family_level) / 2 / family, degrees_of_freedom)
    effect = math.log1p(thresholds.effect)
    detectable = max(wide, effect, least) + _margin(error, degrees_of_freedom, thresholds)
    verdict, code = _decide(log_ratio, own, wide, effect)
    low, high, own_low, own_high = (
        math.exp(_within(log_ratio + width)) for width in (-wide, wide, -own, own)
    )
    sees = math.expm1(_within(detectable))
    bounds = low, high, own_low, own_high
    return Judgement(verdict, code.text(thresholds), math.exp(log_ratio), *bounds, sees, code=code)


def detectable_after(
    first: float, again: float, degrees_of_freedom: float, thresholds: Thresholds, family: int, least: float
) -> float:
    """Return the smallest slowdown that is found where what looks slower is measured again, as a fraction.

    Args:
        first: standard error of the log ratio by which it has to look slower.
        again: standard error with the processes that confirm it.
        degrees_of_freedom: degrees of freedom of both.
        thresholds: what a verdict needs.
        family: benchmarks that the interval for all at once counts.
        least: what the log ratio with the processes that confirm has to exceed besides.
    """
    looks = max(math.log1p(thresholds.effect), _own(first, degrees_of_freedom, thresholds) / 2)
    looks += _margin(first, degrees_of_freedom, thresholds)
    found = judge_ratio(0.0, again, degrees_of_freedom, thresholds, family, least).minimum_detectable_effect
    assert found is not None
    return max(math.expm1(_within(looks)), found)


def _own(error: float, degrees_of_freedom: float, thresholds: Thresholds) -> float:
    return error * _quantile((1 - thresholds.own_level) / 2, degrees_of_freedom)


def _quantile(tail: float, degrees_of_freedom: float) -> float:
    """Return the quantile of Student's t with this much beyond; scipy.stats takes half a second to import."""
    return -float(special.stdtrit(degrees_of_freedom, tail))


def _margin(error: float, degrees_of_freedom: float, thresholds: Thresholds) -> float:
    return error * _quantile(1 - thresholds.found, degrees_of_freedom)


def _within(log: float) -> float:
    """Keep to what has an exponential: with two processes in all, an interval may be of any width."""
    return min(max(log, -_WIDEST), _WIDEST)


def _decide(log_ratio: float, own: float, wide: float, effect: float) -> tuple[Verdict, Reason]:
    if abs(log_ratio) > wide and abs(log_ratio) >= effect:
        return "slower" if log_ratio > 0 else "faster", Reason.EXCLUDES_ONE
    if abs(log_ratio) + own < effect:
        return "same", Reason.WITHIN_EFFECT
    return "undecided", Reason.SMALL_CHANGE if abs(log_ratio) > wide else Reason.WIDE_INTERVAL
