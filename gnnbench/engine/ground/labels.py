"""What a suite says of a benchmark: tables, pages and charts have it instead of the test id."""

from collections.abc import Mapping
from dataclasses import dataclass

from .codec import Count, NotNegative, Positive


@dataclass(frozen=True)
class Labels:
    """The labels of one benchmark. All are texts, as they are shown."""

    fields: Mapping[str, str]
    """All that distinguishes it from other benchmarks, by name, in the order of its test id."""
    operation: str
    """What is computed."""
    direction: str
    """Which part of it, in a few letters: `f+b`."""
    platform: str
    """With which library, or in which other way."""
    inputs: Mapping[str, str]
    """What it is computed on, by the name of the field: `{"dataset": "cora", "hidden": "hidden 256"}`."""

    @property
    def id(self) -> str:
        """The values of its fields, joined by hyphens."""
        return "-".join(self.fields.values())

    @property
    def heading(self) -> str:
        """What stands above the table of the benchmarks with the same inputs."""
        return " · ".join(self.inputs.values())

    @property
    def subject(self) -> str:
        """Operation and direction: `gcn_norm f+b`."""
        return f"{self.operation} {self.direction}"

    @property
    def work(self) -> tuple[str, ...]:
        """What is equal for all platforms."""
        return (self.subject, *self.inputs.values())


@dataclass(frozen=True)
class Work:
    """The least work of one call."""

    bytes: Count
    flops: Count


@dataclass(frozen=True)
class Rates:
    """The measured rates of a device in one dtype."""

    copy_bytes_per_second: Positive
    """Bytes read plus bytes written."""
    flops_per_second: Positive
    """In a dense matrix product."""


@dataclass(frozen=True)
class Limit:
    """The roofline bound of a benchmark."""

    least: Work
    rates: Rates
    fraction: NotNegative
    """Least possible time / measured time."""
    note: str
    """Why `fraction` is above 1; empty if it is not."""
