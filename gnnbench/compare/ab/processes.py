"""One fresh pytest process per side, and the commands and answers between them and the driver."""

import os
import random
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...clocks import RealTime
from ...devices import why_no_cuda
from ...measure.instructions.counter_choice import Watched
from ...variants.child import Child, DiedError
from ...variants.prepare import Prepared
from .visit import Size

SIDES = ("base", "head")
_HASH_SEED = "PYTHONHASHSEED"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How pairs of processes run benchmarks."""

    arguments: Sequence[str]
    """Pytest's."""
    folder: Path
    """Pytest's working directory: the caller's tree, whose benchmarks both sides run."""
    timeout_seconds: float
    """A process that does not answer for so long is given up."""
    seed: int = 0
    """Seeds the order of sides and of benchmarks."""
    time_all: bool = False
    """Whether benchmarks are timed although both sides run the same code."""


@dataclass
class Shared:
    """What all pairs of a run have in common."""

    setting: Setting
    logs: Path
    """Folder for the output of the processes: `base-NUMBER.log`, `head-NUMBER.log`."""
    rng: random.Random
    """Draws random seeds, and the order of the sides."""
    sizes: dict[str, Size] = field(default_factory=dict)
    """Sizes of blocks by benchmark; the first visit of a run adds them."""
    number: int = 0
    """Of pairs that were started."""
    fake_seconds: float = 0.0
    """Time of the simulated machine, if GNNBENCH_FAKE_CLOCK asks for one."""
    simulated: bool = False
    """Whether the machine is simulated."""

    def now(self) -> float:
        """Return the time in seconds, of the simulated machine if there is one."""
        return self.fake_seconds if self.simulated else RealTime.seconds()


class Processes:
    """The processes of both sides.

    Args:
        base: the older side.
        head: the newer side.
        shared: what all pairs of the run have in common.
        counter: what counts instructions in both, see `counter_choice.counter_name`; empty: nothing.
    """

    def __init__(self, base: Prepared, head: Prepared, shared: Shared, counter: str = "") -> None:
        self.shared, self._given = shared, dict(zip(SIDES, (base, head), strict=True))
        self._counter = counter
        # Both sides iterate over sets in the same order, unless the user sets a hash seed.
        self._hash_seed = os.environ.get(_HASH_SEED, str(shared.rng.randrange(2**32)))
        shared.number += 1
        self.number = shared.number
        self.children: dict[str, Child] = {}
        self.loaded: dict[str, tuple[str, ...]] = dict.fromkeys(SIDES, ())
        """By side, the top-level packages and modules that it has imported from its trees so far."""

    def order(self) -> list[str]:
        """Draw the order of the sides."""
        return self.shared.rng.sample(SIDES, len(SIDES))

    def start(self) -> dict[str, dict[str, Any]]:
        """Start both; return by side what it says of the tests that it has collected.

        Raises:
            DiedError: a side did not start.
        """
        setting, logs = self.shared.setting, self.shared.logs
        for side in self.order():
            given, watched = self._given[side], Watched({}, ())
            if self._counter:
                files = logs / f"{side}-{self.number}"
                files.mkdir()
                watched = Watched.by(self._counter, files)
            self.children[side] = Child(
                setting.arguments,
                environment={_HASH_SEED: self._hash_seed, **watched.environment, **given.environment},
                trees=given.trees,
                folder=setting.folder,
                log=logs / f"{side}-{self.number}.log",
                pair=self.number,
                side=SIDES.index(side),
                under=watched.under,
                apart=bool(self._counter) and why_no_cuda() is not None,  # CUDA does not work in a fork
            )
        found = {side: self.answer(side) for side in self.order()}
        return {side: found[side] for side in SIDES}

    def send(self, side: str, **command: Any) -> None:
        """Send a command.

        Raises:
            DiedError: the process has ended; the message names the side.
        """
        try:
            self.children[side].send({**command, "now": self.shared.fake_seconds})
        except DiedError as error:
            raise DiedError(f"{side}: {error}", side) from None

    def answer(self, side: str) -> dict[str, Any]:
        """Wait for the answer of a side.

        Raises:
            DiedError: there is none; the message names the side.
        """
        try:
            answer = self.children[side].answer(self.shared.setting.timeout_seconds)
        except DiedError as error:
            raise DiedError(f"{side}: {error}", side) from None
        self.loaded[side] = tuple(answer["loaded"])
        if answer["now"] is not None:
            self.shared.simulated = True
            self.shared.fake_seconds = max(self.shared.fake_seconds, answer["now"])
        return answer

    def stop(self, wait_seconds: float) -> None:
        """End both, after letting them tear down for so long."""
        with ExitStack() as stack:
            for child in self.children.values():
                stack.callback(child.stop, wait_seconds)
            if wait_seconds:
                for child in self.children.values():
                    child.quit()
