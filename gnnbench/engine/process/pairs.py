"""Runs pairs of processes one after the other: starts both sides, visits what is planned, and ends them."""

import math
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from ..ground.cpu import RealTime
from ..ground.errors import UsageError
from ..ground.files import check_room, scratch
from ..judge.schedule import Decision, Plan
from ..judge.trial import Trial
from ..judge.visit import Inspections, NotTimed, Pair, Visit
from ..measure.instructions.counting import Instructions
from .processes import PAIRS_OF_BOTH, PAIRS_OF_PARENTS, Parents, Processes, Setting, Shared, Terms
from .turns import Turns, joined
from .unchanged.crossings import data_read, notes_on, why_incomparable
from .variants.child import SIDES, DiedError
from .variants.collected import Suite
from .variants.command import Listener
from .variants.places import differing

_STARTS = 2
"""A pair is given up after this many failed starts."""
_QUIT_SECONDS = 20.0
_FAILURES = ("died", "failed", "incomparable")
"""Kinds of failures that processes of their own may not have."""

_Found = TypeVar("_Found")


class Watcher(Listener, Protocol):
    """Receives the progress of a run."""

    def update(self, decisions: Mapping[str, Decision], spent_seconds: float, left_seconds: float) -> None:
        """Receive the state of each benchmark."""


class NotStartedError(UsageError):
    """A side does not start."""


class Workers(Processes):
    """A pair of fresh processes, one per side, in which benchmarks are visited one after the other.

    On exit, they have ended, whatever happened.
    """

    def __init__(self, terms: Terms, shared: Shared, parents: Parents | None = None) -> None:
        self.begin_seconds = RealTime.seconds()
        super().__init__(terms, shared, parents)
        self._differing = differing(terms.base.places, terms.head.places)
        # Separate from `rng`: the number of draws depends on the machine.
        self._core_rng = random.Random(shared.rng.randrange(2**32))  # noqa: S311 - turns, not secrets
        self.collected: dict[str, dict[str, Any]] = {}
        """By side, its answer."""
        self.suite = Suite()
        self._visited_once: set[str] = set()
        self.broken: str | None = None
        """Why nothing more can be visited: a side has died. Names the side."""
        self.broken_side = ""
        self.used: dict[str, dict[str, Any]] = {}
        """By side, what it used for the last benchmark, if it notes it."""

    def __enter__(self) -> Self:
        """Start both and let them collect the suite; if a side dies, the pair is broken."""
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
        """Time a benchmark in turns, or return why it cannot be timed.

        After a failure, `broken` says whether more can be visited.

        Args:
            seconds: for the turns, of which there are at least five, without set-up and calibration. If a
                process can time it only once, it gets one turn, in the first visit of a pair.
            at_most_seconds: with set-up and calibration; fewer turns are enough if five do not end in it.
        """
        return self._with_turns(trial, lambda turns: turns.visit(seconds, at_most_seconds))

    def inspect(self, trial: Trial) -> Inspections | NotTimed:
        """Inspect a call of a benchmark on both sides, or return why it cannot be inspected.

        After a failure, `broken` says whether more can be inspected.
        """
        found = self._with_turns(trial, Turns.inspect)
        collected = {side: answer["used"] for side, answer in self.collected.items() if "used" in answer}
        crossed = {side: used["crossed"] for side, used in (collected | self.used).items() if used}
        if why := why_incomparable(crossed, self._differing):
            trial.inspections = None
            return NotTimed("incomparable", why, SIDES)
        if isinstance(found, NotTimed):
            return found
        read = (used["crossed"] for used in (*collected.values(), *self.used.values()) if used)
        changed, files = found.work.changed, data_read(read, self._differing)
        if changed is not None and files:
            changed = replace(changed, values=(*files, *changed.values))
        notes = tuple(notes_on(crossed, self._differing, trial.name))
        found = replace(found, work=replace(found.work, changed=changed), notes=notes)
        trial.inspections = found
        return found

    def count(self, trial: Trial) -> list[Instructions] | NotTimed:
        """Count the instructions of a call on both sides, or return why they cannot be counted.

        After a failure, `broken` says whether more can be counted.
        """
        return self._with_turns(trial, Turns.count)

    def _with_turns(self, trial: Trial, do: Callable[[Turns], _Found | NotTimed]) -> _Found | NotTimed:
        self.used = {}
        if missing := self.suite.missing(trial.name):
            without = {side: NotTimed("failed", f"has no such test{why}") for side, why in missing.items()}
            head_fails = "base" not in missing and bool(missing["head"])
            return replace(joined(without), head_fails=head_fails, base_fails=False)
        if trial.name in self._visited_once:
            return NotTimed(
                "failed", "its single round was timed in these processes before: fresh ones are needed"
            )
        turns = Turns(self, trial, self._core_rng)
        self.used = turns.used
        try:
            found = do(turns)
        except DiedError as error:
            self._break(error)
            return NotTimed("died", str(error), (error.side,), head_fails=error.side == "head")
        if turns.once:
            self._visited_once.add(trial.name)
        return found

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


class Pairs(ExitStack):
    """The pairs of processes of a run. On exit, what they have printed is removed."""

    def __init__(self, setting: Setting, listener: Listener) -> None:
        super().__init__()
        logs = self.enter_context(scratch())
        rng = random.Random(setting.seed)  # noqa: S311 - turns, not secrets
        self.shared, self._listener = Shared(setting, logs, rng), listener
        self.callback(self.shared.end_parents)

    @contextmanager
    def started(self, terms: Terms) -> Iterator[Workers]:
        """Start both sides, once more if one fails to start; end them when the context ends.

        Raises:
            NotStartedError: a side that must start failed again.
        """
        at_most_seconds = 2 * self.shared.setting.timeout_seconds  # to collect the suite, one after the other
        for left in reversed(range(_STARTS)):
            workers = Workers(terms, self.shared)
            pair = f"the processes of pair {workers.number}" if workers.number else "both sides"
            self._listener.step(f"{terms.about}starting {pair}, and collecting", at_most_seconds)
            with workers:
                if not workers.broken or workers.broken_side in terms.spared:
                    yield workers
                    self._listener.step(f"{terms.about}ending {pair}")
                    break
                if not left:
                    raise NotStartedError(workers.broken)
                self._listener.say(f"{workers.broken}; restarting both sides")

    def measure(
        self,
        terms: Terms,
        trials: Mapping[str, Trial],
        plan: Plan,
        take: Callable[[Trial, Visit | NotTimed], bool],
    ) -> tuple[Workers, Pair]:
        """Time benchmarks in a new pair, as far as the time of its plan allows.

        Args:
            trials: the benchmarks of the run, by name.
            take: called with each result; returns whether the benchmark needs no timing.

        Returns:
            The processes, which have ended, and what they measured. The price of the pair is all time
            outside its visits, the end of its processes included.
        """
        visits: dict[str, Visit] = {}
        failures: dict[str, NotTimed] = {}
        settled_seconds = 0.0
        with self.started(terms) as workers:
            begin, of = self._passed(), len(plan.seconds)
            for number, (name, seconds) in enumerate({} if workers.broken else plan.seconds.items(), 1):
                late = self._passed() - begin > plan.at_most_seconds
                if (late and number > 1) or self.shared.left_seconds() <= 0:
                    break
                self._listener.step(
                    f"{terms.about}timing benchmark {number} of {of} in pair {workers.number},"
                    f" for {seconds:.1f} s after its set-up: {name}"
                )
                visited = RealTime.seconds()
                found = workers.visit(trials[name], seconds, plan.longest_seconds)
                if workers.broken and self.shared.left_seconds() <= 0:
                    break  # its set-up took longer than the rest of the time: that is no failure
                if workers.sessions and isinstance(found, NotTimed) and found.kind in _FAILURES:
                    self.separate(f"{name}: {found.text}")
                    break
                if isinstance(found, Visit):
                    visits[name] = found
                else:
                    failures[name] = found
                if take(trials[name], found):
                    settled_seconds += RealTime.seconds() - visited
                if workers.broken:
                    self._listener.say(f"{name}: {workers.broken}; restarting both sides")
                    break
        timed = 0.0 if self.shared.simulated else sum(one.seconds for one in visits.values())
        price = RealTime.seconds() - workers.begin_seconds - timed - settled_seconds
        if (visits or failures) and not terms.spared:
            workers.check_trees()
        return workers, Pair(price, visits, failures, settled_seconds, self._further(price))

    def separate(self, why: str) -> None:
        """Let each side of further pairs be in a process of its own, as one may fail for the other."""
        self.shared.why_apart = why
        self.shared.end_parents()

    def _further(self, price: float) -> float | None:
        """Return the start of a further pair, after one with a price. Returns None if it is not forked."""
        parents = self.shared.parents
        if parents is None:
            return None
        own = price - parents.seconds if parents.pairs == 1 else price
        return own + parents.seconds / (PAIRS_OF_BOTH if parents.sessions else PAIRS_OF_PARENTS)

    def control(self, terms: Terms, trial: Trial, seconds: float, longest_seconds: float) -> Visit | None:
        """Time the base of a benchmark against itself, in two forks. Returns None if that is not possible."""
        if not self.shared.parents:
            return None
        self._listener.step(f"{terms.about}timing the base against itself, for {seconds:.1f} s: {trial.name}")
        terms = replace(terms, head=terms.base)
        with Workers(terms, self.shared, self.shared.parents.of_base()) as workers:
            result = None if workers.broken else workers.visit(trial, seconds, longest_seconds)
        return result if isinstance(result, Visit) else None

    def _passed(self) -> float:
        """Return seconds, those of a simulated machine included."""
        return RealTime.seconds() + self.shared.fake_seconds
