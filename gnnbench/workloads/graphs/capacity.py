"""Whether a graph fits: bytes needed, estimated from published counts, against bytes free."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import psutil

from ... import units
from ...errors import UsageError
from .catalog import Dataset, DatasetName

_ENTRY_BYTES = 64
"""At the peak, per entry of edge_index, which itself takes 16. Measured on twins: 50 to 62."""
_NODE_FACTOR = 2.5
"""Peak over final size of features and labels. Measured on twins: 1.3 dense, 2.3 bag of words."""
_READ_NODE_FACTOR = 5
"""The same of published files, which are parsed in float64. Measured on ogbn-arxiv's CSV layout: 4.3."""
_LEAST_PART = 1e-4
"""Of a data set that is worth offering."""
_UNPACKED = 3
"""Disk for an archive, what is in it, and what the library makes of that, over the archive's size."""


def peak_bytes(name: DatasetName) -> int:
    """Bytes of memory to make or read a graph, at the highest; estimated from counts alone.

    Raises:
        UsageError: the header of a Matrix Market file cannot be read.
    """
    if name.path:
        from . import matrix_market

        nodes, entries = matrix_market.size(name.path)
    else:
        nodes, entries = name.nodes, 2 * name.pairs
    if name.published is None or name.synthetic:
        return _ENTRY_BYTES * entries + int(_NODE_FACTOR * _node_bytes(name) * nodes)
    # Edge features are parsed as float64, converted, and repeated for the other direction.
    entry_bytes = _ENTRY_BYTES + 12 * name.published.edge_features
    return entry_bytes * entries + _READ_NODE_FACTOR * _node_bytes(name) * nodes


def _node_bytes(name: DatasetName) -> int:
    """Bytes per node of float32 features, labels and three masks."""
    multi_label = name.published is not None and name.published.multi_label
    return 4 * name.features + (4 * name.classes if multi_label else 8) + 3


def check_memory(name: DatasetName, free: int | None = None) -> None:
    """Refuse a graph that cannot be made in memory.

    Args:
        name: which graph.
        free: bytes; measured where None.

    Raises:
        UsageError: with both figures; or the header of a Matrix Market file cannot be read.
    """
    needed = peak_bytes(name)
    free = memory_free() if free is None else free
    if needed > free:
        raise UsageError(
            f"{name.id} needs about {_figure(needed)} of memory and {_figure(free)} is free; "
            f"{_smaller(name, needed, free)}"
        )


def check_disk(dataset: Dataset, cache: Path, download: bool, free: int | None = None) -> None:
    """Refuse a data set whose download or processed files do not fit beside the cache folder.

    Args:
        dataset: which.
        cache: the folder; where it does not exist, its nearest parent counts.
        download: whether its archive is downloaded and unpacked as well.
        free: bytes; measured where None.

    Raises:
        UsageError: with both figures.
    """
    processed = 16 * 2 * dataset.pairs + 4 * dataset.features * dataset.nodes
    needed = processed + _UNPACKED * dataset.download_bytes * download
    if free is None:
        existing = next(folder for folder in (cache, *cache.absolute().parents) if folder.exists())
        free = psutil.disk_usage(str(existing)).free
    if needed > free:
        raise UsageError(
            f"{dataset.id} needs about {_figure(needed)} of disk under {cache} and {_figure(free)} is free; "
            f"name another folder in the variable GNNBENCH_CACHE, or use {dataset.id}:synthetic"
        )


def memory_free(root: Path = Path("/")) -> int:
    """Bytes that can still be allocated: what the system has, or less where a cgroup limits it.

    Args:
        root: of the file system with `proc` and `sys`.
    """
    return min([psutil.virtual_memory().available, *_cgroup_rooms(root)])


def _cgroup_rooms(root: Path) -> Iterator[int]:
    """Bytes left in each limited cgroup that this process is in, version 2 or 1."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:  # not Linux
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        files = (
            ("memory.limit_in_bytes", "memory.usage_in_bytes")
            if controllers
            else ("memory.max", "memory.current")
        )
        mount = root / "sys/fs/cgroup" / ("memory" if controllers else "")
        group = PurePosixPath(path)
        for part in (group, *group.parents):
            folder = mount / str(part).lstrip("/")
            try:
                limit, used = ((folder / file).read_text().strip() for file in files)
                cached = _page_cache(folder)
            except OSError:  # the root has no limit; a container sees only part of the tree
                continue
            if limit != "max":
                yield max(0, int(limit) - int(used) + cached)


def _page_cache(folder: Path) -> int:
    """Bytes of the group that the kernel would give up first."""
    statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    return int(statistics.get("inactive_file", 0))


def _figure(count: int) -> str:
    return f"{units.size(count)} ({count} bytes)"


def _smaller(name: DatasetName, needed: int, free: int) -> str:
    if name.published:
        # One digit, with a tenth to spare: memory in use comes and goes.
        part = f"{0.9 * free / needed * name.fraction:.0e}"
        if float(part) >= _LEAST_PART:
            return f"use part of it, as in {name.published.id}:synthetic@{float(part):g}"
        return "use a smaller graph"
    return "use a smaller scale" if name.scale else "use a smaller file"
