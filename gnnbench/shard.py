"""A part of a suite's benchmarks: those of one machine of several."""

import hashlib
from dataclasses import dataclass

from .errors import UsageError


@dataclass(frozen=True)
class Shard:
    """Part `number` of `of`; all parts together are the whole, and no two have a benchmark in common."""

    number: int
    """From 1."""
    of: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Read `1/4`.

        Raises:
            UsageError: it is no such thing.
        """
        words = text.split("/")
        numbers = [int(word) for word in words if word.isascii() and word.isdecimal() and len(word) < 10]  # noqa: PLR2004
        if len(words) != 2 or len(numbers) != 2 or not 1 <= numbers[0] <= numbers[1]:  # noqa: PLR2004
            raise UsageError(f"shard {text!r} must be I/N, I from 1 to N, as in 1/4")
        return cls(*numbers)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def has(self, name: str) -> bool:
        """Tell whether a benchmark belongs to it, by the name alone.

        So no other benchmark, selection or order of collection moves it; the price is that parts are equally
        large only on average.
        """
        digest = hashlib.sha256(name.encode(errors="surrogatepass")).digest()
        return int.from_bytes(digest[:8]) % self.of == self.number - 1

    def family_level(self, whole: float) -> float:
        """Return the level at which its interval for all benchmarks at once must hold.

        By Bonferroni: intervals of N parts that each miss with probability (1 - whole) / N at most all hold
        with probability `whole` at least.
        """
        return 1 - (1 - whole) / self.of
