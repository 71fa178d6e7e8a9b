"""A graph from its name."""

from pathlib import Path

from ...files import cache_folder
from . import capacity
from .catalog import DatasetName
from .graph import Graph
from .locate import data_folder, is_here, resolve, under_data_root


def load(name: DatasetName, data_root: Path | None, cache: Path) -> Graph:
    """Read, download or make the graph, if there is room for it.

    Args:
        name: which.
        data_root: folder of real data sets, only read; None where there is none.
        cache: folder for downloads and processed files; made where it is missing.

    Returns:
        The graph, on the CPU.

    Raises:
        UsageError: too little memory or disk, files that are missing or broken, a failed download, a cache
            that cannot be written.
    """
    capacity.check_memory(name)
    if name.path:
        from . import matrix_market

        return matrix_market.read(name.path)
    dataset = name.published
    if dataset is None:
        from . import rmat

        return rmat.generate(name)
    if name.synthetic:
        from . import synthetic

        return synthetic.twin(name)
    capacity.check_disk(dataset, cache, download=not is_here(dataset, data_root, cache))
    origin = under_data_root(dataset, data_root)
    if dataset.family == "planetoid":
        from . import planetoid

        return planetoid.read(dataset, origin, cache)
    from . import ogb

    return ogb.read(dataset, origin, cache)


def load_by_id(text: str) -> Graph:
    """Load a graph by its id as the suite would: `cora`, `ogbn-arxiv:synthetic@0.1`, `rmat:14`.

    The data root is that of the variable GNNBENCH_DATA; a published set that cannot be had is replaced by its
    synthetic twin, which the graph's name says.

    Raises:
        UsageError: see `load` and `DatasetName.parse`.
    """
    root, cache = data_folder(), cache_folder()
    (name,), _ = resolve([DatasetName.parse(text)], root, cache, real_only=False)
    return load(name, root, cache)
