"""Runs pairs of processes one after the other: starts both sides, visits what is planned, and ends them."""

import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from ...clocks import RealTime
from ...errors import UsageError
from ...variants.command import Listener
from .pair import Workers
from .processes import Setting, Shared, Terms
from .schedule import Decision, Plan
from .visit import NotTimed, Pair, Visit

_STARTS = 2
"""A pair is given up after this many failed starts."""


class Watcher(Listener, Protocol):
    """Receives the progress of a run."""

    def update(self, decisions: Mapping[str, Decision], spent_seconds: float, left_seconds: float) -> None:
        """Receive the state of each benchmark."""


class NotStartedError(UsageError):
    """A side does not start."""


class Pairs(ExitStack):
    """The pairs of processes of a run. On exit, what they have printed is removed.

    Args:
        setting: how they run benchmarks.
        listener: receives the progress.
    """

    def __init__(self, setting: Setting, listener: Listener) -> None:
        super().__init__()
        logs = Path(self.enter_context(tempfile.TemporaryDirectory(prefix="gnnbench-pairs-")))
        rng = random.Random(setting.seed)  # noqa: S311 - turns, not secrets
        self.shared, self._listener = Shared(setting, logs, rng), listener
        self.several: list[str] = []
        """Tests that call `benchmark` more than once."""

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
        self.several += workers.several

    def measure(
        self,
        terms: Terms,
        plan: Callable[[Workers], Plan | None],
        take: Callable[[str, Visit | NotTimed], bool],
    ) -> tuple[Workers, Pair]:
        """Time benchmarks in a new pair, as far as the time of its plan allows.

        Args:
            terms: what the pair is started for.
            plan: says which benchmarks, and for how long, when both sides have started; None: none.
            take: called with each result; returns whether the benchmark needs no timing.

        Returns:
            The processes, which have ended, and what they measured. The price of the pair is all time
            outside its visits, the end of its processes included.

        Raises:
            NotStartedError: a side that must start failed again.
            UsageError: the benchmarks imported nothing from a variant, where both sides must start.
        """
        visits: dict[str, Visit] = {}
        failures: dict[str, NotTimed] = {}
        settled_seconds = 0.0
        with self.started(terms) as workers:
            planned = Plan({}) if workers.broken else plan(workers) or Plan({})
            begin, of = self._passed(), len(planned.seconds)
            for number, (name, seconds) in enumerate(planned.seconds.items(), 1):
                late = self._passed() - begin > planned.at_most_seconds
                if (late and number > 1) or self.shared.left_seconds() <= 0:
                    break
                self._listener.step(
                    f"{terms.about}timing benchmark {number} of {of} in pair {workers.number},"
                    f" for {seconds:.1f} s after its set-up: {name}"
                )
                visited = RealTime.seconds()
                found = workers.visit(name, seconds, planned.longest_seconds)
                if workers.broken and self.shared.left_seconds() <= 0:
                    break  # its set-up took longer than the rest of the time: that is no failure
                if isinstance(found, Visit):
                    visits[name] = found
                else:
                    failures[name] = found
                if take(name, found):
                    settled_seconds += RealTime.seconds() - visited
                if workers.broken:
                    self._listener.say(f"{name}: {workers.broken}; restarting both sides")
                    break
        timed = 0.0 if self.shared.simulated else sum(one.seconds for one in visits.values())
        price = RealTime.seconds() - workers.begin_seconds - timed - settled_seconds
        if (visits or failures) and not terms.spared:
            workers.check_trees()
        return workers, Pair(price, visits, failures, settled_seconds)

    def _passed(self) -> float:
        """Return seconds, those of a simulated machine included."""
        return RealTime.seconds() + self.shared.fake_seconds
