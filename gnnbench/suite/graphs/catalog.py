"""The names of graphs: a published data set, its synthetic stand-in, a random graph, or a file.

pytest imports this module during collection, so it imports nothing heavy.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ...engine.ground.errors import UsageError, unknown_name
from ...engine.ground.files import user_path
from .published import ATTRIBUTES_WIDTH, DATASETS, NODE, Dataset, Relation, raw_folder

__all__ = ["ATTRIBUTES_WIDTH", "DATASETS", "FORMS", "Dataset", "DatasetName"]

ATTRIBUTES_CLASSES = 16
"""Number of synthetic classes for a graph without labels: `rmat:`, `hub:` and `.mtx`."""
MOST_EDGES = 1023
"""Largest average number of edges per node of a random graph."""


class Family(NamedTuple):
    """A family of random graphs, each with 2**scale nodes or 2**scale molecules."""

    edges: float
    """Average number of edges per node, or of bonds per molecule."""
    scales: range
    nodes: float = 1
    """Average number of nodes of a molecule."""
    features: int = ATTRIBUTES_WIDTH
    classes: int = ATTRIBUTES_CLASSES
    unit: str = "nodes"


FAMILIES = {
    "rmat": Family(16, range(4, 31)),  # as in Graph500
    "uniform": Family(8, range(4, 31)),
    "hub": Family(8, range(6, 31)),  # a smaller one has too few pairs of nodes for its edges
    "molecules": Family(24.9, range(4, 18), 23.16, features=28, classes=2, unit="molecules"),  # as in ZINC
}


FORMS = (
    "NAME, NAME:synthetic, NAME:synthetic@FRACTION, molecules:SCALE, rmat:SCALE, uniform:SCALE, hub:SCALE "
    "(the last three also as rmat:SCALE@EDGES_PER_NODE), or the path of a .mtx file"
)
"""The forms that `DatasetName.parse` accepts, for help texts."""


@dataclass(frozen=True)
class DatasetName:
    """The name of a graph: a published data set, its synthetic stand-in, a random graph, or a file."""

    id: str
    """The graph's name in test ids; for a path, the file's name."""
    dataset: Dataset
    """The published data set, or the counts of a random graph. A file's counts are unknown, and 0 here."""
    synthetic: bool = False
    """Whether structure, features and labels are all synthetic."""
    fraction: float = 1.0
    """Fraction of the published nodes and edges, in (0, 1]; below 1 for stand-ins only."""
    scale: int = 0
    """A random graph has 2**scale nodes, or molecules."""
    edges: float = 0.0
    """Undirected edges per node or molecule of a random graph; `rmat` and `uniform` then drop duplicates."""
    path: Path | None = None

    @classmethod
    def parse(cls, text: str) -> "DatasetName":
        """Read an id in one of the `FORMS`."""
        if text.endswith(".mtx"):
            path = user_path(text)
            if not path.is_file():
                raise UsageError(f"{text}: there is no such file; give the path of a Matrix Market file")
            dataset = Dataset(path.name, "", 0, 0, ATTRIBUTES_WIDTH, ATTRIBUTES_CLASSES)
            return cls(path.name, dataset, path=path)
        name, colon, variant = text.partition(":")
        if name in FAMILIES:
            return cls._parse_random(text, name, variant)
        if name not in DATASETS:
            raise unknown_name("dataset", text, [*DATASETS, *(f"{family}:14" for family in FAMILIES)])
        if not colon:
            return cls(name, DATASETS[name])
        kind, at, number = variant.partition("@")
        if kind != "synthetic":
            raise UsageError(
                f"dataset '{text}': only 'synthetic' or 'synthetic@FRACTION' may follow the colon, "
                f"such as {name}:synthetic or {name}:synthetic@0.1"
            )
        fraction = _number(text, number, 1, "a fraction above 0 and at most 1, such as @0.1") if at else 1.0
        suffix = f"@{fraction!r}" if fraction < 1 else ""
        stand_in = cls(f"{name}:synthetic{suffix}", DATASETS[name], synthetic=True, fraction=fraction)
        split = zip(stand_in.split, DATASETS[name].split, strict=True)
        if stand_in.is_crowded or any(part < 1 <= whole for part, whole in split):
            raise UsageError(
                f"dataset '{text}': {stand_in.nodes} nodes are too few for {stand_in.pairs} edges "
                "or for a train/val/test split; give a larger fraction"
            )
        return stand_in

    @classmethod
    def _parse_random(cls, text: str, family: str, variant: str) -> "DatasetName":
        kind = FAMILIES[family]
        number, at, edges = (variant, "", "") if family == "molecules" else variant.partition("@")
        if not (number.isascii() and number.isdecimal() and int(number) in kind.scales):
            raise UsageError(
                f"dataset '{text}': the scale must be a whole number from {kind.scales[0]} to "
                f"{kind.scales[-1]}, such as {family}:14 for 2**14 {kind.unit}"
            )
        scale = int(number)
        expected = f"the number of edges per node, above 0 and at most {MOST_EDGES}, such as rmat:14@4"
        per_node = _number(text, edges, MOST_EDGES, expected) if at else kind.edges
        suffix = f"@{per_node:g}" if per_node != kind.edges else ""
        name = f"{family}:{scale}{suffix}"
        counts = round(kind.nodes * 2**scale), round(per_node * 2**scale), kind.features, kind.classes
        graphs = 2**scale if family == "molecules" else 0
        held = graphs // 12  # graphs to validate on, and to test on, as in ZINC
        dataset = Dataset(name, family, *counts, split=(graphs - 2 * held, held, held), graphs=graphs)
        parsed = cls(name, dataset, synthetic=True, scale=scale, edges=per_node)
        if family == "hub" and parsed.is_crowded:
            raise UsageError(f"dataset '{text}': {parsed.nodes} nodes are too few for {parsed.pairs} edges")
        return parsed

    @property
    def nodes(self) -> int:
        """The number of nodes; not defined for a file."""
        return sum(self.type_sizes.values())

    @property
    def type_sizes(self) -> dict[str, int]:
        """The number of nodes of each type; not defined for a file."""
        types = self.dataset.node_types or ((NODE, self.dataset.nodes),)
        return {name: round(count * self.fraction) for name, count in types}

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The types of edges, including their reverses; empty if edges have no types."""
        return tuple(relation for relation, _ in self.dataset.relations)

    @property
    def pairs(self) -> int:
        """The number of undirected edges. An upper bound for `rmat` and `uniform`, which draw some twice."""
        return sum(sum(block.values()) for block in self.blocks.values())

    @property
    def blocks(self) -> dict[tuple[str, str], dict[int, int]]:
        """The number of undirected edges by the types of their ends, then by position in `relations`."""
        blocks: dict[tuple[str, str], dict[int, int]] = {}
        relations = self.dataset.relations or ((Relation(NODE, "", NODE), self.dataset.pairs),)
        for position, (relation, edges) in enumerate(relations):
            if not relation.is_reverse:
                block = blocks.setdefault((relation.source, relation.target), {})
                block[position] = round(edges * self.fraction)
        return blocks

    @property
    def is_crowded(self) -> bool:
        """Whether more than half of all possible edges exist, so that random edges are hard to find."""
        for (source, target), block in self.blocks.items():
            nodes, others = self.type_sizes[source], self.type_sizes[target]
            possible = nodes * (nodes - 1) // 2 if source == target else nodes * others
            if sum(block.values()) > possible // 2:
                return True
        return False

    @property
    def split(self) -> tuple[int, int, int]:
        """How many of a stand-in's nodes (or separate graphs) are for training, validation and testing."""
        train, val, test = (int(size * self.fraction) for size in self.dataset.split)
        return train, val, test


def _number(text: str, number: str, largest: float, expected: str) -> float:
    """Read a number above 0 and at most `largest`; a UsageError says what is `expected`."""
    try:
        value = float(number)
    except ValueError:
        value = 0.0
    if not 0 < value <= largest:
        raise UsageError(f"dataset '{text}': '{number}' must be {expected}")
    return value


def resolve(
    names: Iterable[DatasetName], data_root: Path | None, real_only: bool
) -> tuple[list[DatasetName], list[str]]:
    """Return the names without duplicates, and a line for each replaced data set.

    A synthetic stand-in replaces a data set without files; with `real_only`, UsageError is raised instead.
    """
    resolved: dict[str, DatasetName] = {}
    notices = []
    for requested in names:
        name = requested
        if not (name.synthetic or name.path or raw_folder(name.dataset, data_root)):
            stand_in, reason = f"{name.id}:synthetic", f"{name.id} is not in the data folder"
            if real_only:
                raise UsageError(
                    f"{reason}; put its files there (--gnn-data), or omit --gnn-real to use {stand_in}"
                )
            name = DatasetName.parse(stand_in)
            notices.append(f"{reason}: using its synthetic stand-in {stand_in} (--gnn-real to fail instead)")
        first = resolved.setdefault(name.id, name)
        if first.path != name.path:
            raise UsageError(f"{first.path} and {name.path} have the same name: rename one of the files")
    return list(resolved.values()), notices
