"""Relations: the types of a graph's edges."""

from collections.abc import Sequence
from typing import NamedTuple

NODE = "node"
"""The type of all nodes of a graph that has one type."""
REVERSE = "rev_"
"""Prefix of the relation that has the same edges in the other direction."""


class Relation(NamedTuple):
    """A type of edges between two types of nodes; PyG and DGL take it as a dictionary's key."""

    source: str
    name: str
    target: str

    @property
    def reverse(self) -> "Relation":
        """The relation of the same edges in the other direction."""
        return Relation(self.target, REVERSE + self.name, self.source)

    @property
    def is_reverse(self) -> bool:
        """Whether it is the reverse of another relation."""
        return self.name.startswith(REVERSE)


def reverses(relations: Sequence[Relation]) -> list[int]:
    """Return the position of each relation's reverse; its own if it has none."""
    position = {relation: index for index, relation in enumerate(relations)}
    positions = list(range(len(relations)))
    for relation, index in position.items():
        if relation.reverse in position:
            other = position[relation.reverse]
            positions[index], positions[other] = other, index
    return positions
