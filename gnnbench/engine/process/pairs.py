"""Pairs of processes, one of each side, in which benchmarks are visited one after the other."""

import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar

from ..ground.cpu import RealTime, cores
from ..ground.errors import UsageError
from ..ground.files import check_room, scratch
from ..interfaces import Listener
from ..judge.schedule import PairPlan
from ..judge.trial import Trial
from ..judge.visit import Inspections, NotTimed, PairTimes, Visit
from ..measure.fingerprint.disassembly import demangled
from ..measure.fingerprint.libraries import functions_differing
from ..measure.instructions import Instructions
from .parents import Parents, Shared
from .plan import Plan
from .processes import Processes, Terms
from .turns import Turns, joined
from .unchanged.crossings import data_read, notes_on, why_incomparable
from .variants.child import SIDES, DiedError
from .variants.collected import Suite
from .variants.redirects import differing

_QUIT_SECONDS = 20.0
"""How long both may tear down."""
_FEWEST_CORES = 4
"""To start the next pair while one measures."""
_STARTS = 2
"""A pair is given up after this many failed starts."""
_FAILURES = ("died", "failed")
"""Kinds of failures that processes of their own, or another pair, may not have."""
_TAG = re.compile(r"\.(cpython|pypy|abi)[^.]*(?=\.)")
"""Part of the name of an extension module that says for which Python it is."""
_Found = TypeVar("_Found")


class Pair(Processes):
    """A pair of fresh processes, in which benchmarks are visited; on exit, they have ended in any case."""

    def __init__(self, terms: Terms, shared: Shared, parents: Parents | None = None) -> None:
        super().__init__(terms, shared, parents)
        self._differing = differing(terms.base.redirects, terms.head.redirects)
        # Separate from `rng`: the number of draws depends on the machine.
        self._core_rng = random.Random(shared.rng.randrange(2**32))  # noqa: S311 - turns, not secrets
        self.collected: dict[str, dict[str, Any]] = {}
        """By side, its answer."""
        self.suite = Suite()
        self.broken: str | None = None
        """Why nothing more can be visited: a side has died. Names the side."""
        self.broken_side = ""
        self.used: dict[str, dict[str, Any]] = {}
        """By side, what it used for the last benchmark, if it notes it."""

    def __enter__(self) -> Self:
        """Start both and let them collect the suite; if a side dies, the pair is broken."""
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

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Let both tear down, unless something went wrong, and end them."""
        self.stop(_QUIT_SECONDS if kind is None and self.broken is None else 0.0)

    def visit(self, trial: Trial, seconds: float, at_most_seconds: float = math.inf) -> Visit | NotTimed:
        """Time a benchmark in turns, or return why it cannot be timed; then `broken` says whether others can.

        There are at least five turns, or fewer if five do not end in `at_most_seconds`, which include set-up
        and calibration. If a process can time it only once, it gets one turn.
        """
        start = self.shared.now()
        result = self._hold(trial, lambda turns: turns.time(seconds, start + at_most_seconds))
        if isinstance(result, NotTimed):
            return result
        return trial.select_times(replace(result, seconds=self.shared.now() - start))

    def inspect(self, trial: Trial) -> Inspections | NotTimed:
        """Inspect a call of a benchmark on both sides, or return why it cannot be inspected."""
        result = self._hold(trial, Turns.inspect, only_inspected=True)
        collected = {side: answer["used"] for side, answer in self.collected.items() if "used" in answer}
        crossed = {side: used["crossed"] for side, used in (collected | self.used).items() if used}
        if why := why_incomparable(crossed, self._differing, self.shared.plan.build):
            trial.inspections = None
            return NotTimed("incomparable", why, SIDES)
        if isinstance(result, NotTimed):
            return result
        if (changed := result.work.changed) is not None:
            read = (used["crossed"] for used in (*collected.values(), *self.used.values()) if used)
            values = (*data_read(read, self._differing), *changed.values)
            libraries = tuple(_functions(changed.libraries, result.sides))
            changed = replace(changed, values=values, libraries=libraries)
        of_gpu = [result.other_launch] if result.other_launch else []
        notes = (*notes_on(crossed, self._differing, trial.name), *of_gpu)
        result = replace(result, work=replace(result.work, changed=changed), notes=notes)
        trial.inspections = result
        return result

    def count(self, trial: Trial) -> list[Instructions] | NotTimed:
        """Count the instructions of a call on both sides, or return why they cannot be counted."""
        return self._hold(trial, Turns.count)

    def _hold(
        self, trial: Trial, do: Callable[[Turns], _Found | NotTimed], *, only_inspected: bool = False
    ) -> _Found | NotTimed:
        self.used = {}
        if missing := self.suite.missing(trial.name):
            without = {side: NotTimed("failed", f"has no such test{why}") for side, why in missing.items()}
            head_fails = "base" not in missing and bool(missing["head"])
            return replace(joined(without), head_fails=head_fails, base_fails=False)
        turns = Turns(self, trial, self._core_rng)
        self.used = turns.used
        try:
            return turns.hold(do, only_inspected=only_inspected)
        except DiedError as error:
            self._break(error)
            return NotTimed("died", str(error), (error.side,), head_fails=error.side == "head")

    def check_trees(self) -> None:
        """Check that the code of the variants ran."""
        if why := self.why_unused():
            raise UsageError(why)

    def why_unused(self) -> str:
        """Return that the benchmarks imported nothing from a variant; empty if they did."""
        for side, given in self._given.items():
            loaded = self.loaded[side]
            # A folder of tests that is called torch hides it, while what torch needs is imported.
            is_used = "torch" in loaded if "torch" in given.versions else bool(loaded)
            if given.trees and not is_used and not self.broken:
                return f"{side}: the benchmarks import no package of {given.text}: nothing to compare"
        return ""

    def _break(self, error: DiedError) -> None:
        self.broken, self.broken_side = str(error), error.side
        self.stop(0.0)
        check_room(self.shared.logs)


def _functions(libraries: Iterable[str], sides: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the functions that differ in libraries, `NAME in LIBRARY`; or else the libraries."""
    for name in libraries:
        hashes = [side["fingerprint"]["libraries"].get(name, "") for side in sides]
        short = _TAG.sub("", name)
        yield from [f"{each} in {short}" for each in demangled(functions_differing(*hashes))] or [name]


class NotStartedError(UsageError):
    """A side does not start."""


class Pairs(ExitStack):
    """The pairs of processes of a run. On exit, what they have printed is removed."""

    def __init__(self, plan: Plan, listener: Listener) -> None:
        super().__init__()
        logs = self.enter_context(scratch())
        rng = random.Random(plan.seed)  # noqa: S311 - turns, not secrets
        self.shared, self._listener = Shared(plan, logs, rng), listener
        self.callback(self.shared.end_parents)
        self.starts_ahead = False
        """Whether processes of the next pair start while one measures: where the GPU's own time counts."""
        self._next: Pair | None = None
        self.callback(lambda: self._next.stop(0.0) if self._next else None)

    @contextmanager
    def started(self, terms: Terms) -> Iterator[Pair]:
        """Start both sides, once more if one fails in time, or raise NotStartedError; finally end them."""
        at_most_seconds = 2 * self.shared.plan.timeout_seconds  # to collect the suite, one after the other
        for remaining in reversed(range(_STARTS)):
            pair, self._next = self._next or Pair(terms, self.shared), None
            what = f"the processes of pair {pair.number}" if pair.number else "both sides"
            self._listener.step(f"{terms.about}starting {what}, and collecting", at_most_seconds)
            with pair:
                if not pair.broken or pair.broken_side in terms.spared:
                    if self.starts_ahead and self.shared.why_no_forks and len(cores()) >= _FEWEST_CORES:
                        self._next = Pair(terms, self.shared)  # all pairs that time are of the same terms
                        self._next.launch()
                    yield pair
                    self._listener.step(f"{terms.about}ending {what}")
                    break
                if not remaining or self.shared.left_seconds() <= 0:
                    raise NotStartedError(pair.broken)
                self._listener.say(f"{pair.broken}; restarting both sides")

    def measure(
        self, terms: Terms, trials: Mapping[str, Trial], pair_plan: PairPlan
    ) -> tuple[Pair, PairTimes]:
        """Time benchmarks in a new pair, as far as the time of its plan allows.

        Returns the processes, which have ended, and what they measured. The price of the pair is all time
        outside of its visits, the end of its processes included.
        """
        visits: dict[str, Visit] = {}
        failures: dict[str, NotTimed] = {}
        settled_seconds = 0.0
        with self.started(terms) as pair:
            begin, of = self.shared.now(), len(pair_plan.seconds)
            for number, (name, seconds) in enumerate({} if pair.broken else pair_plan.seconds.items(), 1):
                late = self.shared.now() - begin > pair_plan.at_most_seconds
                if (late and number > 1) or self.shared.left_seconds() <= 0:
                    break
                self._listener.step(
                    f"{terms.about}timing benchmark {number} of {of} in pair {pair.number},"
                    f" for {seconds:.1f} s after its set-up: {name}"
                )
                visited = RealTime.seconds()
                result = pair.visit(trials[name], seconds, pair_plan.longest_seconds)
                if pair.broken and self.shared.left_seconds() <= 0:
                    break  # its set-up took longer than the rest of the time: that is no failure
                if isinstance(result, Visit):
                    visits[name] = result
                    continue
                if pair.sessions and result.kind in _FAILURES:
                    self.separate(f"{name}: {result.text}")
                    break
                if self.shared.parents and "CUDA" in result.text:
                    self.shared.why_no_forks = f"{name}: {result.text}"
                    self.shared.end_parents()
                    break
                failures[name] = result
                if result.kind not in _FAILURES:
                    settled_seconds += RealTime.seconds() - visited
                if pair.broken:
                    self._listener.say(f"{name}: {pair.broken}; restarting both sides")
                    break
        timed = 0.0 if self.shared.simulated else sum(visit.seconds for visit in visits.values())
        price = RealTime.seconds() - pair.begin_seconds - timed - settled_seconds
        if (visits or failures) and not terms.spared:
            pair.check_trees()
        return pair, PairTimes(price, visits, failures, settled_seconds, self._further(price))

    def separate(self, why: str) -> None:
        """Let each side of further pairs be in a process of its own, as one may fail for the other."""
        self.shared.why_apart = why
        self.shared.end_parents()

    def _further(self, price: float) -> float | None:
        """Return the start of a further pair, after one with a price. Returns None if it is not forked."""
        parents = self.shared.parents
        if parents is None:
            return None
        start = price - parents.seconds if parents.pairs == 1 else price
        return start + parents.seconds / parents.most_pairs

    def control(self, terms: Terms, trial: Trial, seconds: float, longest_seconds: float) -> Visit | None:
        """Time the base of a benchmark against itself, in forks. Returns None if that is not possible."""
        if not self.shared.parents:
            return None
        self._listener.step(f"{terms.about}timing the base against itself, for {seconds:.1f} s: {trial.name}")
        with Pair(replace(terms, head=terms.base), self.shared, self.shared.parents.of_base()) as pair:
            result = None if pair.broken else pair.visit(trial, seconds, longest_seconds)
        return result if isinstance(result, Visit) else None
