"""The least work of an operation: the bytes it must move and the floating-point operations it needs.

Each module of `operations/` has a formula for each of its operations; this one has their letters.

Bytes are compulsory traffic (Hill and Smith, IEEE Trans. Computers 1989): each input is read once, each
output written once, and what is made in between never leaves the cache. So no implementation moves fewer, and
one that writes what another fuses is further from the limit. Where platforms' inputs differ the smallest
counts: a graph without values, by row pointer or by both ends. Rows that no neighbour gathers are not read.

Flops are those of the definition on whole dense arrays: a sum of n terms takes n, as it starts from zero, a
product of matrices 2 N A B; a comparison, a root and an exponential take one each.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """What one call of an operation cannot do without."""

    bytes: int
    flops: int


@dataclass(frozen=True)
class Symbols:
    """The letters of the formulas."""

    N: int
    """Nodes."""
    E: int
    """Entries of the graph, which has no self-loops."""
    L: int
    """Entries with self-loops: E + N."""
    R: int
    """Nodes with a neighbour."""
    T: int
    """Training nodes."""
    D: int
    """Width of the data's features."""
    X: int
    """Entries of the data's features that are not 0."""
    F: int
    """Hidden width."""
    C: int
    """Classes."""
    layers: tuple[tuple[int, int], ...]
    """A and B, the widths before and after each layer of the model: from D to C."""
    P: int
    """Parameters of the model: the sum of A B + B."""
    s: int
    """Bytes of a floating-point number."""
    i: int
    """Bytes of an index."""
    y: int
    """Bytes of a training node's own index and its labels."""
    p: int
    """Passes: 1 forward, 2 with the backward pass."""

    def G(self, entries: int) -> int:  # noqa: N802 - a letter, as the others
        """Bytes of a graph: i (min(N + 1, entries) + entries)."""
        return self.i * (min(self.N + 1, entries) + entries)

    def K(self, width: int) -> int:  # noqa: N802
        """Flops of propagation: (L + min(L, 2 N)) width, for sums and for factors of entries or both ends."""
        return (self.L + min(self.L, 2 * self.N)) * width
