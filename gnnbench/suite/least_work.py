"""The least work of an operation: the bytes it must move and the floating-point operations it must do.

The modules of `operations/` have the formulas; `Symbols` defines their letters.

Bytes are compulsory traffic (Hill and Smith, IEEE Trans. Computers 1989): each input is read once, each
output is written once, and intermediate results stay in the cache. An implementation that writes them is
further from the roofline bound than one that fuses. If the platforms' inputs differ, the smallest counts: a
graph without values, with a row pointer or both ends of each entry. Rows without edges do not count.

Flops are those of the definition on dense arrays. A sum of n terms takes n, because it starts from zero; a
matrix product takes 2 N A B; a comparison, a root and an exponential take one each.

`Formula` writes them as mathematicians do: a space between two factors multiplies.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from ..engine.ground.labels import Work
from .spec import AUTOCAST, FORWARD_BACKWARD, Spec

FLOAT_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, AUTOCAST: 4, "float64": 8}

_PRODUCT = re.compile(r"(?<=[\w)]) (?=[\w(])")
"""The space between two factors."""


@dataclass(frozen=True)
class Symbols:
    """The letters of the formulas.

    - N, E, L: nodes; entries of the graph, without self-loops and with them (E + N)
    - R: nodes with at least one neighbour
    - Q, V: relations; pairs of a node and a relation that ends at it. Without types of edges 1, and R.
    - T, D, F, C: training nodes; width of the data set's features; hidden width; classes
    - `layers`: widths A and B before and after each layer of the model, from D to C
    - P: parameters of the model, the sum of A B + B
    - s, i, y: bytes of a floating-point number, of an index, of a training node's index and labels
    - p: passes: 1, or 2 with the backward pass
    """

    N: int
    E: int
    L: int
    R: int
    Q: int
    V: int
    T: int
    D: int
    F: int
    C: int
    layers: tuple[tuple[int, int], ...]
    P: int
    s: int
    i: int
    y: int
    p: int

    @classmethod
    def of(cls, spec: Spec, layers: tuple[tuple[int, int], ...], *, multi_label: bool, **counts: int) -> Self:
        """Return the letters of a spec, with the counts N, E, R, Q, V and T."""
        classes = layers[-1][1]
        return cls(
            **counts,
            L=counts["E"] + counts["N"],
            D=layers[0][0],
            F=spec.hidden,
            C=classes,
            layers=layers,
            P=sum(A * B + B for A, B in layers),
            s=FLOAT_BYTES[spec.dtype],
            i=8 if spec.index_dtype == "int64" else 4,
            # Node numbers and classes are int64 whatever the index dtype; a task's label is a bool.
            y=8 + (classes if multi_label else 8),
            p=2 if spec.direction == FORWARD_BACKWARD else 1,
        )

    def G(self, entries: int) -> int:  # noqa: N802 - a letter like the others
        """Bytes of a graph: i (min(N + 1, entries) + entries)."""
        return self.i * (min(self.N + 1, entries) + entries)

    def K(self, width: int) -> int:  # noqa: N802
        """Flops of propagation: (L + min(L, 2 N)) width, for sums and for scaling entries or both ends."""
        return (self.L + min(self.L, 2 * self.N)) * width


@dataclass(frozen=True)
class Formula:
    """The least work as text, such as `G(E) + p s (2 N F + F)`."""

    bytes: str
    flops: str
    where: Mapping[str, str] = field(default_factory=dict)
    """Further letters."""

    def __call__(self, m: Symbols) -> Work:
        """Return the values for some letters."""
        letters = {**vars(m), "G": m.G, "K": m.K, "min": min, "max": max}
        letters |= {name: _value(text, letters) for name, text in self.where.items()}
        return Work(_value(self.bytes, letters), _value(self.flops, letters))


def _value(text: str, letters: dict[str, Any]) -> int:
    return eval(_PRODUCT.sub(" * ", text), {}, letters)  # noqa: S307 - texts of modules
