"""Shards: parts of a suite's benchmarks, each run on a machine of its own."""

import hashlib
import re
from dataclasses import dataclass

from .errors import UsageError


@dataclass(frozen=True)
class Shard:
    """Part `number` of `of`; each benchmark is in exactly one part."""

    number: int
    """Counts from 1."""
    of: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Read `1/4`."""
        match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise UsageError(f"shard {text!r} must be I/N with I from 1 to N, such as 1/4")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def has(self, name: str) -> bool:
        """Tell whether a benchmark belongs to this part, by a hash of its name.

        Adding, removing or reordering other benchmarks does not move it. In exchange, the parts have equal
        sizes only on average.
        """
        digest = hashlib.sha256(name.encode(errors="surrogatepass")).digest()
        return int.from_bytes(digest[:8]) % self.of == self.number - 1

    def family_level(self, level: float) -> float:
        """Return the simultaneous confidence level for this part, if `level` is the level for all parts.

        Bonferroni: if each of N parts misses with probability at most (1 - level) / N, all N hold with
        probability at least `level`.
        """
        return 1 - (1 - level) / self.of
