"""The published data sets, their properties, and their files in the data folder.

pytest imports this module during collection, so it imports nothing heavy.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

from ...engine.ground.errors import UsageError
from ...engine.ground.files import user_path

ATTRIBUTES_WIDTH = 128
"""Number of synthetic features for nodes without features."""
NODE = "node"
"""The type of every node in a graph with one type of nodes."""
REVERSE = "rev_"
"""Prefix of a reverse relation, which has the same edges in the other direction."""

DATA_VARIABLE = "GNNBENCH_DATA"
_PLANETOID_PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")


class Relation(NamedTuple):
    """A type of edges between two types of nodes; PyG and DGL take it as a dictionary's key."""

    source: str
    name: str
    target: str

    @property
    def reverse(self) -> "Relation":
        """The relation of the same edges in the other direction."""
        name = self.name.removeprefix(REVERSE) if self.is_reverse else REVERSE + self.name
        return Relation(self.target, name, self.source)

    @property
    def is_reverse(self) -> bool:
        """Whether it is the reverse of another relation."""
        return self.name.startswith(REVERSE)


def reverses(relations: Sequence[Relation]) -> list[int]:
    """Return the position of each relation's reverse. A relation without a reverse has its own position."""
    position = {relation: index for index, relation in enumerate(relations)}
    return [position.get(relation.reverse, index) for index, relation in enumerate(relations)]


@dataclass(frozen=True)
class Dataset:
    """A published data set, as its publishers describe it, or the counts of a random graph."""

    id: str
    family: str
    """Who published it: `planetoid` (Yang et al. 2016), `ogb` (Hu et al. 2020), or `entities` (Ristoski et
    al. 2016, as in Schlichtkrull et al. 2018). Or the family of a random graph."""
    nodes: int
    edges: int
    """The published number of edges; Planetoid counts both directions."""
    features: int
    classes: int
    split: tuple[int, int, int] = (0, 0, 0)
    """How many nodes are for training, validation and testing: nodes of the first type, if there are several.
    In a data set of separate graphs, how many graphs."""
    hidden: int = 128
    """Default width of features in benchmarks."""
    node_types: tuple[tuple[str, int], ...] = ()
    """Name and number of nodes of each type; the first type has the classes. Empty if there is one type."""
    relations: tuple[tuple[Relation, int], ...] = ()
    """Each relation, including reverses, and its number of edges. Empty if edges have no types. A data set
    with relations is available as a stand-in only."""
    graphs: int = 0
    """Number of separate graphs; 0 if the data set is one graph."""
    title: str = ""
    """Name of the data set in PyG's loader, and of the data set's folder."""

    @property
    def pairs(self) -> int:
        """The number of undirected edges of the synthetic stand-in."""
        return self.edges // 2 if self.family == "planetoid" else self.edges


def _planetoid(title: str, counts: tuple[int, int, int, int], train: int) -> Dataset:
    split = train, 500, 1000
    return Dataset(title.lower(), "planetoid", *counts, split=split, hidden=256, title=title)


def _with_reverse(source: str, name: str, target: str, edges: int) -> tuple[tuple[Relation, int], ...]:
    relation = Relation(source, name, target)
    return (relation, edges), (relation.reverse, edges)


def _aifb(relations: int, edges: int) -> Dataset:
    """Return aifb. Each relation of its stand-in has 14 % fewer edges than the one before: 4,070 to 6."""
    weights = [86**rank * 100 ** (relations - rank) for rank in range(relations)]
    ends = [edges * end // sum(weights) for end in accumulate(weights, initial=0)]
    sizes = [end - start for start, end in pairwise(ends)]
    return Dataset(
        "aifb",
        "entities",
        *(8_285, edges, ATTRIBUTES_WIDTH, 4),
        split=(140, 0, 36),
        hidden=16,
        relations=tuple(
            pair for rank, size in enumerate(sizes) for pair in _with_reverse(NODE, f"r{rank}", NODE, size)
        ),
    )


_ALL = (
    _planetoid("Cora", (2708, 10556, 1433, 7), train=140),
    _planetoid("CiteSeer", (3327, 9104, 3703, 6), train=120),
    _planetoid("PubMed", (19717, 88648, 500, 3), train=60),
    Dataset("ogbn-arxiv", "ogb", 169_343, 1_166_243, 128, 40, split=(90_941, 29_799, 48_603)),
    Dataset("ogbn-products", "ogb", 2_449_029, 61_859_140, 100, 47, split=(196_615, 39_323, 2_213_091)),
    Dataset(
        "ogbn-mag-hetero",
        "ogb",
        *(1_939_743, 21_111_007, 128, 349),
        split=(629_571, 64_879, 41_939),
        node_types=(
            *(("paper", 736_389), ("author", 1_134_649), ("institution", 8_740)),
            ("field_of_study", 59_965),
        ),
        relations=(
            *_with_reverse("author", "affiliated_with", "institution", 1_043_998),
            *_with_reverse("author", "writes", "paper", 7_145_660),
            (Relation("paper", "cites", "paper"), 5_416_271),
            *_with_reverse("paper", "has_topic", "field_of_study", 7_505_078),
        ),
    ),
    _aifb(relations=45, edges=29_043),
)
DATASETS = {dataset.id: dataset for dataset in _ALL}


def data_folder(path: str | None = None) -> Path | None:
    """Return the folder of real data sets: `path`, or `GNNBENCH_DATA`. Returns None if neither is set."""
    text = path or os.environ.get(DATA_VARIABLE)
    if not text:
        return None
    folder = user_path(text)
    if not folder.is_dir():
        remedy = f"set another one (--gnn-data or {DATA_VARIABLE}), or unset it"
        raise UsageError(f"data folder {text} does not exist; {remedy}")
    return folder.resolve()


def raw_folder(dataset: Dataset, root: Path | None) -> Path | None:
    """Return the folder of the data set's files in the data folder. Returns None if any file is missing.

    The layout is that of PyG and ogb: `Planetoid/Cora/raw` with eight files, or `ogbn_arxiv` with `raw` and
    `split`, directly in the data folder or in its subfolder `ogb`.
    """
    if root is None or dataset.relations:
        return None
    if dataset.family == "planetoid":
        folder = root / "Planetoid" / dataset.title / "raw"
        files = (folder / f"ind.{dataset.id}.{part}" for part in _PLANETOID_PARTS)
        return folder if all(file.is_file() for file in files) else None
    name = dataset.id.replace("-", "_")
    for folder in (root / "ogb" / name, root / name):
        if (folder / "split").is_dir() and (folder / "raw" / "edge.csv.gz").is_file():
            return folder
    return None
