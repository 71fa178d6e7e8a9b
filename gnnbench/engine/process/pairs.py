"""Runs pairs of processes one after the other: starts both sides, visits what is planned, and ends them."""

import random
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from ..ground.cpu import RealTime
from ..ground.errors import UsageError
from ..ground.files import scratch
from ..interfaces import Listener
from ..judge.schedule import PairPlan
from ..judge.trial import Trial
from ..judge.visit import NotTimed, PairTimes, Visit
from .pair import Pair
from .parents import Shared
from .plan import Plan
from .processes import Terms

_STARTS = 2
"""A pair is given up after this many failed starts."""
_FAILURES = ("died", "failed")
"""Kinds of failures that processes of their own, or another pair, may not have."""


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

    @contextmanager
    def started(self, terms: Terms) -> Iterator[Pair]:
        """Start both sides, once more if one fails, or raise NotStartedError; at the end, end them."""
        at_most_seconds = 2 * self.shared.plan.timeout_seconds  # to collect the suite, one after the other
        for left in reversed(range(_STARTS)):
            pair = Pair(terms, self.shared)
            what = f"the processes of pair {pair.number}" if pair.number else "both sides"
            self._listener.step(f"{terms.about}starting {what}, and collecting", at_most_seconds)
            with pair:
                if not pair.broken or pair.broken_side in terms.spared:
                    yield pair
                    self._listener.step(f"{terms.about}ending {what}")
                    break
                if not left:
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
        own = price - parents.seconds if parents.pairs == 1 else price
        return own + parents.seconds / parents.most_pairs
