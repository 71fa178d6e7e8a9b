"""A pytest process in which the instructions of one benchmark after the other are counted."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ...measure.instructions.counter_choice import Watched, counter_name
from ...measure.instructions.counting import Instructions, read_frames
from ...variants.child import Child
from .turns import no_benchmark
from .visit import NotTimed

ANSWER_SECONDS = 1800.0
"""Under callgrind, an import of torch and PyG takes half a minute of processor time."""
_QUIT_SECONDS = 20.0


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
        name: of the side, `base` or `head`.

    Raises:
        UsageError: nothing counts instructions here.
    """

    def __init__(self, side: Side, name: str) -> None:
        self.counter = counter_name()
        self._files = Path(tempfile.mkdtemp(prefix="gnnbench-instructions-"))
        watched = Watched.by(self.counter, self._files)
        self._child = Child(
            side.arguments,
            environment={**watched.environment, **(side.environment or {})},
            trees=side.trees,
            folder=side.folder,
            log=self._files / "pytest.log",
            side=int(name == "head"),
            under=watched.under,
            apart=side.apart,
        )
        self.loaded: tuple[str, ...] = ()
        """The top-level packages and modules that it has imported from its trees."""
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
            return no_benchmark(self._answer["fixture"])
        return NotTimed("skipped" if failure["skipped"] else "failed", failure["text"])
