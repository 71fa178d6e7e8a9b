"""Accepted slowdowns and more memory, as far as verdicts need them."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from ..ground import codec, json_io

FILE = Path("baselines") / "accepted.toml"

Ratio = Annotated[float, Meta(gt=1e-6, lt=1e6)]
Line = Annotated[str, Meta(pattern=r"\A.*\S.*\Z")]


@dataclass(frozen=True)
class Entry:
    """Accepted changes of one benchmark: a slowdown, more memory, a different output, or several of these."""

    benchmark: Line
    """The id of its test."""
    reason: Line
    ratio: Ratio = 1.0
    """Time of the head / time of the base; 1, like both bounds, if no longer time is accepted."""
    low: Ratio = 1.0
    """Lower bound of the simultaneous interval of the comparison that found it; `high` is the upper one."""
    high: Ratio = 1.0
    more_bytes: codec.PositiveCount = 0
    """How many more bytes the head's peak memory, excluding its inputs, may have."""
    result: bool = False
    number: int = field(default=0, compare=False)
    """Its position in the file, from 1; 0 if it is not in a file."""

    @property
    def place(self) -> str:
        """Where it is: `entry 2 (test_a.py::test_a)`."""
        return f"entry {self.number} ({json_io.clipped(self.benchmark)})"

    @property
    def slows(self) -> bool:
        """Whether it accepts a longer time."""
        return self.high > 1

    @property
    def half_width(self) -> float:
        """Larger half-width of the interval of the log ratio."""
        return max(math.log(self.high / self.ratio), math.log(self.ratio / self.low))


@dataclass(frozen=True)
class Accepted:
    """The accepted slowdowns of a project."""

    file: Path
    """The file, which may not exist."""
    entries: tuple[Entry, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder with `baselines`, in the project's repository."""
        return self.file.parents[1]


NONE = Accepted(FILE)
