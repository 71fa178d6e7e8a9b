"""The labels that a suite gives a benchmark; tables, pages and charts show them instead of the test id."""

from collections.abc import Mapping
from dataclasses import dataclass

from .codec import Count, NotNegative, Positive


@dataclass(frozen=True)
class Labels:
    """The labels of one benchmark, as the texts that are shown."""

    fields: Mapping[str, str]
    """Everything that distinguishes the benchmark from others, by name, in the order of the test id."""
    operation: str
    """What is computed."""
    direction: str
    """Which part of the operation is timed, abbreviated: `f+b` for forward and backward."""
    platform: str
    """The library, or another implementation."""
    inputs: Mapping[str, str]
    """The inputs, by the name of the field: `{"dataset": "cora", "hidden": "hidden 256"}`."""

    @property
    def id(self) -> str:
        """The values of its fields, joined by hyphens."""
        return "-".join(self.fields.values())

    @property
    def heading(self) -> str:
        """Heading of the table of the benchmarks with the same inputs."""
        return " · ".join(self.inputs.values())

    @property
    def subject(self) -> str:
        """Operation and direction: `gcn_norm f+b`."""
        return f"{self.operation} {self.direction}"

    @property
    def work(self) -> tuple[str, ...]:
        """The labels that are the same on all platforms: operation and direction, and the inputs."""
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
    """Rate of a dense matrix product."""


@dataclass(frozen=True)
class Limit:
    """The roofline bound of a benchmark."""

    least: Work
    rates: Rates
    fraction: NotNegative
    """Least possible time / measured time."""
    note: str
    """Why `fraction` is above 1. Empty if it is not."""
