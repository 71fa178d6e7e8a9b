"""The classes of the engine to derive from: what measures, is compared, writes, or is told.

A way to measure and an output are one file each: a class that derives from one of these.
Only types of the rooms are imported here, for their names.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .judge.schedule import Decision
    from .measure.benchmark_fixture import Pedantic
    from .measure.clock import Call
    from .show.document import Document


class Instrument(ABC):
    """Measures what a test passes to `benchmark`, and returns what the test gets.

    A plugin chooses one for each test, see `measure/benchmark_fixture.py`. `fixture` is pytest-benchmark's.
    """

    @abstractmethod
    def measure(self, fixture: Any, call: "Call") -> Any:
        """Measure `benchmark(function, ...)`."""

    @abstractmethod
    def measure_pedantic(self, fixture: Any, asked: "Pedantic") -> Any:
        """Measure `benchmark.pedantic(...)`."""


class Writer(ABC):
    """Writes documents: tables of values, headings and notes, see `show/document.py`.

    Names and texts in them may come from strangers' files. A writer cleans them for its output.
    """

    @abstractmethod
    def write(self, document: "Document") -> str:
        """Return the text of a document."""


class Listener:
    """Is told the progress of what takes long; this one shows none, `show/progress.py` has one that does."""

    def say(self, text: str) -> None:
        """Receive a note, or a problem from which the run recovered."""

    def step(self, text: str, at_most_seconds: float | None = None) -> None:
        """Receive the step that begins, and the longest time that it can take, if known."""

    def detail(self, text: str) -> None:
        """Receive what is done within the step, such as the last line that a program printed."""

    def update(self, decisions: "Mapping[str, Decision]", spent_seconds: float, left_seconds: float) -> None:
        """Receive the state of each benchmark that is timed."""
