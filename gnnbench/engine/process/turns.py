"""Times one benchmark in a pair of processes: the sides take turns, a block of rounds each."""

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from ..ground.cpu import cores
from ..judge.trial import Trial
from ..judge.visit import Inspections, Kind, NotTimed, Size, Visit, lower
from ..measure.clock import alternate
from ..measure.instructions import Instructions
from .forks import RETURN
from .outputs import Outputs
from .processes import SEED, Processes
from .variants.child import SIDES, DiedError
from .variants.outcome import SEVERAL

SAME_CODE = NotTimed("same code", "runs the same code")
_NO_CALL = "the test never calls `benchmark`"
_FAR = 20
"""If a side is faster or slower by more than this factor, its rounds have a number of calls of their own."""
_COSTS = 6
"""How often is asked at most what a call costs."""

_Found = TypeVar("_Found")


class _EndedError(Exception):
    """The benchmark ended before it was told to."""


class Turns:
    """A test that is held in its call of `benchmark` on both sides."""

    def __init__(self, processes: Processes, trial: Trial, core_rng: random.Random) -> None:
        self._processes, self._shared, self._trial = processes, processes.shared, trial
        self._core_rng = core_rng
        self._ended: dict[str, NotTimed | None] = {}
        """The sides that have ended the test; why it could not be timed, or None."""
        self._once = self._leaves = False
        self.used: dict[str, dict[str, Any]] = {}
        """By side, what its process used until the end of the test, if it notes it."""

    def hold(self, do: Callable[["Turns"], _Found | NotTimed], *, only_inspected: bool) -> _Found | NotTimed:
        """Run the test, and `do` something while it is held; `only_inspected`: it may be left then."""
        result: _Found | NotTimed = no_benchmark("")
        order = self._processes.order()
        drawn, known = self._shared.rng.randrange(2**32), self._trial.inspections is not None
        seed, compared = drawn if known else SEED, self._shared.plan.results and not known
        run = {"name": self._trial.name, "seed": seed, "checked": known, "compared": compared}
        answers = self._at_once(order, ends=True, command="run", **run)
        self._once = any(answer.get("once") for answer in answers)
        if not self._ended:
            with suppress(_EndedError):
                result = do(self)
        self._leaves = only_inspected and not all(answer.get("inspects", True) for answer in answers)
        # In one process, the test that began last ends first.
        for group in [[side] for side in reversed(order)] if self._processes.sessions else [order]:
            while going := [side for side in group if side not in self._ended]:
                self._at_once(going, ends=True, command="next", leave=self._leaves)
        if failures := {side: failure for side, failure in self._ended.items() if failure}:
            return joined(failures)
        return result

    def count(self) -> list[Instructions] | NotTimed:
        """Count the instructions of a call on both sides."""
        counts = []
        for side in SIDES:
            answer = self._ask(side, command="count")
            if answer["answer"] == "not counted":
                return joined({side: NotTimed("failed", answer["reason"])})
            counts.append(Instructions.read(answer))
        return counts

    def time(self, seconds: float, end: float) -> Visit | NotTimed:
        """Time turns for some seconds, and enough to estimate their noise, unless both run the same code.

        `end`: fewer turns are enough if more do not end by this time.
        """
        if self.inspect().same_code and not self._shared.plan.time_all:
            return SAME_CODE
        if self._once:
            sizes, shared, seconds, end = dict.fromkeys(SIDES, Size(1, 1)), list[int](), 0.0, 0.0
        else:
            sizes, shared = self._calibrated()
        if sessions := self._processes.sessions:
            seed = self._core_rng.randrange(2**32)
            terms = {"seconds": seconds, "end": end, "cores": shared, "seed": seed}
            terms["sizes"] = {side: size._asdict() for side, size in sizes.items()}
            answer = self._ask(SIDES[0], command="turns", sessions=sessions, **terms)
            return Visit.of(*(answer["blocks"][side] for side in SIDES))
        blocks: dict[str, list[Mapping[str, Any]]] = {side: [] for side in SIDES}

        def turn() -> None:
            core = self._core_rng.choice(shared) if shared else None
            for side in self._processes.order():
                blocks[side].append(self._ask(side, command="block", **sizes[side]._asdict(), core=core))

        alternate(turn, self._shared.now, seconds, end)
        return Visit.of(*(blocks[side] for side in SIDES))

    def inspect(self) -> Inspections:
        """Inspect a call on both sides at once, if it was not inspected in this run."""
        if self._trial.inspections is None:
            terms, plan = self._processes.terms, self._shared.plan
            base, head = self._at_once(SIDES, command="inspect")
            inspections = Inspections.of(base, head, terms.differing_variables(), terms.trapped)
            if inspections.same_code and not plan.time_all:
                inspections = self._with_costs(inspections)
            elif inspections.same_launches and not plan.time_all:
                inspections = inspections.with_gpu_costs(self._costs(1))
            if plan.results and not inspections.same_code:
                outputs = Outputs(self._processes, self._trial.name, self._at_once)
                inspections = replace(inspections, results=outputs.agreement())
            self._trial.inspections = inspections
        return self._trial.inspections

    def _with_costs(self, inspections: Inspections) -> Inspections:
        """Return inspections with what a call costs on both sides.

        While this differs, both are asked again: CPU times depend on what else the machine does, and on the
        core. They differ if both those of the last time do and the lowest of all times.
        """
        lowest: list[dict[str, Any]] = []
        for number in range(_COSTS):
            asked = self._costs(number)
            lowest = [lower(*both) for both in zip(lowest, asked, strict=True)] if lowest else asked
            is_strict = number < _COSTS - 1
            checked = inspections.with_costs(asked, is_strict=is_strict)
            if checked.work.cost:
                checked = inspections.with_costs(lowest, is_strict=is_strict)
            if not checked.work.cost:
                break
        return checked

    def _costs(self, number: int) -> list[dict[str, Any]]:
        """Let both find out what a call costs: first (0) at once, then in turn, each time on another core."""
        if not number:
            return self._at_once(SIDES, command="cost")
        usable = cores()
        core = usable[number % len(usable)] if usable else None
        answers = {side: self._ask(side, command="cost", core=core) for side in self._processes.order()}
        return [answers[side] for side in SIDES]

    def _calibrated(self) -> tuple[dict[str, Size], list[int]]:
        """Warm both sides up; return the sizes of their blocks, and the cores that both can use."""
        answers = {side: self._ask(side, command="calibrate") for side in self._processes.order()}
        iterations = {side: answer["iterations"] for side, answer in answers.items()}
        lengths = {side: answer["round_seconds"] for side, answer in answers.items()}
        if self._trial.size is None:
            most = max(iterations.values())
            self._trial.size = Size.of(most, (lengths[side] / iterations[side] * most for side in SIDES))
        common = self._trial.size
        if all(each / _FAR <= common.iterations <= each * _FAR for each in iterations.values()):
            sizes = dict.fromkeys(SIDES, common)
        else:
            sizes = {side: Size.of(iterations[side], lengths.values()) for side in SIDES}
        base, head = (answers[side]["cores"] for side in SIDES)
        return sizes, [core for core in base if core in head]

    def _ask(self, side: str, **command: Any) -> dict[str, Any]:
        return self._at_once([side], **command)[0]

    def _at_once(self, sides: Sequence[str], *, ends: bool = False, **command: Any) -> list[dict[str, Any]]:
        """Let sides obey a command, and return their answers; `ends`: the test may end.

        They obey at once, or in one process one after the other.
        """
        answers: list[dict[str, Any]] = []
        for group in [[side] for side in sides] if self._processes.sessions else [sides]:
            for side in group:
                self._processes.send(side, **command)
            answers += [self._take(side, ends=ends) for side in group]
        if self._ended and not ends:
            raise _EndedError
        return answers

    def _take(self, side: str, *, ends: bool) -> dict[str, Any]:
        """Return the answer of a side, and note if the test has ended; too early, unless it `ends`."""
        answer = self._processes.answer(side)
        if answer["answer"] == "apart":
            raise DiedError(side, answer["reason"])
        if answer["answer"] != "done":
            return answer
        self.used[side] = answer.get("used", {})
        if (failure := answer["failure"]) and not (self._leaves and failure["skipped"]):
            kind: Kind = "skipped" if failure["skipped"] else "failed"
            text = failure["text"]
            self._ended[side] = NotTimed("incomparable" if text in (RETURN, SEVERAL) else kind, text)
        elif not answer["held"]:
            self._ended[side] = no_benchmark(answer["fixture"])
        else:
            self._ended[side] = None if ends else NotTimed("failed", "ended before it was timed")
        return answer


def no_benchmark(fixture: str) -> NotTimed:
    """Return why a test was not timed that passed without a call of pytest-benchmark's fixture."""
    return NotTimed("no benchmark", f"no benchmark: {fixture or _NO_CALL}")


def joined(reasons: Mapping[str, NotTimed]) -> NotTimed:
    """Return in one line why a benchmark was not timed, on one side or both."""
    kinds = {reason.kind for reason in reasons.values()}
    if kinds == {"no benchmark"}:
        return next(iter(reasons.values()))
    texts = {side: reasons[side].text for side in SIDES if side in reasons}
    if len(set(texts.values())) == 1:
        texts = {" and ".join(texts): next(iter(texts.values()))}
    text = "; ".join(f"{sides}: {text}" for sides, text in texts.items())
    kind: Kind = "skipped" if kinds == {"skipped"} and len(reasons) == len(SIDES) else "failed"
    if "incomparable" in kinds:
        kind = "incomparable"
    fails = [len(reasons) == 1 and side in reasons and reasons[side].kind == "failed" for side in SIDES]
    return NotTimed(kind, text, tuple(side for side in SIDES if side in reasons), *reversed(fails))
