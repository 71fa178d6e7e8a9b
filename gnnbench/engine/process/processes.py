"""The pytest processes of base and head, and the commands that gnnbench's main process sends to them."""

import math
import os
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..ground.cpu import RealTime
from ..ground.files import project, real_path
from ..measure import instructions
from .plan import PairSettings, Plan
from .variants import redirects
from .variants.child import SIDES, Child, DiedError, Process
from .variants.import_roots import Trees
from .variants.variant import Prepared

SECOND_BASE = "a second process of the base"
"""Used like the name of a side. The head did not cause what differs between the base's two processes."""
SEED = 0
"""Seeds the random numbers of a call that is inspected or counted, so that they are the same in all pairs."""
_HASH_SEED = "PYTHONHASHSEED"
PAIRS_OF_PARENTS = 4
"""Number of pairs that are forked from the same two parents, one for each side. New parents have libraries
at other addresses, and another hash seed."""
PAIRS_OF_BOTH = 12
"""The same if one parent runs both sides, which then have equal library addresses and hash seeds."""
_WORTH_STARTS = 4
"""New parents are started only if the run has time left for more than this many starts of parents."""


@dataclass
class Parents:
    """Processes that collect the suite before pairs are forked from them: one for each side or for both."""

    children: Mapping[str, Child]
    """The process of each side; the same process twice if it runs both sides."""
    collected: dict[str, dict[str, Any]]
    """Each side's answer `collected`, which lists its tests."""
    sides: tuple[Prepared, Prepared]
    seconds: float
    """How long these processes took to start."""
    pairs: int = 0
    """How many pairs were forked from them."""
    sessions: Mapping[str, int] = field(default_factory=dict)
    """If one process runs both sides: the number of each side's session. A last one runs the base again."""

    def of_base(self) -> "Parents":
        """Return parents whose forks run the base on both sides."""
        base, head = SIDES
        children = dict.fromkeys(SIDES, self.children[base])
        collected = dict.fromkeys(SIDES, self.collected[base])
        sessions = {base: self.sessions[base], head: len(SIDES)} if self.sessions else {}  # the last one
        return Parents(children, collected, (self.sides[0],) * 2, self.seconds, sessions=sessions)

    @property
    def most_pairs(self) -> int:
        """How many pairs may be forked before new parents are started."""
        return PAIRS_OF_BOTH if self.sessions else PAIRS_OF_PARENTS


@dataclass
class Shared:
    """What all pairs of processes of a run have in common."""

    plan: Plan
    logs: Path
    """Folder for the output of the processes: `base-NUMBER.log`, `head-NUMBER.log`."""
    rng: random.Random
    """Draws random seeds, and the order of the sides."""
    number: int = 0
    """How many pairs were started."""
    fake_seconds: float = 0.0
    """Time of the simulated machine, if GNNBENCH_FAKE_CLOCK asks for one."""
    simulated: bool = False
    parents: Parents | None = None
    """The processes from which the next pair is forked; None before the first pair, or without forks."""
    why_no_forks: str = ""
    """Why pairs cannot be forked from parents; empty if they can, or if this is not known yet."""
    why_apart: str = ""
    """Why each side needs a process of its own; empty if one can run both, or if this is not known yet."""
    end_seconds: float = math.inf
    """The RealTime at which the run has to end; no answer is awaited after that."""

    def now(self) -> float:
        """Return the time in seconds: the simulated machine's if there is one, else the real time."""
        return self.fake_seconds if self.simulated else RealTime.seconds()

    def parents_of(self, sides: tuple[Prepared, Prepared]) -> Parents | None:
        """Return parents for the next pair, or None after ending parents of other sides or used-up ones."""
        parents = self.parents
        if parents:
            is_worth_a_start = self.left_seconds() > _WORTH_STARTS * parents.seconds
            if parents.sides != sides or (parents.pairs >= parents.most_pairs and is_worth_a_start):
                self.end_parents()
        return self.parents

    def end_parents(self) -> None:
        parents, self.parents = self.parents, None
        with ExitStack() as stack:
            for child in parents.children.values() if parents else ():
                stack.callback(child.stop)

    def left_seconds(self) -> float:
        """Return how many seconds the run has left: no limit applies to a simulated machine."""
        return math.inf if self.simulated else self.end_seconds - RealTime.seconds()


class Processes:
    """The pytest processes of both sides, each forked from a parent or started afresh."""

    def __init__(self, settings: PairSettings, shared: Shared, parents: Parents | None = None) -> None:
        """Start nothing yet. If `parents` are given, `start` forks the processes from these."""
        self._parents = parents
        self.sessions: Mapping[str, int] = {}
        """The number of each side's session if one process runs both sides, otherwise empty."""
        self.settings, self.shared = settings, shared
        self._variants = dict(zip(SIDES, (settings.base, settings.head), strict=True))
        # Both sides iterate over sets in the same order, unless the user sets a hash seed.
        self._hash_seed = os.environ.get(_HASH_SEED, str(shared.rng.randrange(2**32)))
        shared.number += 0 if settings.untimed else 1
        self.number = 0 if settings.untimed else shared.number
        self._forks = not (settings.untimed or settings.counter or settings.spared or shared.why_no_forks)
        self._launched: dict[str, Child] = {}
        """The new process of each side that `launch` has started."""
        self.children: dict[str, Process] = {}
        self.loaded: dict[str, tuple[str, ...]] = dict.fromkeys(SIDES, ())
        """The top-level packages and modules that each side has imported from its trees."""

    def order(self) -> list[str]:
        return self.shared.rng.sample(SIDES, len(SIDES))

    def launch(self, sides: Collection[str] = SIDES) -> None:
        """Start new processes without waiting until they have collected the suite."""
        order = [side for side in self.order() if side in sides]
        self._launched = {side: self._new_child(side, self._variants[side]) for side in order}

    def start(self, sides: Collection[str] = SIDES) -> dict[str, dict[str, Any]]:
        """Start the processes; return each side's answer `collected`, which lists its tests."""
        shared, variants = self.shared, (self.settings.base, self.settings.head)
        parents = self._parents
        if self._forks and not parents:
            parents = shared.parents_of(variants) or self._parent_of_both(variants)
        if not parents:
            begin = RealTime.seconds()
            if not self._launched:
                self.launch(sides)
            seconds = shared.plan.timeout_seconds
            collected = {side: self.answer(side, seconds) for side in SIDES if side in sides}
            if self._forks:
                shared.why_no_forks = _why_no_forks(collected.values())
            if not self._forks or shared.why_no_forks:
                return collected
            parents = Parents(self._launched, collected, variants, RealTime.seconds() - begin)
            shared.parents = parents
        self._fork(parents)
        return parents.collected

    def _parent_of_both(self, variants: tuple[Prepared, Prepared]) -> Parents | None:
        """Start one parent process for both sides. If this fails, store the reason and return None."""
        (base, head), shared, begin = variants, self.shared, RealTime.seconds()
        if base.environment != head.environment or base.versions != head.versions:
            shared.why_apart = shared.why_apart or "the sides differ in environment variables or packages"
        if shared.why_apart:
            return None
        order = self.order()
        child = self._new_child(SIDES[0], self._variants[order[0]], sessions=[*order, SIDES[0]])
        try:
            answer = self.answer(SIDES[0], shared.plan.timeout_seconds)
        except DiedError as error:
            answer = {"why_apart": str(error)}
        answers = answer.get("sessions", [answer])
        refused = [reason for session in answers for reason in session.get("refused", {}).values()]
        shared.why_apart = answer.get("why_apart") or next(iter(refused), "")
        shared.why_no_forks = _why_no_forks(answers)
        if shared.why_apart or shared.why_no_forks:
            child.stop()
            return None
        sessions = {side: order.index(side) for side in SIDES}
        collected = {side: answers[number] for side, number in sessions.items()}
        children, seconds = dict.fromkeys(SIDES, child), RealTime.seconds() - begin
        shared.parents = Parents(children, collected, variants, seconds, sessions=sessions)
        return shared.parents

    def _fork(self, parents: Parents) -> None:
        """Fork one process for each side from its parent, or one process that runs both sides."""
        self.children, self.sessions = {}, parents.sessions
        self.loaded = {side: tuple(answer["loaded"]) for side, answer in parents.collected.items()}
        seconds = self.shared.plan.timeout_seconds
        try:
            for side in SIDES[:1] if self.sessions else self.order():
                self.children[side] = parents.children[side].fork(self.number, SIDES.index(side), seconds)
                self.answer(side)
        except DiedError as error:
            if self.shared.left_seconds() > 0:  # another fork would probably die, too
                self.shared.why_no_forks = str(error)
            self.shared.end_parents()
            raise
        if self.sessions:
            self.children = dict.fromkeys(SIDES, *self.children.values())
        parents.pairs += 1

    def _new_child(self, side: str, variant: Prepared, sessions: Sequence[str] = ()) -> Child:
        """Start a process that runs a variant, or one pytest session for each side that `sessions` names."""
        plan, logs, under = self.shared.plan, self.shared.logs, list[str]()
        environment = {_HASH_SEED: self._hash_seed}
        if self.settings.counter:
            files = logs / f"{side}-{self.number}"
            files.mkdir()
            environment |= instructions.variables(files)
            under = instructions.command(files)
        child = self.children[side] = Child(
            plan.arguments,
            environment={**environment, **variant.environment},
            trees=self._trees(variant),
            sessions=[(SIDES.index(name), self._trees(self._variants[name])) for name in sessions],
            folder=plan.folder,
            log=logs / f"{side}-{self.number}.log",
            pair=self.number,
            side=side,
            under=under,
            settings={
                "recorded": self.settings.untimed,
                "forks": self._forks,
                "defaults": plan.defaults,
                "apart": bool(self.settings.counter or self.settings.trapped),
            },
        )
        return child

    def ask_second_base(self, **command: Any) -> dict[str, Any]:
        """Send a command to a second process of the base, started if necessary, and return its answer."""
        try:
            if SECOND_BASE not in self.children:
                self._new_child(SECOND_BASE, self.settings.base)
                self.answer(SECOND_BASE)
            self.send(SECOND_BASE, **command)
            return self.answer(SECOND_BASE)
        except DiedError:
            self.children.pop(SECOND_BASE).stop()
            raise

    def _trees(self, variant: Prepared) -> Trees:
        top = str(real_path(project(self.shared.plan.folder)))
        all_redirects = (redirect for each in self._variants.values() for redirect in each.redirects)
        used = variant.redirects or [*map(redirects.of_working_tree, all_redirects)]
        return Trees(list(map(str, variant.trees)), used, top)

    def send(self, side: str, **command: Any) -> None:
        session = {"session": self.sessions[side]} if side in self.sessions else {}
        self.children[side].send({**command, **session, "now": self.shared.fake_seconds})

    def answer(self, side: str, at_most_seconds: float | None = None) -> dict[str, Any]:
        """Wait for a side's answer, by default for the plan's timeout or, if shorter, the rest of the run."""
        if at_most_seconds is None:
            at_most_seconds = min(self.shared.plan.timeout_seconds, max(self.shared.left_seconds(), 0.0))
        answer = self.children[side].answer(at_most_seconds)
        self.loaded[side] = tuple(answer["loaded"])
        if answer["now"] is not None:
            self.shared.simulated = True
            self.shared.fake_seconds = max(self.shared.fake_seconds, answer["now"])
        return answer

    def stop(self, wait_seconds: float) -> None:
        """End the processes; together they have this many seconds to tear down their fixtures."""
        end = RealTime.seconds() + wait_seconds

        def stop(child: Process) -> None:
            child.stop(max(0.0, end - RealTime.seconds()))

        with ExitStack() as stack:
            children = dict.fromkeys(self.children.values())
            for child in children:
                stack.callback(stop, child)
            for child in children if wait_seconds else ():
                child.quit()


def _why_no_forks(answers: Iterable[Mapping[str, Any]]) -> str:
    """Return the first reason in these answers not to fork their process, or an empty text."""
    return next((reason for answer in answers if (reason := answer.get("why_no_forks"))), "")
