"""The changes of benchmarks that a project has accepted: the content of `baselines/accepted.toml`."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from ..ground import codec, json_io

FILE = Path("baselines") / "accepted.toml"

Ratio = Annotated[float, Meta(gt=1e-6, lt=1e6)]
OneLine = Annotated[str, Meta(pattern=r"\A.*\S.*\Z")]


@dataclass(frozen=True)
class Entry:
    """The accepted changes of one benchmark: of its time, of its peak memory, or of its output."""

    benchmark: OneLine
    """The id of the benchmark's test."""
    reason: OneLine
    ratio: Ratio = 1.0
    """Accepted time of the head / time of the base. If no slowdown is accepted, it and its bounds are 1."""
    low: Ratio = 1.0
    """Lower bound of the simultaneous interval that was measured with `ratio`; `high` is the upper bound."""
    high: Ratio = 1.0
    more_bytes: codec.PositiveCount = 0
    """By how many bytes the head's peak memory, excluding its inputs, may exceed the base's."""
    result: bool = False
    """Whether a different output is accepted."""
    number: int = field(default=0, compare=False)
    """Position of the entry in the file, from 1. 0 if the entry is not in a file."""

    @property
    def place(self) -> str:
        """The entry as messages name it: `entry 2 (test_a.py::test_a)`."""
        return f"entry {self.number} ({json_io.clipped(self.benchmark)})"

    @property
    def slows(self) -> bool:
        return self.high > 1

    @property
    def half_width(self) -> float:
        """Distance of the log ratio from the farther bound of its interval."""
        return max(math.log(self.high / self.ratio), math.log(self.ratio / self.low))


@dataclass(frozen=True)
class Accepted:
    """The accepted changes of a project."""

    file: Path
    """The file, which may not exist."""
    entries: tuple[Entry, ...] = ()


NONE = Accepted(FILE)
