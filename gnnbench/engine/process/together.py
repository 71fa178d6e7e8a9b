"""Both sides of a pair in one process: each has a session of pytest, and its own copy of what differs.

Calls that take turns in one process share its threads, its allocator and the time that the scheduler gives
it. So their ratio varies less than that of two processes, and far less where other programs use the cores.
What the sides have in common, such as torch, is loaded once. When a session has collected the suite, it
starts the next one; the last one takes the commands. A test of one session runs while a test of another
waits in its call of `benchmark`, and ends before it.
"""

import os
import random
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import pytest

from ..ground.cpu import RealTime
from ..interfaces import Instrument
from ..measure.clock import alternate
from .imports import Imports, NotTogetherError, own_packages
from .variants.child_plugins import CallersTree
from .variants.import_roots import SIDE, Trees
from .variants.pipe import Link
from .variants.startup import run
from .worker import Worker

_TURNS_OF_COPIES = 4
"""So many turns are timed with the same copies of the inputs."""


class SessionWorker(Worker):
    """The worker of one session. The commands that it receives may be for another one."""

    def __init__(self, terms: Mapping[str, Any], link: Link, trees: Trees, together: "Together") -> None:
        super().__init__(terms, link, trees)
        self.trees, self._together = trees, together
        self.collected: Mapping[str, Any] = {}
        """What it says of its tests. Empty until it has collected them."""
        self.imports: Imports

    def _first_answer(self, collected: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self._together.goes_on(collected, str(self._session.config.rootpath))

    def _receive(self) -> dict[str, Any]:
        while self._together.takes(command := super()._receive()):
            pass
        return command

    def choose(self, fixture: Any) -> Instrument | None:
        """Return the worker of the active session: one of another is asked, too."""
        return Worker.choose(self._together.current, fixture)

    def begin(self, pair: int, _place: int, link: Link) -> None:
        """Begin in a fork, with all sessions."""
        for number, worker in enumerate(self._together.workers):
            Worker.begin(worker, pair, number, link)

    def obey(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Obey a command while a test of another session waits for its next one; return the answer."""
        follows, self._forks.follows = self._forks.follows, self._current is not None
        try:
            return self._current.obey(command) if self._current else self._run(command)
        finally:
            self._forks.follows = follows

    def reply(self, obey: Callable[[], dict[str, Any]]) -> None:
        """Send the answer to a command; an exception ends the comparison in this process."""
        try:
            answer = obey()
        except Exception as error:  # noqa: BLE001 - a call may raise anything, and the other test must go on
            answer = {"answer": "apart", "reason": f"{type(error).__name__}: {error}"}
        self._send(answer)

    def follow(self, other: Worker) -> None:
        """Go on at the simulated time of another session."""
        if self._machine and other._machine:  # noqa: SLF001
            self._machine.now_seconds = other._machine.now_seconds  # noqa: SLF001

    def now(self) -> float:
        """Return seconds, simulated ones if a machine is simulated."""
        return self._machine.now_seconds if self._machine else RealTime.seconds()


class Together:
    """The sessions of a process: one of each side, and another of the base, for the control."""

    def __init__(self, terms: Mapping[str, Any], link: Link, trees: Trees) -> None:
        """Take the terms of a worker; `sessions` has the side and the file of the trees of each session."""
        self._terms, self._link = terms, link
        self._path, self._finders = sys.path[:], sys.meta_path[:]
        self.workers: list[SessionWorker] = []
        self._packages: Collection[str] = ()
        self.active = 0
        """The number of the session whose modules are there."""
        self._begin(trees)

    def _begin(self, trees: Trees) -> None:
        side, _ = self._terms["sessions"][self.active]
        self.workers.append(SessionWorker({**self._terms, "side": side}, self._link, trees, self))

    @property
    def current(self) -> SessionWorker:
        """The worker of the active session."""
        return self.workers[self.active]

    def _run_next(self) -> Mapping[str, Any] | None:
        """Run the next session. Returns why it cannot be run; None if the last one has taken the commands."""
        before, worker = self.active, self.current
        _, file = self._terms["sessions"][before + 1]
        worker.imports.take_out()
        sys.path[:], sys.meta_path[:] = self._path, self._finders
        trees = Trees.read(file)
        trees.install()
        trees.install_in_pytest()
        os.environ[SIDE] = file
        self.active += 1
        self._begin(trees)
        try:
            pytest.main(sys.argv[1:], plugins=[CallersTree(trees), self.current])
        finally:
            Imports(self._packages, trees).take_out()
            worker.imports.put_back()
            self.active = before
        if self.workers[before + 1].collected:
            return None
        return {"answer": "collected", "why_apart": "the suite cannot be collected twice"}

    def goes_on(self, collected: Mapping[str, Any], root: str) -> Mapping[str, Any] | None:
        """Go on when a session has collected the suite; return the first answer, if this session has it."""
        worker = self.current
        if self.active == 0:
            try:
                self._packages = own_packages(worker.trees, Trees.read(self._terms["sessions"][1][1]), root)
            except NotTogetherError as error:
                return {"answer": "collected", "why_apart": str(error)}
        worker.imports = Imports(self._packages, worker.trees)
        worker.collected = {**collected, "loaded": list(worker.trees.loaded)}
        if len(self.workers) < len(self._terms["sessions"]):
            return self._run_next()
        return {**worker.collected, "sessions": [each.collected for each in self.workers]}

    def takes(self, command: Mapping[str, Any]) -> bool:
        """Obey a command that is not for the active session; tell whether it was one."""
        if command["command"] == "turns":
            self.current.reply(lambda: self._turns(command))
            return True
        number = command.get("session", self.active)
        if number == self.active:
            return False
        with self._switched(number):
            self.current.reply(lambda: self.current.obey(command))
        return True

    def _turns(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Let two sessions take turns, a block each, both on one of the cores that are given.

        With a command for each block, ratios of pairs differ 1.5 to 3 times as much.
        """
        draw = random.Random(command["seed"])  # noqa: S311 - turns, not secrets
        blocks: dict[str, list[dict[str, Any]]] = {side: [] for side in command["sizes"]}

        def turn() -> None:
            core = draw.choice(command["cores"]) if command["cores"] else None
            for side in draw.sample([*blocks], len(blocks)):
                renew = len(blocks[side]) % _TURNS_OF_COPIES == 0
                terms = {"command": "block", "core": core, "renew": renew, **command["sizes"][side]}
                with self._switched(command["sessions"][side]):
                    blocks[side].append(self.current.obey(terms))

        alternate(turn, self.current.now, command["seconds"], command["end"])
        return {"answer": "turns", "blocks": blocks}

    @contextmanager
    def _switched(self, number: int) -> Iterator[None]:
        """Put what a session has for itself in place of what is there within the context."""
        before = self.active
        if number == before:
            yield
            return
        first, second = self.workers[before], self.workers[number]
        second.follow(first)
        first.imports.take_out()
        second.imports.put_back()
        self.active = number
        try:
            yield
        finally:
            second.imports.take_out()
            first.imports.put_back()
            first.follow(second)
            self.active = before


def main(terms: Mapping[str, Any], link: Link, trees: Trees) -> NoReturn:
    """Run pytest for each session."""
    run(trees, Together(terms, link, trees).current)
