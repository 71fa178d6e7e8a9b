"""One fresh pytest process per side, and the commands and answers between them and the coordinator."""

import os
import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

from ...clocks import RealTime
from ...variants.child import Child, DiedError

SIDES = ("base", "head")
_HASH_SEED = "PYTHONHASHSEED"


class Startable(Protocol):
    """What a process is started with."""

    @property
    def trees(self) -> Sequence[Path]:
        """Import roots that come first."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables to set."""


class Processes:
    """The processes of both sides.

    Args:
        base: what the older side's process is started with.
        head: the same of the newer side.
        arguments: pytest's arguments.
        folder: working directory of both.
        logs: folder for their output: `base-NUMBER.log`, `head-NUMBER.log`.
        rng: draws which side goes first, and the hash seed of both.
        timeout_seconds: a side that does not answer for so long is given up.
        number: number of the pair in the run.
        fake_seconds: time of the simulated machine, if GNNBENCH_FAKE_CLOCK asks for one.
        environ: variables of both sides.
    """

    def __init__(
        self,
        base: Startable,
        head: Startable,
        arguments: Sequence[str],
        *,
        folder: Path,
        logs: Path,
        rng: random.Random,
        timeout_seconds: float,
        number: int = 0,
        fake_seconds: float = 0.0,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._given = dict(zip(SIDES, (base, head), strict=True))
        self._arguments, self._folder, self._logs = arguments, folder, logs
        self._rng, self._timeout_seconds, self._number = rng, timeout_seconds, number
        self._fake_seconds, self._simulated = fake_seconds, False
        # Both sides iterate over sets in the same order, unless the user sets a hash seed.
        hash_seed = os.environ.get(_HASH_SEED, str(rng.randrange(2**32)))
        self._environ = {_HASH_SEED: hash_seed, **(environ or {})}
        self.children: dict[str, Child] = {}
        self.loaded: dict[str, tuple[str, ...]] = dict.fromkeys(SIDES, ())
        """By side, the top-level packages and modules that it has imported from its trees so far."""

    @property
    def fake_seconds(self) -> float | None:
        """Time of the simulated machine; None on a real one."""
        return self._fake_seconds if self._simulated else None

    def now(self) -> float:
        """Return the time in seconds, of the simulated machine if there is one."""
        return self._fake_seconds if self._simulated else RealTime.seconds()

    def order(self) -> list[str]:
        """Draw the order of the sides."""
        return self._rng.sample(SIDES, len(SIDES))

    def start(self) -> dict[str, dict[str, Any]]:
        """Start both; return by side what it says of the tests that it has collected.

        Raises:
            DiedError: a side did not start.
        """
        for side in self.order():
            given = self._given[side]
            self.children[side] = Child(
                self._arguments,
                environment={**self._environ, **given.environment},
                trees=given.trees,
                folder=self._folder,
                log=self._logs / f"{side}-{self._number}.log",
                pair=self._number,
                side=SIDES.index(side),
            )
        return {side: self.answer(side) for side in self.order()}

    def send(self, side: str, **command: Any) -> None:
        """Send a command.

        Raises:
            DiedError: the process has ended; the message names the side.
        """
        try:
            self.children[side].send({**command, "now": self._fake_seconds})
        except DiedError as error:
            raise DiedError(f"{side}: {error}", side) from None

    def answer(self, side: str) -> dict[str, Any]:
        """Wait for the answer of a side.

        Raises:
            DiedError: there is none; the message names the side.
        """
        try:
            answer = self.children[side].answer(self._timeout_seconds)
        except DiedError as error:
            raise DiedError(f"{side}: {error}", side) from None
        self.loaded[side] = tuple(answer["loaded"])
        if answer["now"] is not None:
            self._simulated = True
            self._fake_seconds = max(self._fake_seconds, answer["now"])
        return answer

    def stop(self, wait_seconds: float) -> None:
        """End both, after letting them tear down for so long."""
        with ExitStack() as stack:
            for child in self.children.values():
                stack.callback(child.stop, wait_seconds)
            if wait_seconds:
                for child in self.children.values():
                    child.quit()
