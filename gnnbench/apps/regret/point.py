"""Checks every way to compute an operation at one point of a grid, then times them in turns."""

import math
import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
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
from .paths import Family, Path, structure_kind
from .race import BETWEEN_PROCESSES, FRESH_LOOKS, LOOKS, Race, Ratio, ratio_in
from .result import Place, Point, Way

_TRIES = 3
"""Calls, and rounds of calls, of each way before the race; only the fastest counts."""
_FAR = 4.0
"""A way slower than the fastest by this factor in these calls is not in the race."""
_ROUNDS = 3
_LONG_SECONDS = 0.01
"""Shortest round that is the only one of its block."""
_PRECISE = 0.25
"""The second phase ends where the interval's half-width is this fraction of the log ratio, or the effect."""


@dataclass(frozen=True)
class _Entrant:
    """A way that is ready to be timed."""

    path: Path
    takes: str
    call: Call
    context: Callable[[], AbstractContextManager[None]]
    """The context of each call."""
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
    """Check and time all ways in about `seconds`, but in at least a few blocks."""
    clock = clock_of([place.device])
    end_seconds = clock.now() + seconds
    point = Point(place, graph.num_nodes, graph.num_edges)
    with cpu_threads(place.threads):
        entrants = _ready(family, place, graph, reference, point.left_out)
        return _Timing(entrants, clock, effect, end_seconds).point(point) if entrants else point


def _ready(
    family: Family, place: Place, graph: Graph, reference: KeptReference, left_out: dict[str, str]
) -> list[_Entrant]:
    """Return the ways with a correct output; note why others are left out."""
    entrants: list[_Entrant] = []
    inputs: tuple[Any, ...] | None = None
    for path in family.paths():
        spec = Spec(
            path.operation.name,
            place.direction,
            path.platform,
            place.dtype,
            place.index_dtype,
            graph.name,
            place.hidden,
            place.device,
        )
        case = Case(spec, graph)
        if reason := _why_not(path, spec, graph):
            left_out[path.id] = reason
            continue
        hides = (
            path.is_call
            and path.platform == "pyg"
            and path.operation.with_pyg_lib
            and is_installed("pyg_lib")
        )
        context = platforms.without_pyg_lib if hides else nullcontext
        if inputs is None:  # made once, so that all ways are timed on the same copies
            inputs = family.inputs(case)
        try:
            with context():
                entrants.append(_checked(family, path, case, inputs, reference, context))
        except MismatchError as error:
            left_out[path.id] = f"its result is wrong: {one_line(str(error))}"
        except Exception as error:  # noqa: BLE001 - a library may refuse a type with any error
            left_out[path.id] = f"{type(error).__name__}: {one_line(str(error))}"
    return entrants


def _why_not(path: Path, spec: Spec, graph: Graph) -> str | None:
    """Return why a way cannot run. Returns None if nothing prevents it."""
    if not path.is_call:
        return None
    reason = not_installed(path.operation, path.platform, spec.device)
    reason = reason or platforms.why_not_on(path.platform, spec.device)
    return reason or path.operation.why_not_on(graph, spec)


def _checked(
    family: Family,
    path: Path,
    case: Case,
    inputs: tuple[Any, ...],
    reference: KeptReference,
    context: Callable[[], AbstractContextManager[None]],
) -> _Entrant:
    """Make the structure of an implementation, run it, and compare the output with the family's reference."""
    module = platforms.load(path.platform)
    kernel = path.call.kernel(path.platform)
    first = next(family.paths()).operation
    assert first.reference is not None
    structure = kernel.build(case)
    run, arguments = kernel.run, (structure, *inputs)
    if case.spec.direction == FORWARD_BACKWARD:
        run, arguments = with_backward(module, run, arguments)
    view = reference.view(case.graph, case.spec.hidden, first)
    verify(case, module, run, arguments, first.reference, result=kernel.result, view=view, kept=reference)
    return _Entrant(path, structure_kind(structure, case.graph), Call(run, arguments, {}), context)


class _Timing:
    """Times entrants in turns."""

    def __init__(self, entrants: list[_Entrant], clock: Clock, effect: float, end_seconds: float) -> None:
        self._entrants, self._clock = entrants, clock
        self._effect, self._end_seconds = effect, end_seconds
        self._random = random.Random(0)  # noqa: S311 - the order of timing, not secrets
        self._tried: list[float] = []
        """Seconds of a call of each way, before the race."""
        self._layouts: tuple[Sequence[int], Layouts, bool] | None = None
        kinds = dict.fromkeys(way.takes for way in entrants if way.path.is_call)
        self._groups = {"": tuple(range(len(entrants)))} | {
            kind: tuple(number for number, way in enumerate(entrants) if way.takes == kind) for kind in kinds
        }
        """The numbers of the ways, by the structure taken; all ways by an empty name."""
        self._race = Race(len(entrants), effect, tuple(self._groups.values()))

    def point(self, point: Point) -> Point:
        """Find the fastest ways in one phase, and return the point with the ratios of a second phase."""
        self._calibrate()
        begin = self._clock.now()
        half = begin + (self._end_seconds - begin) / 2
        race = self._race
        while (wanted := race.wanted) and race.blocks < LOOKS[-1]:
            if race.blocks >= LOOKS[0] and self._clock.now() > half:
                break
            race.add(self._block(wanted))
        fastest = {kind: race.fastest(number) for number, kind in enumerate(self._groups)}
        fresh = self._fresh(set(fastest.values()))
        names = [entrant.path.id for entrant in self._entrants]
        ways = tuple(self._way(number, fastest, fresh) for number in range(len(names)))
        return replace(
            point,
            ways=ways,
            fastest=names[fastest[""]],
            is_decided=race.is_decided(0),
            equally_fast=tuple(names[number] for number in race.equally_fast(0)),
        )

    def _calibrate(self) -> None:
        """Find how often each way is called in a round, and leave out ways that are far too slow."""
        clock = self._clock
        round_seconds = wanted_seconds(clock, 0.0)
        for number, entrant in enumerate(self._entrants):
            with entrant.context():
                seconds = min(clock.block(entrant.call, 1, 1).seconds[0] for _ in range(_TRIES))
                guess = math.ceil(round_seconds / seconds) if seconds > 0 else 10
                iterations = 1
                if guess > 1:
                    timed = partial(self._round, entrant.call)
                    iterations = calibrated_iterations(timed, guess, round_seconds, clock)
                    trials = clock.block(entrant.call, _TRIES, iterations).seconds
                    seconds = min(seconds, *(each / iterations for each in trials))
            rounds = 1 if seconds * iterations > _LONG_SECONDS else _ROUNDS
            self._entrants[number] = replace(entrant, iterations=iterations, rounds=rounds)
            self._tried.append(seconds)
        self._race.drop_far(self._tried, _FAR)

    def _round(self, call: Call, iterations: int) -> float:
        return self._clock.block(call, 1, iterations).seconds[0]

    def _block(self, ways: Sequence[int]) -> dict[int, float]:
        """Time ways in random order on new copies of their inputs; return the log seconds of a call."""
        if self._layouts is None or self._layouts[0] != ways:
            arguments = tuple(self._entrants[way].call.args for way in ways)
            for leaf in leaves([each for several in arguments for each in several]):
                leaf.grad = None  # a gradient would be copied
            layouts = Layouts(Call(_nothing, arguments, {}))
            self._layouts = ways, layouts, layouts.why_in_place() is None
        _, layouts, copies = self._layouts
        if copies:
            layouts.renew()
            self._clock.inputs_moved()
        logs = {}
        for way in self._random.sample(ways, len(ways)):
            entry = self._entrants[way]
            call = entry.call._replace(args=layouts.current.args[ways.index(way)])
            with entry.context(), collector_paused():
                self._clock.block(call, 1, 1)  # the first call on new buffers is slower
                seconds = statistics.median(self._clock.block(call, entry.rounds, entry.iterations).seconds)
            logs[way] = math.log(max(seconds, self._clock.resolution_seconds) / entry.iterations)
        return logs

    def _fresh(self, fastest: set[int]) -> list[dict[int, float]]:
        """Time calls and fastest ways again, until their ratios are precise or the time is over."""
        calls = {number for number, entrant in enumerate(self._entrants) if entrant.path.is_call}
        ways, blocks = calls | fastest, list[dict[int, float]]()
        best = self._race.fastest(0)
        while len(blocks) < FRESH_LOOKS[-1]:
            blocks.append(self._block(sorted(ways)))
            if len(blocks) in FRESH_LOOKS:
                precise = {way for way in ways if self._is_precise(ratio_in(blocks, way, best))}
                if ways == precise or self._clock.now() > self._end_seconds:
                    break
                ways -= precise - fastest
        return blocks

    def _is_precise(self, ratio: Ratio) -> bool:
        return ratio.half_width(0.95) <= max(math.log1p(self._effect), _PRECISE * abs(ratio.log))

    def _way(self, number: int, fastest: Mapping[str, int], fresh: list[dict[int, float]]) -> Way:
        """Return the times and ratios of a way."""
        entrant, race = self._entrants[number], self._race
        logs = [blocks[number] for blocks in fresh if number in blocks] or race.of(number)
        way = Way(
            entrant.path.id,
            entrant.takes,
            entrant.path.is_call,
            math.exp(statistics.median(logs)) if logs else self._tried[number],
            in_race=race.ratio(number, fastest[""]).saved,
        )
        if not entrant.path.is_call:
            return way
        rival = fastest[entrant.takes]
        return replace(
            way,
            regret=ratio_in(fresh, number, fastest[""], BETWEEN_PROCESSES).saved,
            regret_same_structure=ratio_in(fresh, number, rival, BETWEEN_PROCESSES).saved,
            fastest_same_structure=self._entrants[rival].path.id,
        )


def _nothing(*_arguments: Any) -> None:
    """Stand in for all ways, so that their inputs are copied together."""
