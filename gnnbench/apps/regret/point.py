"""Checks all ways to compute an operation at one point of the grid, and times the correct ones in a race."""

import math
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from ...engine.ground.errors import one_line
from ...engine.ground.packages import is_installed
from ...engine.measure.clock import Call, Clock, calibrated_iterations, wanted_seconds
from ...engine.measure.conditions import collector_paused, cpu_threads
from ...engine.measure.layouts import Layouts
from ...suite import platforms
from ...suite.accuracy import MismatchError
from ...suite.backward import leaves, with_backward
from ...suite.case import Case
from ...suite.cells import not_installed
from ...suite.graphs.graph import Graph
from ...suite.kept_reference import KeptReference
from ...suite.spec import FORWARD_BACKWARD, Spec
from ...suite.verify import verify
from .families import Family, Implementation, structure_kind
from .race import ANALYSES, BETWEEN_PROCESSES, FRESH_ANALYSES, Race, Ratio, ratio_in
from .result import Place, Point, Way

_TRIALS = 3
"""Before the race, each way is timed for this many calls and this many rounds; the fastest counts."""
_MOST_RATIO = 4.0
"""A way is excluded if, before the race, it takes more than this many times as long as the fastest way."""
_ROUNDS = 3
"""Number of rounds in a block."""
_LONG_SECONDS = 0.01
"""If a round takes longer than this, a block has one round."""
_PRECISE = 0.25
"""A ratio is precise if its half-width is at most the effect or this fraction of the log ratio."""


@dataclass(frozen=True)
class _Entrant:
    """A way that is ready to be timed."""

    way: Implementation
    takes: str
    """The kind of structure that the way takes: see `structure_kind`."""
    call: Call
    context: Callable[[], AbstractContextManager[None]]
    """Returns the context in which a call runs."""
    iterations: int = 1
    rounds: int = _ROUNDS


def measure(
    family: Family,
    place: Place,
    graph: Graph,
    reference: KeptReference,
    clock_of: Callable[[Sequence[str]], Clock],
    effect: float,
    seconds: float,
) -> Point:
    """Check all ways, time the correct ones for about `seconds` or a few blocks, and return the point."""
    clock = clock_of([place.device])
    end_seconds = clock.now() + seconds
    point = Point(place, graph.num_nodes, graph.num_edges)
    with cpu_threads(place.threads):
        entrants = _correct_ways(family, place, graph, reference, point.left_out)
        return _Timing(entrants, clock, effect, end_seconds).run(point) if entrants else point


def _correct_ways(
    family: Family, place: Place, graph: Graph, reference: KeptReference, left_out: dict[str, str]
) -> list[_Entrant]:
    """Return the ways with a correct output; add to `left_out` the reasons why the others are missing."""
    entrants: list[_Entrant] = []
    inputs: tuple[Any, ...] | None = None
    for way in family.implementations():
        spec = Spec(
            way.operation.name,
            place.direction,
            way.platform,
            place.dtype,
            place.index_dtype,
            graph.name,
            place.hidden,
            place.device,
        )
        case = Case(spec, graph)
        if reason := _obstacle(way, spec, graph):
            left_out[way.id] = reason
            continue
        hides_pyg_lib = (
            way.is_call and way.platform == "pyg" and way.operation.with_pyg_lib and is_installed("pyg_lib")
        )
        context = platforms.without_pyg_lib if hides_pyg_lib else nullcontext
        if inputs is None:  # made once, because all ways are timed on the same inputs
            inputs = family.inputs(case)
        try:
            with context():
                entrants.append(_check(family, way, case, inputs, reference, context))
        except MismatchError as error:
            left_out[way.id] = f"its output is wrong: {one_line(str(error))}"
        except Exception as error:  # noqa: BLE001 - a library may refuse a type with any error
            left_out[way.id] = f"{type(error).__name__}: {one_line(str(error))}"
    return entrants


def _obstacle(way: Implementation, spec: Spec, graph: Graph) -> str | None:
    """Return why a way cannot run. Returns None if nothing prevents it."""
    if not way.is_call:
        return None
    reason = not_installed(way.operation, way.platform, spec.device)
    reason = reason or platforms.why_not_on(way.platform, spec.device)
    return reason or way.operation.why_not_on(graph, spec)


def _check(
    family: Family,
    way: Implementation,
    case: Case,
    inputs: tuple[Any, ...],
    reference: KeptReference,
    context: Callable[[], AbstractContextManager[None]],
) -> _Entrant:
    """Compare a way's output with its family's reference. Return the way, ready to be timed."""
    module = platforms.load(way.platform)
    kernel = way.call.kernel(way.platform)
    first = next(family.implementations()).operation
    assert first.reference is not None
    structure = kernel.build(case)
    run, arguments = kernel.run, (structure, *inputs)
    if case.spec.direction == FORWARD_BACKWARD:
        run, arguments = with_backward(module, run, arguments)
    view = reference.view(case.graph, case.spec.hidden, first)
    verify(case, module, run, arguments, first.reference, result=kernel.result, view=view, cache=reference)
    return _Entrant(way, structure_kind(structure, case.graph), Call(run, arguments, {}), context)


class _Timing:
    """Times entrants alternately, in two phases; an entrant's number is its index."""

    def __init__(self, entrants: list[_Entrant], clock: Clock, effect: float, end_seconds: float) -> None:
        self._entrants, self._clock = entrants, clock
        self._effect, self._end_seconds = effect, end_seconds
        self._random = random.Random(0)  # noqa: S311 - the order of timing, not secrets
        self._trial_seconds: list[float] = []
        """Seconds per call of each entrant, measured before the race."""
        self._layouts: tuple[Sequence[int], Layouts, bool] | None = None
        """Numbers of the entrants timed last, the copies of their inputs, and whether copies are possible."""
        kinds = dict.fromkeys(entrant.takes for entrant in entrants if entrant.way.is_call)
        numbered = list(enumerate(entrants))
        self._groups = {"": tuple(range(len(entrants)))} | {
            kind: tuple(number for number, entrant in numbered if entrant.takes == kind) for kind in kinds
        }
        """Numbers of the entrants by the kind of structure that they take; the key "" has all entrants."""
        self._race = Race(len(entrants), effect, tuple(self._groups.values()))

    def run(self, point: Point) -> Point:
        """Find the fastest ways in a first phase, and return the point with the ratios of a second phase."""
        self._calibrate()
        begin = self._clock.now()
        half = begin + (self._end_seconds - begin) / 2
        race = self._race
        while (numbers := race.next_ways) and race.block_count < ANALYSES[-1]:
            if race.block_count >= ANALYSES[0] and self._clock.now() > half:
                break
            race.add(self._block(numbers))
        fastest = {kind: race.fastest(group) for group, kind in enumerate(self._groups)}
        blocks = self._second_phase(set(fastest.values()))
        names = [entrant.way.id for entrant in self._entrants]
        ways = tuple(self._way(number, fastest, blocks) for number in range(len(names)))
        return replace(
            point,
            ways=ways,
            fastest=names[fastest[""]],
            is_decided=race.is_decided(0),
            equally_fast=tuple(names[number] for number in race.equally_fast(0)),
        )

    def _calibrate(self) -> None:
        """Choose how many calls a round of each entrant has, and exclude entrants that are much too slow."""
        clock = self._clock
        round_seconds = wanted_seconds(clock, 0.0)
        for number, entrant in enumerate(self._entrants):
            with entrant.context():
                seconds = min(clock.block(entrant.call, 1, 1).seconds[0] for _ in range(_TRIALS))
                guess = math.ceil(round_seconds / seconds) if seconds > 0 else 10
                iterations = 1
                if guess > 1:
                    time_round = partial(self._round, entrant.call)
                    iterations = calibrated_iterations(time_round, guess, round_seconds, clock)
                    rounds_seconds = clock.block(entrant.call, _TRIALS, iterations).seconds
                    seconds = min(seconds, min(rounds_seconds) / iterations)
            rounds = 1 if seconds * iterations > _LONG_SECONDS else _ROUNDS
            self._entrants[number] = replace(entrant, iterations=iterations, rounds=rounds)
            self._trial_seconds.append(seconds)
        self._race.exclude_slow(self._trial_seconds, _MOST_RATIO)

    def _round(self, call: Call, iterations: int) -> float:
        return self._clock.block(call, 1, iterations).seconds[0]

    def _block(self, numbers: Sequence[int]) -> dict[int, float]:
        """Time entrants in random order, on new copies of their inputs; return log seconds per call."""
        if self._layouts is None or self._layouts[0] != numbers:
            arguments = tuple(self._entrants[number].call.args for number in numbers)
            for leaf in leaves(list(chain.from_iterable(arguments))):
                leaf.grad = None  # a gradient would be copied
            layouts = Layouts(Call(_nothing, arguments, {}))
            self._layouts = numbers, layouts, layouts.why_in_place() is None
        _, layouts, can_copy = self._layouts
        if can_copy:
            layouts.renew()
            self._clock.inputs_moved()
        logs = {}
        for number in self._random.sample(numbers, len(numbers)):
            entrant = self._entrants[number]
            call = entrant.call._replace(args=layouts.current.args[numbers.index(number)])
            with entrant.context(), collector_paused():
                self._clock.block(call, 1, 1)  # the first call on new buffers is slower
                rounds_seconds = self._clock.block(call, entrant.rounds, entrant.iterations).seconds
            seconds = max(statistics.median(rounds_seconds), self._clock.resolution_seconds)
            logs[number] = math.log(seconds / entrant.iterations)
        return logs

    def _second_phase(self, fastest: set[int]) -> list[dict[int, float]]:
        """Time library calls and fastest ways again, until their ratios are precise or time runs out."""
        calls = {number for number, entrant in enumerate(self._entrants) if entrant.way.is_call}
        numbers, blocks = calls | fastest, list[dict[int, float]]()
        base = self._race.fastest(0)
        while len(blocks) < FRESH_ANALYSES[-1]:
            blocks.append(self._block(sorted(numbers)))
            if len(blocks) in FRESH_ANALYSES:
                precise = {number for number in numbers if self._is_precise(ratio_in(blocks, number, base))}
                if numbers == precise or self._clock.now() > self._end_seconds:
                    break
                numbers -= precise - fastest
        return blocks

    def _is_precise(self, ratio: Ratio) -> bool:
        return ratio.half_width(0.95) <= max(math.log1p(self._effect), _PRECISE * abs(ratio.log))

    def _way(self, number: int, fastest: Mapping[str, int], blocks: list[dict[int, float]]) -> Way:
        """Return the times and ratios of an entrant; `blocks` are those of the second phase."""
        entrant, race = self._entrants[number], self._race
        logs = [block[number] for block in blocks if number in block] or race.log_seconds(number)
        way = Way(
            entrant.way.id,
            entrant.takes,
            entrant.way.is_call,
            math.exp(statistics.median(logs)) if logs else self._trial_seconds[number],
            in_race=race.ratio(number, fastest[""]).if_finite,
        )
        if not entrant.way.is_call:
            return way
        rival = fastest[entrant.takes]
        return replace(
            way,
            regret=ratio_in(blocks, number, fastest[""], BETWEEN_PROCESSES).if_finite,
            regret_same_structure=ratio_in(blocks, number, rival, BETWEEN_PROCESSES).if_finite,
            fastest_same_structure=self._entrants[rival].way.id,
        )


def _nothing(*_arguments: Any) -> None:
    """Do nothing: the function of a dummy call that has the inputs of all entrants, to copy them together."""
