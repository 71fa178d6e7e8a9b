"""Two fresh processes, one of each side, that take turns."""

import os
import random
import time
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from statistics import geometric_mean
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

from ...variants.child import Child, DiedError
from .visit import NotTimed, Visit

SIDES = ("base", "head")
NO_BENCHMARK = NotTimed("no benchmark", "no benchmark: it never calls `benchmark`")

_BLOCK_SECONDS = 0.01
_MOST_ROUNDS = 50
_FEWEST_TURNS = 3
_QUIT_SECONDS = 20.0
_HASH_SEED = "PYTHONHASHSEED"


Counts = Mapping[str, int]


class Size(NamedTuple):
    """Of a block: the same in all pairs of a run, or their times would not compare."""

    iterations: int
    rounds: int


class Startable(Protocol):
    """What a process is started with."""

    @property
    def trees(self) -> Sequence[Path]:
        """Import roots that come first."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables to set."""


_Ended = dict[str, NotTimed | None]
"""By side that has ended a benchmark, why before its time; None: as it should."""


class _EndedError(Exception):
    """A benchmark ended before it was told to."""


class Workers:
    """A pair of processes. A context manager: whatever happens, none of them is left."""

    def __init__(
        self,
        base: Startable,
        head: Startable,
        arguments: Sequence[str],
        *,
        folder: Path,
        logs: Path,
        rng: random.Random,
        sizes: MutableMapping[str, Size],
        counts: MutableMapping[str, tuple[Counts, Counts]],
        timeout_seconds: float,
        number: int = 0,
        fake_seconds: float = 0.0,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Start nothing yet.

        Args:
            base: the older side.
            head: the newer one.
            arguments: of pytest.
            folder: where both run.
            logs: folder for what they print: `base-NUMBER.log`, `head-NUMBER.log`.
            rng: draws who goes first, and the random numbers that both sides' benchmarks see.
            sizes: by benchmark, those that are known; the first visit of each adds its own.
            counts: by benchmark, what one call of the base and of the head does; likewise.
            timeout_seconds: without an answer after which a side is given up.
            number: of the pair in the run.
            fake_seconds: the time of the simulated machine, where GNNBENCH_FAKE_CLOCK asks for one.
            environ: variables of both sides.
        """
        self._given = dict(zip(SIDES, (base, head), strict=True))
        self._arguments, self._folder, self._logs = arguments, folder, logs
        self._rng, self._sizes, self._counts = rng, sizes, counts
        self._timeout_seconds = timeout_seconds
        self._number, self._fake_seconds = number, fake_seconds
        # The order of sets is one draw for both sides, unless the user has fixed it.
        hash_seed = os.environ.get(_HASH_SEED, str(rng.randrange(2**32)))
        self._environ = {_HASH_SEED: hash_seed, **(environ or {})}
        # Of its own: how many numbers it draws depends on the machine.
        self._core_rng = random.Random(rng.randrange(2**32))  # noqa: S311 - turns, not secrets
        self._processes: dict[str, Child] = {}
        self._simulated = False
        self._collected: dict[str, dict[str, Any]] = {}
        self._visited_once: set[str] = set()
        self.broken: str | None = None
        """Why nothing more can be visited: a side died. Names it."""
        self.start_seconds = 0.0
        """Until both had collected the suite; real ones, also on a simulated machine."""
        self.names: tuple[str, ...] = ()
        """All tests that either side has: which of them are benchmarks, running them shows."""
        self.declared: frozenset[str] = frozenset()
        """Those that ask for the fixture `benchmark` by its name; others may get it by another."""
        self.refused: dict[str, dict[str, str]] = {}
        """By side, the files that it cannot collect, each with the reason."""
        self.loaded: dict[str, tuple[str, ...]] = dict.fromkeys(SIDES, ())
        """By side, the top-level packages and modules that were imported from its trees so far."""

    @property
    def fake_seconds(self) -> float | None:
        """The simulated machine's time; None on a real one."""
        return self._fake_seconds if self._simulated else None

    def __enter__(self) -> Self:
        """Start both and have them collect the suite. Where that fails the pair is broken at once."""
        start = time.monotonic()
        try:
            for side in self._order():
                self._start(side)
            for side in self._order():
                self._collected[side] = self._answer(side)
        except DiedError as error:
            self._break(error)
        except BaseException:
            self._stop(0.0)
            raise
        else:
            found = [self._collected[side] for side in reversed(SIDES)]
            self.names = tuple(dict.fromkeys(name for one in found for name in one["names"]))
            self.declared = frozenset(name for one in found for name in one["declared"])
            self.refused = {side: one["refused"] for side, one in self._collected.items()}
        self.start_seconds = time.monotonic() - start
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Let both tear down, unless something went wrong, and end them."""
        self._stop(_QUIT_SECONDS if kind is None and self.broken is None else 0.0)

    def visit(self, name: str, seconds: float) -> Visit | NotTimed:
        """Time a benchmark in turns; or say why not.

        After a failure `broken` says whether more can be visited.

        Args:
            name: pytest's node id.
            seconds: for the turns, of which there are at least three; set-up and calibration come on top.
                What a process can do but once gets one turn, in the first visit of a pair alone.
        """
        if self.broken is not None:
            raise ValueError(self.broken)
        if missing := self._missing(name):
            return missing
        if name in self._visited_once:
            return _failed("its single round was timed in these processes before: fresh ones are needed")
        try:
            return self._visit(name, seconds)
        except DiedError as error:
            self._break(error)
            return _failed(str(error))

    def _visit(self, name: str, seconds: float) -> Visit | NotTimed:
        start = self._now()
        ended: _Ended = {}
        found: Visit | None = None
        # The first time of a run one after the other, as what they keep on disk is made then.
        together = name in self._sizes
        seed = self._rng.randrange(2**32)
        answers = self._untimed(self._order(), ended, together, command="run", name=name, seed=seed)
        once = any(answer.get("once") for answer in answers)
        if not ended:
            with suppress(_EndedError):
                found = self._turns(name, seconds, ended, once)
        while going := [side for side in self._order() if side not in ended]:
            self._untimed(going, ended, together, command="next")
        if once:
            self._visited_once.add(name)
        failures = {side: failure for side, failure in ended.items() if failure}
        if failures:
            return _joined(failures)
        if found is None:
            return NO_BENCHMARK
        return Visit(found.base_ns, found.head_ns, found.rounds, self._now() - start)

    def _untimed(
        self, sides: Sequence[str], ended: _Ended, together: bool, **command: Any
    ) -> list[dict[str, Any]]:
        """Return the answers to what is not timed, and so may run on both sides at once."""
        answers = []
        for group in [sides] if together else [[side] for side in sides]:
            for side in group:
                self._send(side, **command)
            answers += [self._take(side, ended, reached=True) for side in group]
        return answers

    def _turns(self, name: str, seconds: float, ended: _Ended, once: bool) -> Visit:
        """Calibrate both, and let them take turns."""
        size, cores = (Size(1, 1), []) if once else self._calibrated(name, ended)
        blocks: dict[str, list[float]] = {side: [] for side in SIDES}
        rounds = turns = 0
        start = self._now()
        block: dict[str, Any] = {"command": "block", "rounds": size.rounds, "iterations": size.iterations}
        while turns < _FEWEST_TURNS or self._now() - start < seconds:
            core = self._core_rng.choice(cores) if cores else None
            for side in self._order():
                answer = self._ask(side, ended, **block, core=core)
                blocks[side].append(answer["ns"])
            rounds += answer["rounds"]
            turns += 1
            if once:
                break
        if not once and name not in self._counts:
            base, head = (self._ask(side, ended, command="count")["counts"] for side in SIDES)
            self._counts[name] = base or {}, head or {}
        return Visit(tuple(blocks["base"]), tuple(blocks["head"]), rounds, 0.0)

    def _calibrated(self, name: str, ended: _Ended) -> tuple[Size, list[int]]:
        """Warm both up, and return what they are to time at a time, and on which cores: of both the same."""
        known = self._sizes.get(name)
        found = {
            side: self._ask(side, ended, command="calibrate", iterations=known and known.iterations)
            for side in self._order()
        }
        if known is None:
            iterations = max(one["iterations"] for one in found.values())
            # Between the two: either may be many times slower than it mostly is, in this process alone.
            call_seconds = geometric_mean(one["round_seconds"] / one["iterations"] for one in found.values())
            round_seconds = call_seconds * iterations
            rounds = round(_BLOCK_SECONDS / round_seconds)
            known = self._sizes[name] = Size(iterations, min(max(rounds, 1), _MOST_ROUNDS))
        base, head = (found[side]["cores"] for side in SIDES)
        return known, [core for core in base if core in head]

    def _ask(self, side: str, ended: _Ended, **command: Any) -> dict[str, Any]:
        """Send what is about timing, and return its answer as `_take` does."""
        self._send(side, **command)
        return self._take(side, ended, reached=False)

    def _send(self, side: str, **command: Any) -> None:
        """Send a command.

        Raises:
            DiedError: the process has ended; names the side.
        """
        try:
            self._processes[side].send({**command, "now": self._fake_seconds})
        except DiedError as error:
            raise DiedError(f"{side}: {error}") from None

    def _take(self, side: str, ended: _Ended, *, reached: bool) -> dict[str, Any]:
        """Return the answer of a side; note where it says that the test has ended.

        Raises:
            DiedError: there is no answer; names the side.
            _EndedError: it has ended, though more was to be timed: where that is not `reached` by it.
        """
        answer = self._answer(side)
        if answer["answer"] != "done":
            return answer
        if failure := answer["failure"]:
            ended[side] = NotTimed("skipped" if failure["skipped"] else "failed", failure["text"])
        elif not answer["held"]:
            ended[side] = NO_BENCHMARK
        else:
            ended[side] = None if reached else _failed("ended before it was timed")
        if not reached:
            raise _EndedError
        return answer

    def _answer(self, side: str) -> dict[str, Any]:
        try:
            answer = self._processes[side].answer(self._timeout_seconds)
        except DiedError as error:
            raise DiedError(f"{side}: {error}") from None
        self.loaded[side] = tuple(answer["loaded"])
        if answer["now"] is not None:
            self._simulated = True
            self._fake_seconds = max(self._fake_seconds, answer["now"])
        return answer

    def _start(self, side: str) -> None:
        given = self._given[side]
        environment = {**self._environ, **given.environment}
        self._processes[side] = Child(
            self._arguments,
            environment=environment,
            trees=given.trees,
            folder=self._folder,
            log=self._logs / f"{side}-{self._number}.log",
            pair=self._number,
            side=SIDES.index(side),
        )

    def _missing(self, name: str) -> NotTimed | None:
        """Say on which side there is no test of that name, and why, where that is known."""
        without = {}
        for side in SIDES:
            if name not in self._collected[side]["names"]:
                refused = [
                    f": {file} cannot be collected: {reason}"
                    for file, reason in self.refused[side].items()
                    if name.startswith(file)
                ]
                without[side] = _failed(f"has no such test{''.join(refused[:1])}")
        return _joined(without) if without else None

    def _order(self) -> list[str]:
        return self._rng.sample(SIDES, len(SIDES))

    def _now(self) -> float:
        return self._fake_seconds if self._simulated else time.monotonic()

    def _break(self, error: DiedError) -> None:
        self.broken = str(error)
        self._stop(0.0)

    def _stop(self, wait_seconds: float) -> None:
        with ExitStack() as stack:
            for process in self._processes.values():
                stack.callback(process.stop, wait_seconds)
            if wait_seconds:
                for process in self._processes.values():
                    process.quit()


def _failed(text: str) -> NotTimed:
    return NotTimed("failed", text)


def _joined(found: Mapping[str, NotTimed]) -> NotTimed:
    """Return in a line what is wrong with one side or with both."""
    kinds = {one.kind for one in found.values()}
    if kinds == {"no benchmark"}:
        return NO_BENCHMARK
    texts = {side: found[side].text for side in SIDES if side in found}
    if len(set(texts.values())) == 1:
        texts = {" and ".join(texts): next(iter(texts.values()))}
    text = "; ".join(f"{sides}: {text}" for sides, text in texts.items())
    return NotTimed("skipped" if kinds == {"skipped"} and len(found) == len(SIDES) else "failed", text)
