"""Both sides of a pair in one process: each has a session of pytest, and its own copy of what differs.

Calls that take turns in one process share its threads, its allocator and its time on the cores. So the ratio
of their times varies less than between two processes, and far less if other programs use the cores. Modules
that do not differ, such as torch, are loaded once. When a session has collected the suite, it starts the next
session within itself; the last session receives the commands. While a test of one session waits in its call
of `benchmark`, a test of another session runs and ends.
"""

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
from .variants.import_roots import Trees
from .variants.pipe import Link
from .variants.startup import run, use
from .worker import Worker

_TURNS_OF_COPIES = 4
"""Number of turns that are timed with the same copies of the inputs."""


class SessionWorker(Worker):
    """The worker of one session. It also receives commands for the other sessions."""

    def __init__(self, settings: Mapping[str, Any], link: Link, trees: Trees, sessions: "Sessions") -> None:
        super().__init__(settings, link, trees)
        self.trees, self._sessions = trees, sessions
        self.collected: Mapping[str, Any] = {}
        """The answer `collected` with the session's tests; empty until it has collected them."""
        self.imports: Imports

    def _first_answer(self, answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return self._sessions.first_answer(answer, str(self._session.config.rootpath))

    def _receive(self) -> dict[str, Any]:
        """Return the next command for this session, after obeying commands for other sessions."""
        while self._sessions.obey_for_other(command := super()._receive()):
            pass
        return command

    def choose(self, fixture: Any) -> Instrument | None:
        """Return the active session's worker: pytest-benchmark always asks the last session's worker."""
        return Worker.choose(self._sessions.current, fixture)

    def begin(self, pair: int, _index: int, link: Link) -> None:
        """Seed the workers of all sessions after a fork."""
        for number, worker in enumerate(self._sessions.workers):
            Worker.begin(worker, pair, number, link)

    def obey(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Obey a command for this session that another session has received; return the answer."""
        watches, self._forks.watches = self._forks.watches, self._current is not None
        try:
            return self._current.obey(command) if self._current else self._run(command)
        finally:
            self._forks.watches = watches

    def reply(self, obey: Callable[[], dict[str, Any]]) -> None:
        """Send what `obey` returns, or `apart` if it raises: the coordinator then uses two processes."""
        try:
            answer = obey()
        except Exception as error:  # noqa: BLE001 - a call may raise anything, and the other test must go on
            answer = {"answer": "apart", "reason": f"{type(error).__name__}: {error}"}
        self._send(answer)

    def copy_time(self, other: Worker) -> None:
        """Set this session's simulated time to that of another session."""
        if self._machine and other._machine:  # noqa: SLF001
            self._machine.now_seconds = other._machine.now_seconds  # noqa: SLF001

    def now(self) -> float:
        """Return the time in seconds: the simulated machine's if there is one, else the real time."""
        return self._machine.now_seconds if self._machine else RealTime.seconds()


class Sessions:
    """The sessions of a process: one of each side, and another of the base, to time it against itself."""

    def __init__(self, settings: Mapping[str, Any], link: Link, trees: Trees) -> None:
        """Take a worker's settings; `sessions` in them has each session's side and the file of its trees."""
        self._settings, self._link = settings, link
        self._path, self._finders = sys.path[:], sys.meta_path[:]
        self.workers: list[SessionWorker] = []
        self._packages: Collection[str] = ()
        self.active = 0
        """The number of the session whose modules are in `sys.modules`."""
        self._add_worker(trees)

    def _add_worker(self, trees: Trees) -> None:
        side, _ = self._settings["sessions"][self.active]
        self.workers.append(SessionWorker({**self._settings, "side": side}, self._link, trees, self))

    @property
    def current(self) -> SessionWorker:
        """The worker of the active session."""
        return self.workers[self.active]

    def _run_next(self) -> Mapping[str, Any] | None:
        """Run the next session to its end. Returns None, or an answer if it cannot collect the suite."""
        before, worker = self.active, self.current
        _, file = self._settings["sessions"][before + 1]
        worker.imports.take_out()
        sys.path[:], sys.meta_path[:] = self._path, self._finders
        trees = use(file)
        self.active += 1
        self._add_worker(trees)
        try:
            pytest.main(sys.argv[1:], plugins=[CallersTree(trees), self.current])
        finally:
            Imports(self._packages, trees).take_out()
            worker.imports.put_back()
            self.active = before
        if self.workers[before + 1].collected:
            return None
        return {"answer": "collected", "why_apart": "the suite cannot be collected twice in one process"}

    def first_answer(self, collected: Mapping[str, Any], root: str) -> Mapping[str, Any] | None:
        """Run the next session when one has collected the suite. The last session returns all answers.

        An answer with `why_apart` says why the sides cannot run in one process.
        """
        worker = self.current
        if self.active == 0:
            try:
                other_trees = Trees.read(self._settings["sessions"][1][1])
                self._packages = own_packages(worker.trees, other_trees, root)
            except NotTogetherError as error:
                return {"answer": "collected", "why_apart": str(error)}
        worker.imports = Imports(self._packages, worker.trees)
        worker.collected = {**collected, "loaded": list(worker.trees.loaded)}
        if len(self.workers) < len(self._settings["sessions"]):
            return self._run_next()
        return {**worker.collected, "sessions": [each.collected for each in self.workers]}

    def obey_for_other(self, command: Mapping[str, Any]) -> bool:
        """Obey a command unless it is for the active session alone. Returns whether it was obeyed."""
        if command["command"] == "turns":
            self.current.reply(lambda: self._turns(command))
            return True
        number = command.get("session", self.active)
        if number == self.active:
            return False
        with self._switch(number):
            self.current.reply(lambda: self.current.obey(command))
        return True

    def _turns(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Let two sessions take turns; in each turn, both time a block on the same, randomly chosen core.

        If each block had a command of its own, the ratios of pairs would vary 1.5 to 3 times as much.
        """
        rng = random.Random(command["seed"])  # noqa: S311 - turns, not secrets
        blocks: dict[str, list[dict[str, Any]]] = {side: [] for side in command["sizes"]}

        def turn() -> None:
            core = rng.choice(command["cores"]) if command["cores"] else None
            for side in rng.sample([*blocks], len(blocks)):
                renew = len(blocks[side]) % _TURNS_OF_COPIES == 0
                block = {"command": "block", "core": core, "renew": renew, **command["sizes"][side]}
                with self._switch(command["sessions"][side]):
                    blocks[side].append(self.current.obey(block))

        alternate(turn, self.current.now, command["seconds"], command["end"])
        return {"answer": "turns", "blocks": blocks}

    @contextmanager
    def _switch(self, number: int) -> Iterator[None]:
        """Make another session the active one within the context."""
        before = self.active
        if number == before:
            yield
            return
        first, second = self.workers[before], self.workers[number]
        second.copy_time(first)
        first.imports.take_out()
        second.imports.put_back()
        self.active = number
        try:
            yield
        finally:
            second.imports.take_out()
            first.imports.put_back()
            first.copy_time(second)
            self.active = before


def main(settings: Mapping[str, Any], link: Link, trees: Trees) -> NoReturn:
    run(trees, Sessions(settings, link, trees).current)
