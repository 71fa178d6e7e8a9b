"""The least work of a call, and the roofline bound that follows from it (Williams et al., CACM 2009)."""

from dataclasses import dataclass

from ..codec import Count, NotNegative, Positive


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
    """Why `fraction` is above 1; empty: it is not."""
