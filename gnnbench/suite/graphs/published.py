"""The published data sets and their properties.

pytest imports this module during collection, so it imports nothing heavy.
"""

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from .relation import NODE, Relation

ATTRIBUTES_WIDTH = 128
"""Number of synthetic features for nodes without features."""


Counts = tuple[int, int, int, int]
"""Nodes, edges, features and classes."""


@dataclass(frozen=True)
class Dataset:
    """A published data set, as its publishers describe it; or the counts of a random graph."""

    id: str
    title: str
    """Its name in the loader and, for ogb, of its folder."""
    family: str
    """The loader: `planetoid` (Yang et al. 2016), `ogb` or `ogbg` (Hu et al. 2020), or `entities` (Ristoski
    et al. 2016, as in Schlichtkrull et al. 2018). Or the family of a random graph."""
    nodes: int
    edges: int
    """The published number; Planetoid counts both directions."""
    features: int
    classes: int
    """Classes; if `multi_label`, tasks."""
    split: tuple[int, int, int] = (0, 0, 0)
    """Numbers of nodes to train, validate and test on; with several types, of the first; with several graphs,
    numbers of graphs."""
    homophily: float = 0.0
    """Fraction of edges that connect equal classes; if `multi_label`, equal communities of the stand-in."""
    download_bytes: int = 0
    """Approximate size of the published archive."""
    url: str = ""
    """The published archive, or one of the files."""
    words: int = 0
    """Average words per node; 0 for dense features."""
    hidden: int = 128
    """Default width of features in benchmarks."""
    multi_label: bool = False
    edge_features: int = 0
    """Published features per edge; a node's features are the mean of its edges'."""
    node_types: tuple[tuple[str, int], ...] = ()
    """Names and numbers of nodes, if there are several types; nodes of the first type have the classes."""
    relations: tuple[tuple[Relation, int], ...] = ()
    """Relations, also the reverses, and their numbers of edges; empty if edges have no types."""
    graphs: int = 0
    """Separate graphs that it consists of; 0: it is one graph."""

    @property
    def folder(self) -> str:
        """The folder of its files in a data folder, as in the libraries."""
        folders = {"planetoid": f"Planetoid/{self.title}/raw", "entities": f"Entities/{self.id}/raw"}
        return folders.get(self.family, f"ogb/{self.title.replace('-', '_')}")

    @property
    def pairs(self) -> int:
        """Simple undirected edges of the synthetic stand-in."""
        return self.edges // 2 if self.family == "planetoid" else self.edges


def _planetoid(title: str, counts: Counts, train: int, **more: Any) -> Dataset:
    name = title.lower()
    return Dataset(
        name,
        title,
        "planetoid",
        *counts,
        split=(train, 500, 1000),
        url=f"https://github.com/kimiyoung/planetoid/raw/master/data/ind.{name}.x",
        hidden=256,
        **more,
    )


def _ogb(name: str, counts: Counts, title: str = "", **more: Any) -> Dataset:
    archive = (title or name).removeprefix("ogbn-")
    url = f"http://snap.stanford.edu/ogb/data/nodeproppred/{archive}.zip"
    return Dataset(name, title or name, "ogb", *counts, url=url, **more)


def _both(source: str, name: str, target: str, edges: int) -> tuple[tuple[Relation, int], ...]:
    relation = Relation(source, name, target)
    return (relation, edges), (relation.reverse, edges)


def _aifb(relations: int, edges: int) -> Dataset:
    """Each relation of the stand-in has 14 % fewer edges than the one before it: from 4,070 to 6.

    Features are made up.
    """
    weights = [86**rank * 100 ** (relations - rank) for rank in range(relations)]
    ends = [edges * end // sum(weights) for end in accumulate(weights, initial=0)]
    sizes = [end - start for start, end in pairwise(ends)]
    return Dataset(
        "aifb",
        "AIFB",
        "entities",
        *(8_285, edges, ATTRIBUTES_WIDTH, 4),
        split=(140, 0, 36),
        download_bytes=1_000_000,
        url="https://data.dgl.ai/dataset/aifb.tgz",
        hidden=16,
        relations=tuple(
            each for rank, size in enumerate(sizes) for each in _both(NODE, f"r{rank}", NODE, size)
        ),
    )


_ALL = (
    _planetoid("Cora", (2708, 10556, 1433, 7), train=140, homophily=0.81, words=18, download_bytes=580_000),
    _planetoid(
        "CiteSeer", (3327, 9104, 3703, 6), train=120, homophily=0.74, words=32, download_bytes=1_200_000
    ),
    _planetoid(
        "PubMed", (19717, 88648, 500, 3), train=60, homophily=0.80, words=50, download_bytes=9_000_000
    ),
    _ogb(
        "ogbn-arxiv",
        (169_343, 1_166_243, 128, 40),
        split=(90_941, 29_799, 48_603),
        homophily=0.66,
        download_bytes=83_000_000,
    ),
    _ogb(
        "ogbn-products",
        (2_449_029, 61_859_140, 100, 47),
        split=(196_615, 39_323, 2_213_091),
        homophily=0.81,
        download_bytes=1_480_000_000,
    ),
    _ogb(
        "ogbn-proteins",
        (132_534, 39_561_252, 8, 112),
        split=(86_619, 21_236, 24_679),
        homophily=0.66,
        download_bytes=227_000_000,
        multi_label=True,
        edge_features=8,
    ),
    _ogb(  # features of all but papers are made up
        "ogbn-mag-hetero",
        (1_939_743, 21_111_007, 128, 349),
        split=(629_571, 64_879, 41_939),
        homophily=0.30,
        download_bytes=433_000_000,
        title="ogbn-mag",
        node_types=(
            *(("paper", 736_389), ("author", 1_134_649), ("institution", 8_740)),
            ("field_of_study", 59_965),
        ),
        relations=(
            *_both("author", "affiliated_with", "institution", 1_043_998),
            *_both("author", "writes", "paper", 7_145_660),
            (Relation("paper", "cites", "paper"), 5_416_271),
            *_both("paper", "has_topic", "field_of_study", 7_505_078),
        ),
    ),
    Dataset(
        "ogbg-molhiv",
        "ogbg-molhiv",
        "ogbg",
        # Published are the averages of 41,127 molecules, not the totals.
        *(round(41_127 * 25.5), round(41_127 * 27.5), 9, 2),
        split=(32_901, 4_113, 4_113),
        homophily=1.0,
        download_bytes=3_000_000,
        url="http://snap.stanford.edu/ogb/data/graphproppred/csv_mol_download/hiv.zip",
        graphs=41_127,
    ),
    _aifb(relations=45, edges=29_043),
)
DATASETS = {dataset.id: dataset for dataset in _ALL}
