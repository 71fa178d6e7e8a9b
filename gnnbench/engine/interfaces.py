"""The classes of the engine to derive from: what measures, is compared, writes, or is told.

A way to measure, a kind of variant and an output are one file each: a class that derives from one of these.
Only types of the rooms are imported here, for their names.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from pathlib import Path, PurePath

    from .judge.schedule import Decision
    from .measure.clock import Call
    from .measure.seam import Pedantic
    from .process.variants.prepare import Preparation
    from .show.document import Document


class Instrument(ABC):
    """Measures what a test passes to `benchmark`, and returns what the test gets.

    A plugin chooses one for each test, see `measure/seam.py`. `fixture` is pytest-benchmark's.
    """

    @abstractmethod
    def measure(self, fixture: Any, call: "Call") -> Any:
        """Measure `benchmark(function, ...)`."""

    @abstractmethod
    def measure_pedantic(self, fixture: Any, asked: "Pedantic") -> Any:
        """Measure `benchmark.pedantic(...)`."""


class VariantPart(ABC):
    """A part of a variant, `KIND:VALUE`: where the code of a side comes from, or one of its settings.

    A kind counts when `KINDS` in `process/variants/variant.py` lists it.
    """

    kind: ClassVar[str]
    """What stands before the colon."""
    form: ClassVar[str]
    """What stands after it, for messages: `NAME=VALUE`."""

    @property
    def replaces(self) -> "PurePath | None":
        """The folder whose code it replaces, as it is typed: `.` is the caller's. None: it replaces no code.

        A variant has at most one part for each folder.
        """
        return None

    @classmethod
    @abstractmethod
    def read(cls, value: str) -> Self:
        """Read what follows the colon, which is not empty.

        Raises:
            UsageError: it cannot be used; the message is one line.
        """

    def check(self, root: "Path") -> None:  # noqa: B027 - nothing to look up
        """Check that what it names exists, in the caller's folder `root`, without preparing anything."""

    @classmethod
    @abstractmethod
    def prepare(cls, parts: Sequence[Self], preparation: "Preparation") -> None:
        """Add the import roots and variables that all parts of this kind bring."""


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
