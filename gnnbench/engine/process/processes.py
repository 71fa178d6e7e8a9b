"""One fresh pytest process per side, and the commands and answers between them and the driver."""

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from ..ground.cpu import RealTime
from ..ground.files import project, real_path
from ..measure import instructions
from .parents import Parents, Shared
from .variants import redirects
from .variants.child import SIDES, Child, DiedError, Process
from .variants.import_roots import Trees
from .variants.variant import Prepared

BASE_AGAIN = "a second process of the base"
"""In place of a side: what differs between it and the base is no difference of the head."""
SEED = 0
"""Of the random numbers of a call that is inspected or counted: so those of several pairs are alike."""
_HASH_SEED = "PYTHONHASHSEED"
_OWN_VARIABLES = "GNNBENCH_"
"""Their beginning; what they set is another part of a fingerprint."""


@dataclass(frozen=True)
class Terms:
    """What a pair of processes is started for."""

    base: Prepared
    head: Prepared
    counter: str = ""
    """What counts instructions in both, see `instructions.counter_name`; empty if nothing does."""
    about: str = ""
    """What is measured, before each step of the progress."""
    spared: Collection[str] = ()
    """The sides that need not start."""
    untimed: bool = False
    """Whether nothing is timed; then they note what they use."""
    trapped: Collection[str] = ()
    """Libraries in which some functions end the process; each test then runs in a process of its own."""

    def differing_variables(self) -> list[str]:
        """Return the environment variables to which the sides give other values."""
        base, head = self.base.environment, self.head.environment
        return sorted(
            name
            for name in {**base, **head}
            if not name.startswith(_OWN_VARIABLES)
            and base.get(name, os.environ.get(name)) != head.get(name, os.environ.get(name))
        )


class Processes:
    """The processes of both sides."""

    def __init__(self, terms: Terms, shared: Shared, parents: Parents | None = None) -> None:
        """Prepare them; they are forked from the given parents, or else from those of the sides."""
        self._parents = parents
        self.sessions: Mapping[str, int] = {}
        """By side, the number of its session, if one process has both."""
        self.terms, self.shared = terms, shared
        self._given = dict(zip(SIDES, (terms.base, terms.head), strict=True))
        # Both sides iterate over sets in the same order, unless the user sets a hash seed.
        self._hash_seed = os.environ.get(_HASH_SEED, str(shared.rng.randrange(2**32)))
        shared.number += not terms.untimed
        self.number = 0 if terms.untimed else shared.number
        self._forks = not (terms.untimed or terms.counter or terms.spared or shared.why_no_forks)
        self._fresh: dict[str, Child] = {}
        """By side, its own new process; none if it is forked, or not started."""
        self.children: dict[str, Process] = {}
        self.loaded: dict[str, tuple[str, ...]] = dict.fromkeys(SIDES, ())
        """By side, the top-level packages and modules that it has imported from its trees so far."""

    def order(self) -> list[str]:
        """Draw the order of the sides."""
        return self.shared.rng.sample(SIDES, len(SIDES))

    def launch(self, sides: Collection[str] = SIDES) -> None:
        """Start fresh processes, and do not wait until they have collected the suite."""
        order = [side for side in self.order() if side in sides]
        self._fresh = {side: self._launched(side, self._given[side]) for side in order}

    def start(self, sides: Collection[str] = SIDES) -> dict[str, dict[str, Any]]:
        """Start them; return by side what it says of the tests that it has collected."""
        shared, given = self.shared, (self.terms.base, self.terms.head)
        parents = self._parents
        if self._forks and not parents:
            parents = shared.parents_of(given) or self._parents_together(given)
        if not parents:
            begin = RealTime.seconds()
            if not self._fresh:
                self.launch(sides)
            seconds = shared.plan.timeout_seconds
            collected = {side: self.answer(side, seconds) for side in SIDES if side in sides}
            if self._forks:
                shared.why_no_forks = _why_no_forks(collected.values())
            if not self._forks or shared.why_no_forks:
                return collected
            parents = shared.parents = Parents(self._fresh, collected, given, RealTime.seconds() - begin)
        self._fork(parents)
        return parents.collected

    def _parents_together(self, sides: tuple[Prepared, Prepared]) -> Parents | None:
        """Start a process with both sides. Returns None, and notes why, if it cannot be forked."""
        (base, head), shared, begin = sides, self.shared, RealTime.seconds()
        if base.environment != head.environment or base.versions != head.versions:
            shared.why_apart = shared.why_apart or "the sides differ in variables or installed packages"
        if shared.why_apart:
            return None
        order = self.order()
        child = self._launched(SIDES[0], self._given[order[0]], [*order, SIDES[0]])
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
        shared.parents = Parents(children, collected, sides, seconds, sessions=sessions)
        return shared.parents

    def _fork(self, parents: Parents) -> None:
        """Fork both from their parents, or one process that has both."""
        self.children, self.sessions = {}, parents.sessions
        self.loaded = {side: tuple(answer["loaded"]) for side, answer in parents.collected.items()}
        seconds = self.shared.plan.timeout_seconds
        try:
            for side in SIDES[:1] if self.sessions else self.order():
                self.children[side] = parents.children[side].fork(self.number, SIDES.index(side), seconds)
                self.answer(side)
        except DiedError:
            self.shared.end_parents()
            raise
        if self.sessions:
            self.children = dict.fromkeys(SIDES, *self.children.values())
        parents.pairs += 1

    def _launched(self, side: str, given: Prepared, sessions: Sequence[str] = ()) -> Child:
        """Start a side in a process, or one with a session of each of the given sides."""
        plan, logs, under = self.shared.plan, self.shared.logs, list[str]()
        environment = {_HASH_SEED: self._hash_seed}
        if self.terms.counter:
            files = logs / f"{side}-{self.number}"
            files.mkdir()
            environment |= instructions.variables(files)
            under = instructions.command(files)
        child = self.children[side] = Child(
            plan.arguments,
            environment={**environment, **given.environment},
            trees=self._trees(given),
            sessions=[(SIDES.index(name), self._trees(self._given[name])) for name in sessions],
            folder=plan.folder,
            log=logs / f"{side}-{self.number}.log",
            pair=self.number,
            side=side,
            under=under,
            settings={
                "recorded": self.terms.untimed,
                "forks": self._forks,
                "defaults": plan.defaults,
                "apart": bool(self.terms.counter or self.terms.trapped),
            },
        )
        return child

    def ask_again(self, **command: Any) -> dict[str, Any]:
        """Let a second process of the base obey; one is started if none runs, as after a DiedError."""
        try:
            if BASE_AGAIN not in self.children:
                self._launched(BASE_AGAIN, self.terms.base)
                self.answer(BASE_AGAIN)
            self.send(BASE_AGAIN, **command)
            return self.answer(BASE_AGAIN)
        except DiedError:
            self.children.pop(BASE_AGAIN).stop()
            raise

    def _trees(self, given: Prepared) -> Trees:
        top = str(real_path(project(self.shared.plan.folder)))
        others = (redirect for other in self._given.values() for redirect in other.redirects)
        used = given.redirects or [*map(redirects.of_working_tree, others)]
        return Trees(list(map(str, given.trees)), used, top)

    def send(self, side: str, **command: Any) -> None:
        """Send a command."""
        session = {"session": self.sessions[side]} if side in self.sessions else {}
        self.children[side].send({**command, **session, "now": self.shared.fake_seconds})

    def answer(self, side: str, at_most_seconds: float | None = None) -> dict[str, Any]:
        """Wait for the answer of a side, by default at most until the end of the run's time."""
        if at_most_seconds is None:
            at_most_seconds = min(self.shared.plan.timeout_seconds, max(self.shared.left_seconds(), 0.0))
        answer = self.children[side].answer(at_most_seconds)
        self.loaded[side] = tuple(answer["loaded"])
        if answer["now"] is not None:
            self.shared.simulated = True
            self.shared.fake_seconds = max(self.shared.fake_seconds, answer["now"])
        return answer

    def stop(self, wait_seconds: float) -> None:
        """End both, after letting them tear down for so long."""
        with ExitStack() as stack:
            children = dict.fromkeys(self.children.values())
            for child in children:
                stack.callback(child.stop, wait_seconds)
            if wait_seconds:
                for child in children:
                    child.quit()


def _why_no_forks(answers: Iterable[Mapping[str, Any]]) -> str:
    """Return why a process of these cannot be forked. Empty if all can."""
    return next((why for answer in answers if (why := answer.get("why_no_forks"))), "")
