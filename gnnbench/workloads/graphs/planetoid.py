"""Reads Cora, CiteSeer and PubMed with torch_geometric, which unpickles their files."""

from pathlib import Path

from .catalog import Dataset
from .graph import Graph


def read(dataset: Dataset, folder: Path) -> Graph:
    """Read a data set with its "public" split from its `raw` folder.

    Features are divided by their row's sum (torch_geometric.transforms.NormalizeFeatures, as usual for a
    bag of words); rows of zeros stay zero.
    """
    from torch_geometric.io import read_planetoid_data
    from torch_geometric.transforms import NormalizeFeatures

    data = NormalizeFeatures()(read_planetoid_data(str(folder), dataset.title))
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
