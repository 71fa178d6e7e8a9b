"""Reads Cora, CiteSeer and PubMed through torch_geometric.datasets.Planetoid."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import array_pickle
from .catalog import Dataset
from .graph import Graph
from .workspace import link_files, workspace


def read(dataset: Dataset, origin: Path | None, cache: Path) -> Graph:
    """Read a data set with its "public" split.

    Features are divided by their row's sum (torch_geometric.transforms.NormalizeFeatures, as usual for a
    bag of words); rows of zeros stay zero. `origin` is the `raw` folder in the data folder, which is only
    read; None: download to the cache.
    """
    import fsspec.config  # type: ignore[import-untyped]
    import torch_geometric.datasets
    import torch_geometric.transforms

    # torch_geometric downloads through fsspec, which ignores proxies by default.
    fsspec.config.conf.setdefault("https", {"client_kwargs": {"trust_env": True}})
    with workspace(dataset, origin, cache) as folder, _harmless_pickles():
        if origin:
            link_files(origin, folder / dataset.title / "raw")
        data = torch_geometric.datasets.Planetoid(str(folder), dataset.title, split="public")[0]
    data = torch_geometric.transforms.NormalizeFeatures()(data)
    source, target = data.edge_index.numpy()
    masks = (data.train_mask, data.val_mask, data.test_mask)
    return Graph.build(
        dataset.id,
        source,
        target,
        data.x.numpy(),
        data.y.numpy(),
        dataset.classes,
        *(mask.nonzero().view(-1).numpy() for mask in masks),
        synthetic=False,
    )


@contextmanager
def _harmless_pickles() -> Iterator[None]:
    from torch_geometric.io import planetoid

    # If a later version does not use pickle, this raises AttributeError before anything is read.
    kept = planetoid.pickle
    planetoid.pickle = array_pickle
    try:
        yield
    finally:
        planetoid.pickle = kept
