"""A pytest process in which the instructions of one benchmark after the other are counted."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ...errors import UsageError
from ...measure.instructions import hardware
from ...measure.instructions.callgrind import command
from ...measure.instructions.counter_choice import FOLDER_VARIABLE
from ...measure.instructions.counting import Instructions, read_frames
from ...measure.instructions.requests import ARCHITECTURE
from ...variants.child import Child
from .turns import NO_BENCHMARK
from .visit import NotTimed

ANSWER_SECONDS = 1800.0
"""Under callgrind, an import of torch and PyG takes half a minute of processor time."""
_QUIT_SECONDS = 20.0
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
_HOW = "apt install valgrind, or dnf install valgrind"


def counter_name() -> str:
    """Return how instructions are counted here: by the processor, or else by callgrind, with its version.

    Raises:
        UsageError: neither is possible; the message says what to install.
    """
    reason = hardware.why_not()
    if not reason:
        return hardware.Hardware.name
    if not shutil.which("valgrind"):
        raise UsageError(f"{reason}; without one, valgrind counts instructions, and is not installed: {_HOW}")
    if os.uname().machine != ARCHITECTURE:
        raise UsageError(f"{reason}, and gnnbench uses valgrind on {ARCHITECTURE} only")
    version = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S607
    return version.strip().replace("valgrind-", "callgrind ")


@dataclass(frozen=True)
class Side:
    """What a process is started with."""

    arguments: Sequence[str]
    """pytest's arguments."""
    folder: Path
    """Its working directory."""
    trees: Sequence[Path] = ()
    """Import roots that come first."""
    environment: Mapping[str, str] | None = None
    """Variables to set."""
    apart: bool = True
    """Whether each test runs in a fork."""


class CountedSide:
    """The process. It is started at once, and ended on exit.

    Args:
        side: what it is started with.
        name: of the side, for the files; empty: it is one alone.

    Raises:
        UsageError: see `counter_name`.
    """

    def __init__(self, side: Side, name: str = "") -> None:
        self.counter = counter_name()
        self._files = Path(tempfile.mkdtemp(prefix="gnnbench-instructions-"))
        by_callgrind = self.counter != hardware.Hardware.name
        environment = {"PYTHONHASHSEED": "0", **_ONE_THREAD, **(side.environment or {})}
        if by_callgrind:
            environment[FOLDER_VARIABLE] = str(self._files)
        self._child = Child(
            side.arguments,
            environment=environment,
            trees=side.trees,
            folder=side.folder,
            log=self._files / "pytest.log",
            side=int(name == "head"),
            under=command(self._files) if by_callgrind else (),
            apart=side.apart,
        )
        self.capability = ""
        """The processor's vector extensions that the last benchmark used, such as `avx2`."""
        self.loaded: tuple[str, ...] = ()
        """The top-level packages and modules that it has imported from its trees."""
        self._began = time.monotonic()
        self.start_seconds = 0.0
        """Time until it had imported and collected the tests."""
        self._collected: dict[str, Any] | None = None
        self._answer: dict[str, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """End the process, and remove its files."""
        try:
            if kind is None:
                self._child.quit()
            self._child.stop(_QUIT_SECONDS if kind is None else 0.0)
        finally:
            shutil.rmtree(self._files, ignore_errors=True)

    def collected(self) -> dict[str, Any]:
        """Wait until it has collected the tests; return what it says of them.

        Raises:
            DiedError: it has ended.
        """
        if self._collected is None:
            self._collected = self._child.answer(ANSWER_SECONDS)
            self.start_seconds = time.monotonic() - self._began
        return self._collected

    def begin(self, name: str) -> NotTimed | None:
        """Run a test up to its benchmark; return why that is not possible.

        Raises:
            DiedError: it has ended.
        """
        if name not in self.collected()["names"]:
            return NotTimed("failed", "has no such test")
        self._answer = self._ask("run", name=name, seed=0)
        if self._answer["answer"] == "done":
            return self._ended()
        return None

    def count(self) -> Instructions | NotTimed:
        """Count the instructions of a call of the test that has begun.

        Raises:
            DiedError: it has ended.
        """
        self._answer = self._ask("count")
        if self._answer["answer"] == "done":
            return self._ended()
        if self._answer["answer"] == "not counted":
            return NotTimed("skipped", self._answer["reason"])
        self.capability = self._answer["capability"]
        return Instructions.read(self._answer)

    def with_frames(self, found: Instructions) -> Instructions:
        """Divide the instructions among the Python functions too.

        Raises:
            DiedError: it has ended.
        """
        self._answer = self._ask("frames")
        if self._answer["answer"] == "done":
            return found
        return replace(found, frames=read_frames(self._answer))

    def end(self) -> NotTimed | None:
        """Run the test to its end; return how it failed, if it did.

        Raises:
            DiedError: it has ended.
        """
        while self._answer.get("answer", "done") != "done":
            self._answer = self._ask("next")
        return self._ended() if self._answer.get("failure") else None

    def _ask(self, what: str, **more: Any) -> dict[str, Any]:
        answer = self._child.ask({"command": what, **more, "now": 0.0}, ANSWER_SECONDS)
        self.loaded = tuple(answer["loaded"])
        return answer

    def _ended(self) -> NotTimed:
        failure = self._answer["failure"]
        if not failure:
            return NO_BENCHMARK
        return NotTimed("skipped" if failure["skipped"] else "failed", failure["text"])
