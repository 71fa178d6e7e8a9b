"""Loads a graph by its name."""

from pathlib import Path

from ...files import cache_folder
from . import capacity, matrix_market, molecules, synthetic
from .catalog import DatasetName
from .graph import Graph
from .locate import data_folder, place, resolve, under_data_root


def load(name: DatasetName, data_root: Path | None, cache: Path) -> Graph:
    """Read, download or make a graph on the CPU, after checking that it fits.

    `data_root` is the folder of real data sets, which is only read. `cache` is for downloads and processed
    files, and is made if missing.

    Raises:
        UsageError: memory or disk space is too small, files are missing or broken, the download failed, or
            the cache is not writable.
    """
    capacity.check_memory(name)
    if name.path:
        return matrix_market.read(name.path)
    dataset = name.published
    if dataset is None:
        families = {
            "rmat": synthetic.rmat,
            "uniform": synthetic.uniform,
            "hub": synthetic.hub,
            "molecules": molecules.generate,
        }
        return families[name.family](name)
    if name.synthetic:
        return synthetic.twin(name)
    capacity.check_disk(dataset, cache, download=place(dataset, data_root, cache) is None)
    origin = under_data_root(dataset, data_root)
    if dataset.family == "planetoid":
        from . import planetoid

        return planetoid.read(dataset, origin, cache)
    if dataset.family == "entities":
        from . import entities

        return entities.read(dataset, origin, cache)
    from . import ogb

    read = ogb.read_molecules if dataset.family == "ogbg" else ogb.read
    return read(dataset, origin, cache)


def load_by_id(text: str) -> Graph:
    """Load a graph by its id, as the suite does: `cora`, `ogbn-arxiv:synthetic@0.1`, `rmat:14`.

    The data folder is GNNBENCH_DATA. An unavailable published data set is replaced by its synthetic
    stand-in; then the graph's name is that of the stand-in.

    Raises:
        UsageError: see `load` and `DatasetName.parse`.
    """
    root, cache = data_folder(), cache_folder()
    (name,), _ = resolve([DatasetName.parse(text)], root, cache, real_only=False)
    return load(name, root, cache)
