"""The engine's base classes: an instrument measures, a writer writes documents, a listener shows progress.

Each way to measure and each output format is one module with a class that derives from one of these.
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
    """Measures the function that a test passes to `benchmark`, and returns the function's output.

    A plugin chooses one for each test, see `measure/benchmark_fixture.py`. `fixture` is pytest-benchmark's.
    """

    @abstractmethod
    def measure(self, fixture: Any, call: "Call") -> Any:
        """Measure `benchmark(function, ...)`."""

    @abstractmethod
    def measure_pedantic(self, fixture: Any, calls: "Pedantic") -> Any:
        """Measure `benchmark.pedantic(...)`."""


class Writer(ABC):
    """Writes documents: tables of values, headings and notes, see `show/document.py`.

    A document may quote files from elsewhere. Each writer escapes the document's texts for its output format.
    """

    @abstractmethod
    def write(self, document: "Document") -> str:
        """Return the text of a document."""


class Listener:
    """Receives the progress of a long operation and ignores it. `show.progress.Progress` shows it instead."""

    def say(self, text: str) -> None:
        """Receive a note, or a problem from which the run recovered."""

    def step(self, text: str, at_most_seconds: float | None = None) -> None:
        """Receive the step that begins, and the longest time that it can take. None if that is unknown."""

    def detail(self, text: str) -> None:
        """Receive a detail of the current step, such as the last line that a program printed."""

    def update(self, decisions: "Mapping[str, Decision]", spent_seconds: float, left_seconds: float) -> None:
        """Receive the state of each benchmark that is timed."""
