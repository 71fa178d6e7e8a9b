"""Runs one benchmark in a pair of processes, and times it in turns. In a turn, each side times one block.

The test of each side is *held*: it waits in its call of `benchmark` for commands, see `held.py`.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from ..ground.cpu import cores
from ..judge.comparison import Agreement
from ..judge.trial import Trial
from ..judge.visit import NOT_INSPECTED, Inspections, Kind, NotTimed, Size, Visit, lower_cost
from ..measure.clock import alternate
from ..measure.instructions import Instructions
from .forks import RETURN
from .outputs import Outputs
from .processes import SEED, Processes
from .variants.child import SIDES, DiedError
from .variants.outcome import SEVERAL

SAME_CODE = NotTimed("same code", "runs the same code")
_FAR = 20
"""If one side is faster by more than this factor, the sides differ in the number of calls in a round."""
_MOST_COSTS = 6
"""Largest number of measurements of the cost of a call."""

_Result = TypeVar("_Result")


class _EndedError(Exception):
    """A test has ended although it is still needed."""


class HeldBenchmark:
    """One benchmark whose test waits in its call of `benchmark` on both sides."""

    def __init__(self, processes: Processes, trial: Trial, core_rng: random.Random) -> None:
        self._processes, self._shared, self._trial = processes, processes.shared, trial
        self._core_rng = core_rng
        self._ended_tests: dict[str, NotTimed | None] = {}
        """The sides whose test has ended, each with the reason why it was not timed, or None."""
        self._is_once = self._skips_rest = False
        self.used: dict[str, dict[str, Any]] = {}
        """The code and files that each side used, see `UsageRecorder.take`; empty if this is not recorded."""

    def hold(
        self, do: Callable[["HeldBenchmark"], _Result | NotTimed], *, only_inspected: bool
    ) -> _Result | NotTimed:
        """Return `do`'s result while both sides hold the test, which may end there if `only_inspected`."""
        result: _Result | NotTimed = no_benchmark("")
        order = self._processes.order()
        random_seed = self._shared.rng.randrange(2**32)
        is_inspected = self._trial.inspections is not NOT_INSPECTED
        seed = random_seed if is_inspected else SEED
        run = {"command": "run", "name": self._trial.name, "seed": seed, "checked": is_inspected}
        answers = self._ask_sides(order, may_end=True, **run)
        self._is_once = any(answer.get("once") for answer in answers)
        if not self._ended_tests:
            with suppress(_EndedError):
                result = do(self)
        self._skips_rest = only_inspected and not all(answer.get("inspects", True) for answer in answers)
        # In one process, the test that began last ends first.
        groups = [[side] for side in reversed(order)] if self._processes.sessions else [order]
        for group in groups:
            while running := [side for side in group if side not in self._ended_tests]:
                self._ask_sides(running, may_end=True, command="next", leave=self._skips_rest)
        if failures := {side: failure for side, failure in self._ended_tests.items() if failure}:
            return join_reasons(failures)
        return result

    def count(self) -> list[Instructions] | NotTimed:
        """Return the number of instructions of a call on each side, or why a side cannot count them."""
        counts = []
        for side in SIDES:
            answer = self._ask(side, command="count")
            if answer["answer"] == "not counted":
                return join_reasons({side: NotTimed("failed", answer["reason"])})
            counts.append(Instructions.read(answer))
        return counts

    def time(self, seconds: float, end: float) -> Visit | NotTimed:
        """Time the benchmark in turns, or return that both sides run the same code.

        There are as many turns as fit into `seconds`, but at least enough of them to estimate their noise,
        unless these would end later than `end`.
        """
        if self.inspect().same_code and not self._shared.plan.time_all:
            return SAME_CODE
        if self._is_once:
            sizes, common_cores, seconds, end = dict.fromkeys(SIDES, Size(1, 1)), list[int](), 0.0, 0.0
        else:
            sizes, common_cores = self._calibrate()
        if sessions := self._processes.sessions:
            seed = self._core_rng.randrange(2**32)
            command = {"seconds": seconds, "end": end, "cores": common_cores, "seed": seed}
            command["sizes"] = {side: size._asdict() for side, size in sizes.items()}
            answer = self._ask(SIDES[0], command="turns", sessions=sessions, **command)
            return Visit.of(*(answer["blocks"][side] for side in SIDES))
        blocks: dict[str, list[Mapping[str, Any]]] = {side: [] for side in SIDES}

        def turn() -> None:
            core = self._core_rng.choice(common_cores) if common_cores else None
            for side in self._processes.order():
                blocks[side].append(self._ask(side, command="block", **sizes[side]._asdict(), core=core))

        alternate(turn, self._shared.now, seconds, end)
        return Visit.of(*(blocks[side] for side in SIDES))

    def inspect(self) -> Inspections:
        """Return what a call runs on both sides. The sides are asked only once in a run."""
        if self._trial.inspections is NOT_INSPECTED:
            settings, plan = self._processes.settings, self._shared.plan
            base, head = self._ask_sides(SIDES, command="inspect", compared=plan.results)
            inspections = Inspections.of(base, head, settings.differing_variables(), settings.trapped)
            if inspections.same_code and not plan.time_all:
                inspections = self._with_costs(inspections)
            elif inspections.same_launches and not plan.time_all:
                inspections = inspections.with_gpu_costs(self._costs(1))
            if plan.results and not inspections.same_code:
                outputs = Outputs(self._processes, self._trial.name, self._ask_sides)
                inspections = replace(inspections, results=outputs.agreement())
            self._trial.inspections = inspections
        return self._trial.inspections

    def agreement(self) -> Agreement:
        """Return how far the outputs of both sides agree, although both run the same code."""
        self._ask_sides(SIDES, command="inspect", compared=True)
        return Outputs(self._processes, self._trial.name, self._ask_sides).agreement()

    def _with_costs(self, inspections: Inspections) -> Inspections:
        """Return inspections with the cost of a call on each side.

        CPU times depend on the core and on other programs. So both sides measure again while their costs
        differ. The result is a difference only if the sides differ in the last and in the lowest costs.
        """
        lowest: list[dict[str, Any]] = []
        for number in range(_MOST_COSTS):
            costs = self._costs(number)
            lowest = [lower_cost(*pair) for pair in zip(lowest, costs, strict=True)] if lowest else costs
            is_strict = number < _MOST_COSTS - 1
            checked = inspections.with_costs(costs, is_strict=is_strict)
            if checked.work.cost:
                checked = inspections.with_costs(lowest, is_strict=is_strict)
            if not checked.work.cost:
                break
        return checked

    def _costs(self, number: int) -> list[dict[str, Any]]:
        """Measure the cost of a call on each side: for `number` 0 on any core, later in turn on one core."""
        if not number:
            return self._ask_sides(SIDES, command="cost")
        core = cores()[number % len(cores())]
        answers = {side: self._ask(side, command="cost", core=core) for side in self._processes.order()}
        return [answers[side] for side in SIDES]

    def _calibrate(self) -> tuple[dict[str, Size], list[int]]:
        """Warm both sides up; return the size of each side's blocks, and the cores that both may use."""
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
        return self._ask_sides([side], **command)[0]

    def _ask_sides(
        self, sides: Sequence[str], *, may_end: bool = False, **command: Any
    ) -> list[dict[str, Any]]:
        """Send a command to sides; return their answers, or raise _EndedError if a test ends too early."""
        answers: list[dict[str, Any]] = []
        groups = [[side] for side in sides] if self._processes.sessions else [sides]
        for group in groups:
            for side in group:
                self._processes.send(side, **command)
            answers += [self._answer(side, may_end=may_end) for side in group]
        if self._ended_tests and not may_end:
            raise _EndedError
        return answers

    def _answer(self, side: str, *, may_end: bool) -> dict[str, Any]:
        """Return the answer of a side. If its test has ended, store why the test was not timed."""
        answer = self._processes.answer(side)
        if answer["answer"] == "apart":
            raise DiedError(side, answer["reason"])
        if answer["answer"] != "done":
            return answer
        self.used[side] = answer.get("used", {})
        if (failure := answer["failure"]) and not (self._skips_rest and failure["skipped"]):
            kind: Kind = "skipped" if failure["skipped"] else "failed"
            text = failure["text"]
            self._ended_tests[side] = NotTimed("incomparable" if text in (RETURN, SEVERAL) else kind, text)
        elif not answer["held"]:
            self._ended_tests[side] = no_benchmark(answer["fixture"])
        else:
            self._ended_tests[side] = None if may_end else NotTimed("failed", "ended before it was timed")
        return answer


def no_benchmark(fixture: str) -> NotTimed:
    """Return that a test never calls pytest-benchmark's fixture. `fixture`: a line on another one, if any."""
    return NotTimed("no benchmark", f"no benchmark: {fixture or 'the test never calls `benchmark`'}")


def join_reasons(reasons: Mapping[str, NotTimed]) -> NotTimed:
    """Join the reasons why a benchmark was not timed on one side or both sides."""
    kinds = {reason.kind for reason in reasons.values()}
    if kinds == {"no benchmark"}:
        return next(iter(reasons.values()))
    sides = tuple(side for side in SIDES if side in reasons)
    texts = {side: reasons[side].text for side in sides}
    if len(set(texts.values())) == 1:
        texts = {" and ".join(sides): reasons[sides[0]].text}
    kind: Kind = "skipped" if kinds == {"skipped"} and sides == SIDES else "failed"
    if "incomparable" in kinds:
        kind = "incomparable"
    failing = sides[0] if len(sides) == 1 and kinds == {"failed"} else ""
    text = "; ".join(f"{names}: {text}" for names, text in texts.items())
    return NotTimed(kind, text, sides, head_fails=failing == "head", base_fails=failing == "base")
