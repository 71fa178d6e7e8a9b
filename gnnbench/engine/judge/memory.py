"""Compares the peak memory of one call of a benchmark on both sides."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from ..ground.codec import Count

MemoryVerdict = Literal["more memory", "less memory", "same memory"]

LEAST_FRACTION = 0.01
"""Smallest difference that counts, as a fraction of the base's peak."""
LEAST_BYTES = 64 * 1024
"""Smallest difference that counts: libraries round small arrays up, and keep some memory for themselves."""
MOST_SHARE = 0.05
"""An increase up to this share of the base's peak fails no benchmark, unless a rule sets another limit."""
_SPREADS = 10
"""A difference counts if it is at least this many times the range of one side's peaks over its calls."""


@dataclass(frozen=True)
class Peaks:
    """The smallest and the largest peak memory of a benchmark's calls, excluding their inputs."""

    least_bytes: int
    most_bytes: int

    @classmethod
    def of(cls, saved: Mapping[str, int] | None) -> "Peaks | None":
        """Return the peaks that a run file saves as `memory`. Returns None if it has no peak."""
        if not saved or "peak_bytes" not in saved:
            return None
        most = saved["peak_bytes"]
        return cls(saved.get("least_peak_bytes", most), most)

    @classmethod
    def all(cls, processes: "Iterable[Peaks | None]") -> "Peaks | None":
        """Return the peaks of all processes of a side. Returns None if a process has no peak."""
        peaks = list(processes)
        rows = [peak for peak in peaks if peak]
        if not rows or len(rows) < len(peaks):
            return None
        return cls(min(peak.least_bytes for peak in rows), max(peak.most_bytes for peak in rows))


@dataclass(frozen=True)
class MemoryChange:
    """The verdict on the peak memory of one benchmark."""

    verdict: MemoryVerdict
    base_bytes: Count
    """Peak of one call of the base, excluding its inputs, from the allocators of PyTorch. If peaks vary from
    call to call, `base_bytes` and `head_bytes` are the two peaks that are closest to each other."""
    head_bytes: Count
    excused: str | None = None
    """Why an increase does not fail the benchmark: `within the limit of 5.0%`. None if nothing excuses it."""

    @classmethod
    def between(cls, base: Peaks | None, head: Peaks | None) -> "MemoryChange | None":
        """Judge two sides by the two peaks that are closest to each other. None if a side has no peak."""
        if base is None or head is None:
            return None
        if head.least_bytes > base.most_bytes:
            base_bytes, head_bytes = base.most_bytes, head.least_bytes
        elif head.most_bytes < base.least_bytes:
            base_bytes, head_bytes = base.least_bytes, head.most_bytes
        else:
            peak = min(base.most_bytes, head.most_bytes)  # a value that both sides reach
            return cls("same memory", peak, peak)
        spread = max(side.most_bytes - side.least_bytes for side in (base, head))
        if not differs(base_bytes, head_bytes) or abs(head_bytes - base_bytes) < _SPREADS * spread:
            return cls("same memory", base_bytes, head_bytes)
        return cls("more memory" if head_bytes > base_bytes else "less memory", base_bytes, head_bytes)

    @property
    def changed(self) -> bool:
        """Whether the peaks differ by enough to count."""
        return self.verdict != "same memory"

    @property
    def is_more(self) -> bool:
        """Whether the head needs more memory."""
        return self.verdict == "more memory"

    @property
    def fails(self) -> bool:
        """Whether the head needs more memory, and nothing excuses that."""
        return self.is_more and self.excused is None


def differs(base_bytes: int, head_bytes: int) -> bool:
    """Return whether two peaks differ by at least 1 % and 64 KiB."""
    return abs(head_bytes - base_bytes) >= max(LEAST_BYTES, LEAST_FRACTION * base_bytes)
