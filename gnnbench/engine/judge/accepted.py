"""The accepted changes of a project's benchmarks, as verdicts use them."""

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
    """Accepted time of the head / time of the base. It is 1, like both bounds, if no slowdown is accepted."""
    low: Ratio = 1.0
    """Lower bound of the simultaneous interval of `ratio` when it was measured; `high` is the upper one."""
    high: Ratio = 1.0
    more_bytes: codec.PositiveCount = 0
    """How many bytes the head's peak memory, excluding its inputs, may be above the base's."""
    result: bool = False
    """Whether a different output is accepted."""
    number: int = field(default=0, compare=False)
    """Its position in the file, from 1; 0 if it is not in a file."""

    @property
    def place(self) -> str:
        """The entry as messages name it: `entry 2 (test_a.py::test_a)`."""
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
    """The accepted changes of a project."""

    file: Path
    """The file, which may not exist."""
    entries: tuple[Entry, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder that contains the folder `baselines`, in the project's repository."""
        return self.file.parents[1]


NONE = Accepted(FILE)
