"""Pairs of processes, one for each side (base and head), which run benchmarks one after the other.

In a *visit*, one pair runs one benchmark: both sides set the test up and take turns to time it.
"""

import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Self, TypeVar

from ..ground.cpu import RealTime, cores
from ..ground.errors import UsageError
from ..ground.files import check_room, scratch
from ..interfaces import Listener
from ..judge.schedule import PairPlan
from ..judge.trial import Trial
from ..judge.visit import NOT_INSPECTED, Inspections, NotTimed, PairTimes, Visit
from ..measure.fingerprint.disassembly import demangled
from ..measure.fingerprint.libraries import functions_differing
from ..measure.instructions import Instructions
from .plan import PairSettings, Plan
from .processes import Parents, Processes, Shared
from .turns import HeldBenchmark, join_reasons
from .unchanged.callers_files import data_read, notes_on, why_incomparable
from .variants.child import QUIT_SECONDS, SIDES, DiedError
from .variants.collected import Suite
from .variants.redirects import differing

_FEWEST_CORES = 4
"""With fewer cores, the next pair starts only when the current one has ended."""
_FAILURES = ("died", "failed")
"""Kinds of failures that need not occur again in another pair."""
_TAG = re.compile(r"\.(cpython|pypy|abi)[^.]*(?=\.)")
"""The tag in the file name of an extension module that says for which Python the module is built."""
_Result = TypeVar("_Result")


class Pair(Processes):
    """A pair of new processes that run benchmarks. When its context exits, the processes have ended."""

    def __init__(self, settings: PairSettings, shared: Shared, parents: Parents | None = None) -> None:
        super().__init__(settings, shared, parents)
        self._differing = differing(settings.base.redirects, settings.head.redirects)
        # Separate from `shared.rng`: how many cores are drawn depends on the machine.
        self._core_rng = random.Random(shared.rng.randrange(2**32))  # noqa: S311 - turns, not secrets
        self.collected: dict[str, dict[str, Any]] = {}
        """Each side's answer `collected`, which lists its tests."""
        self.suite = Suite()
        self.broken: str | None = None
        """The message that says which side has died, and how; None while both run."""
        self.broken_side = ""
        self.used: dict[str, dict[str, Any]] = {}
        """The code and files that each side used for the last benchmark; empty if this is not recorded."""

    def __enter__(self) -> Self:
        """Start both processes, which collect the suite; if one dies, the pair is `broken`."""
        self.begin_seconds = RealTime.seconds()
        try:
            self.collected = self.start()
        except DiedError as error:
            self._break(error)
        except BaseException:
            self.stop(0.0)
            raise
        else:
            self.suite = Suite(*(self.collected[side] for side in SIDES))
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End both processes. Unless there was an error, they first tear down their fixtures."""
        self.stop(QUIT_SECONDS if kind is None and self.broken is None else 0.0)

    def visit(self, trial: Trial, seconds: float, at_most_seconds: float = math.inf) -> Visit | NotTimed:
        """Time a benchmark in turns, each with one block of each side, or return why it cannot be timed.

        The sides take at least five turns, unless set-up, calibration and these turns would take more than
        `at_most_seconds`. A benchmark that a process can time only once gets one turn.
        """
        start = self.shared.now()
        result = self._hold(trial, lambda benchmark: benchmark.time(seconds, start + at_most_seconds))
        if isinstance(result, NotTimed):
            return result
        return trial.select_times(replace(result, seconds=self.shared.now() - start))

    def inspect(self, trial: Trial) -> Inspections | NotTimed:
        """Return which code a call of a benchmark runs on both sides, or why it cannot be inspected."""
        result = self._hold(trial, HeldBenchmark.inspect, only_inspected=True)
        collected = {side: answer["used"] for side, answer in self.collected.items() if "used" in answer}
        files = {side: used["callers_files"] for side, used in (collected | self.used).items() if used}
        if reason := why_incomparable(files, self._differing, self.shared.plan.build):
            trial.inspections = NOT_INSPECTED
            return NotTimed("incomparable", reason, SIDES)
        if isinstance(result, NotTimed):
            return result
        if (changed := result.work.changed) is not None:
            data = data_read((*collected.values(), *self.used.values()), self._differing)
            if data and result.same_code and self.shared.plan.results:  # only the data may change the output
                used = self.used
                trial.inspections = NOT_INSPECTED  # so that the test runs as it did for the inspection
                agreement = self._hold(trial, HeldBenchmark.agreement, only_inspected=True)
                self.used = used
                if isinstance(agreement, NotTimed):
                    return agreement
                result = replace(result, results=agreement)
            libraries = tuple(_functions(changed.libraries, result.sides))
            changed = replace(changed, values=(*data, *changed.values), libraries=libraries)
        launch_notes = [result.other_launch] if result.other_launch else []
        notes = (*notes_on(files, self._differing, trial.name), *launch_notes)
        result = replace(result, work=replace(result.work, changed=changed), notes=notes)
        trial.inspections = result
        return result

    def count(self, trial: Trial) -> list[Instructions] | NotTimed:
        """Return the number of instructions of a call on each side, or why they cannot be counted."""
        return self._hold(trial, HeldBenchmark.count)

    def _hold(
        self, trial: Trial, do: Callable[[HeldBenchmark], _Result | NotTimed], *, only_inspected: bool = False
    ) -> _Result | NotTimed:
        """Run a benchmark's test on both sides; return what `do` returns while both wait for commands."""
        self.used = {}
        if missing := self.suite.missing(trial.name):
            reasons = {side: NotTimed("failed", f"has no such test{why}") for side, why in missing.items()}
            head_fails = "base" not in missing and bool(missing["head"])
            return replace(join_reasons(reasons), head_fails=head_fails, base_fails=False)
        benchmark = HeldBenchmark(self, trial, self._core_rng)
        self.used = benchmark.used
        try:
            return benchmark.hold(do, only_inspected=only_inspected)
        except DiedError as error:
            self._break(error)
            return NotTimed("died", str(error), (error.side,), head_fails=error.side == "head")

    def check_trees(self) -> None:
        """Raise UsageError if the benchmarks import nothing from a variant."""
        if reason := self.why_unused():
            raise UsageError(reason)

    def why_unused(self) -> str:
        """Return the message that the benchmarks import nothing from a variant, or an empty text."""
        for side, variant in self._variants.items():
            loaded = self.loaded[side]
            # A folder of tests named torch could hide torch itself, but not the dependencies of torch.
            is_used = ("torch" in loaded) if "torch" in variant.versions else bool(loaded)
            if variant.trees and not is_used and not self.broken:
                return f"{side}: the benchmarks import no package of {variant.text}: nothing to compare"
        return ""

    def _break(self, error: DiedError) -> None:
        self.broken, self.broken_side = str(error), error.side
        self.stop(0.0)
        check_room(self.shared.logs)


def _functions(libraries: Iterable[str], sides: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield `NAME in LIBRARY` for each function that differs in a library; if none is known, the library."""
    for name in libraries:
        hashes = [side["fingerprint"]["libraries"].get(name, "") for side in sides]
        library = _TAG.sub("", name)
        yield from [f"{each} in {library}" for each in demangled(functions_differing(*hashes))] or [name]


class NotStartedError(UsageError):
    """A side does not start."""


class Pairs(ExitStack):
    """The pairs of processes of a run. When its context exits, the logs of the processes are removed."""

    def __init__(self, plan: Plan, listener: Listener) -> None:
        super().__init__()
        logs = self.enter_context(scratch())
        rng = random.Random(plan.seed)  # noqa: S311 - turns, not secrets
        self.shared, self._listener = Shared(plan, logs, rng), listener
        self.callback(self.shared.end_parents)
        self.starts_ahead = False
        """Whether a pair starts while the pair before it measures: this does not disturb a GPU's times."""
        self._next: Pair | None = None
        self.callback(lambda: self._next.stop(0.0) if self._next else None)

    @contextmanager
    def start(self, settings: PairSettings) -> Iterator[Pair]:
        """Run a pair within the context. Raises NotStartedError if two attempts to start the pair fail."""
        at_most_seconds = 2 * self.shared.plan.timeout_seconds  # the sides may be awaited one after the other
        for is_last in (False, True):
            pair, self._next = self._next or Pair(settings, self.shared), None
            what = f"the processes of pair {pair.number}" if pair.number else "both sides"
            self._listener.step(f"{settings.about}starting {what}, and collecting tests", at_most_seconds)
            with pair:
                if not pair.broken or pair.broken_side in settings.spared:
                    if self.starts_ahead and self.shared.why_no_forks and len(cores()) >= _FEWEST_CORES:
                        self._next = Pair(settings, self.shared)  # all timed pairs have the same settings
                        self._next.launch()
                    yield pair
                    self._listener.step(f"{settings.about}ending {what}")
                    break
                if is_last or self.shared.left_seconds() <= 0:
                    raise NotStartedError(pair.broken)
                self._listener.say(f"{pair.broken}; restarting both sides")

    def measure(
        self, settings: PairSettings, trials: Mapping[str, Trial], pair_plan: PairPlan
    ) -> tuple[Pair, PairTimes]:
        """Time benchmarks in a new pair, one after the other, until the time in `pair_plan` is over.

        Returns the pair, whose processes have ended, and its times. The price of the pair is the time that it
        takes apart from its visits, including the start and the end of its processes.
        """
        visits: dict[str, Visit] = {}
        failures: dict[str, NotTimed] = {}
        with self.start(settings) as pair:
            begin, count = self.shared.now(), len(pair_plan.seconds)
            for number, (name, seconds) in enumerate(pair_plan.seconds.items(), 1):
                is_late = number > 1 and self.shared.now() - begin > pair_plan.at_most_seconds
                if pair.broken or is_late or self.shared.left_seconds() <= 0:
                    break
                self._listener.step(
                    f"{settings.about}timing benchmark {number} of {count} in pair {pair.number},"
                    f" for {seconds:.1f} s after its set-up: {name}"
                )
                result = pair.visit(trials[name], seconds, pair_plan.longest_seconds)
                if pair.broken and self.shared.left_seconds() <= 0:
                    break  # the run's time has ended, which is no failure of the benchmark
                if isinstance(result, Visit):
                    visits[name] = result
                    continue
                if pair.sessions and result.kind in _FAILURES:
                    self.separate(f"{name}: {result.text}")
                    break
                if self.shared.parents and "CUDA" in result.text:  # CUDA may not work in a fork
                    self.shared.why_no_forks = f"{name}: {result.text}"
                    self.shared.end_parents()
                    break
                failures[name] = result
                if pair.broken:
                    self._listener.say(f"{name}: {pair.broken}; restarting both sides")
                    break
        timed = 0.0 if self.shared.simulated else sum(visit.seconds for visit in visits.values())
        price = RealTime.seconds() - pair.begin_seconds - timed
        if (visits or failures) and not settings.spared:
            pair.check_trees()
        return pair, PairTimes(price, visits, failures, self._next_start_seconds(price))

    def separate(self, reason: str) -> None:
        """Run each side of later pairs in a process of its own, so that no side affects the other side."""
        self.shared.why_apart = reason
        self.shared.end_parents()

    def _next_start_seconds(self, price: float) -> float | None:
        """Return how long the next pair will take to start. Returns None if it will not be forked."""
        parents = self.shared.parents
        if parents is None:
            return None
        start = price - parents.seconds if parents.pairs == 1 else price
        return start + parents.seconds / parents.most_pairs

    def control(
        self, settings: PairSettings, trial: Trial, seconds: float, longest_seconds: float
    ) -> Visit | None:
        """Time the base against itself, in forked processes. Returns None if processes cannot be forked."""
        if not self.shared.parents:
            return None
        step = f"timing the base against itself, for {seconds:.1f} s: {trial.name}"
        self._listener.step(f"{settings.about}{step}")
        with Pair(replace(settings, head=settings.base), self.shared, self.shared.parents.of_base()) as pair:
            result = None if pair.broken else pair.visit(trial, seconds, longest_seconds)
        return result if isinstance(result, Visit) else None
