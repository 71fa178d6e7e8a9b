"""The published data sets and their properties.

pytest imports this module during collection, so it imports nothing heavy.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Dataset:
    """A published data set, as its publishers describe it."""

    id: str
    title: str
    """Its name in the loader."""
    family: str
    """`planetoid` or `ogb`, the loader."""
    nodes: int
    edges: int
    """The published number, counted as `listed` says."""
    listed: str
    """`both directions`, `directed citations` or `undirected pairs`."""
    features: int
    classes: int
    """Classes; if `multi_label`, tasks."""
    split: tuple[int, int, int]
    """Numbers of nodes to train, validate and test on."""
    homophily: float
    """Fraction of edges that connect equal classes; if `multi_label`, equal communities of the stand-in."""
    content: str
    """Kind of features: `bag of words` or `dense`."""
    words: int
    """Average words per node; 0 for dense features."""
    download_bytes: int
    """Approximate size of the published archive."""
    url: str
    """A file whose response shows that the download is reachable."""
    source: str
    """The publication and the loader, in a few words."""
    hidden: int
    """Default width of features in benchmarks."""
    multi_label: bool = False
    edge_features: int = 0
    """Published features per edge; a node's features are the mean of its edges'."""

    @property
    def pairs(self) -> int:
        """Simple undirected edges of the synthetic stand-in."""
        return self.edges // 2 if self.listed == "both directions" else self.edges


def _planetoid(
    title: str,
    *counts: int,
    train: int,
    homophily: float,
    words: int,
    download_bytes: int,
) -> Dataset:
    nodes, edges, features, classes = counts
    name = title.lower()
    return Dataset(
        id=name,
        title=title,
        family="planetoid",
        nodes=nodes,
        edges=edges,
        listed="both directions",
        features=features,
        classes=classes,
        split=(train, 500, 1000),
        homophily=homophily,
        content="bag of words",
        words=words,
        download_bytes=download_bytes,
        url=f"https://github.com/kimiyoung/planetoid/raw/master/data/ind.{name}.x",
        source="Planetoid (Yang et al. 2016), through torch_geometric.datasets.Planetoid",
        hidden=256,
    )


def _ogb(
    name: str,
    *counts: int,
    archive: str,
    listed: str,
    split: tuple[int, int, int],
    homophily: float,
    download_bytes: int,
    source: str = "Open Graph Benchmark (Hu et al. 2020), through ogb's NodePropPredDataset",
    multi_label: bool = False,
    edge_features: int = 0,
) -> Dataset:
    nodes, edges, features, classes = counts
    return Dataset(
        id=name,
        title=name,
        family="ogb",
        nodes=nodes,
        edges=edges,
        listed=listed,
        features=features,
        classes=classes,
        split=split,
        homophily=homophily,
        content="dense",
        words=0,
        download_bytes=download_bytes,
        url=f"http://snap.stanford.edu/ogb/data/nodeproppred/{archive}.zip",
        source=source,
        hidden=128,
        multi_label=multi_label,
        edge_features=edge_features,
    )


_ALL = (
    _planetoid("Cora", 2708, 10556, 1433, 7, train=140, homophily=0.81, words=18, download_bytes=580_000),
    _planetoid(
        "CiteSeer", 3327, 9104, 3703, 6, train=120, homophily=0.74, words=32, download_bytes=1_200_000
    ),
    _planetoid("PubMed", 19717, 88648, 500, 3, train=60, homophily=0.80, words=50, download_bytes=9_000_000),
    _ogb(
        "ogbn-arxiv",
        *(169_343, 1_166_243, 128, 40),
        archive="arxiv",
        listed="directed citations",
        split=(90_941, 29_799, 48_603),
        homophily=0.66,
        download_bytes=83_000_000,
    ),
    _ogb(
        "ogbn-products",
        *(2_449_029, 61_859_140, 100, 47),
        archive="products",
        listed="undirected pairs",
        split=(196_615, 39_323, 2_213_091),
        homophily=0.81,
        download_bytes=1_480_000_000,
    ),
    _ogb(
        "ogbn-proteins",
        *(132_534, 39_561_252, 8, 112),
        archive="proteins",
        listed="undirected pairs",
        split=(86_619, 21_236, 24_679),
        homophily=0.66,
        download_bytes=227_000_000,
        source="Open Graph Benchmark (Hu et al. 2020); a node's features are the mean of its edges' features",
        multi_label=True,
        edge_features=8,
    ),
    _ogb(
        "ogbn-mag",
        *(736_389, 5_416_271, 128, 349),
        archive="mag",
        listed="directed citations",
        split=(629_571, 64_879, 41_939),
        homophily=0.30,
        download_bytes=433_000_000,
        source="Open Graph Benchmark (Hu et al. 2020); only the part in which papers cite papers",
    ),
    _ogb(
        "ogbn-papers100M",
        *(111_059_956, 1_615_685_872, 128, 172),
        archive="papers100M-bin",
        listed="directed citations",
        split=(1_207_179, 125_265, 214_338),
        homophily=0.57,
        download_bytes=60_300_000_000,
    ),
)
DATASETS = {dataset.id: dataset for dataset in _ALL}
"""The published data sets by id."""
