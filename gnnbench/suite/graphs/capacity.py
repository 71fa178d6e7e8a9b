"""Checks that a graph fits in memory; needs are estimated from published counts."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import psutil

from ...engine.ground import units
from ...engine.ground.errors import UsageError
from .catalog import DatasetName

_ENTRY_BYTES = 64
"""Peak memory per entry of edge_index, which itself takes 16. Measured on stand-ins: 50 to 62."""
_TYPED_ENTRY_BYTES = 96
"""The same with relations. Measured on ogbn-mag-hetero's stand-in: 88."""
_NODE_FACTOR = 2.5
"""Peak divided by final size of features and labels. Measured on stand-ins: 1.3 dense, 2.3 bag of words."""
_READ_NODE_FACTOR = 5
"""The same for published files, which are parsed in float64. Measured on ogbn-arxiv's CSV files: 4.3."""
_LEAST_PART = 1e-4
"""Smallest fraction of a data set that a message suggests."""


def peak_bytes(name: DatasetName) -> int:
    """Return the peak memory for making or reading a graph, estimated from its counts."""
    if name.path:
        from . import matrix_market

        nodes, entries = matrix_market.size(name.path)
    else:
        nodes, entries = name.nodes, 2 * name.pairs
    each = _TYPED_ENTRY_BYTES if name.relations else _ENTRY_BYTES
    if name.path or name.synthetic:
        return each * entries + int(_NODE_FACTOR * _node_bytes(name) * nodes)
    # Edge features are parsed as float64, converted, and repeated for the other direction.
    entry_bytes = each + 12 * name.dataset.edge_features
    return entry_bytes * entries + _READ_NODE_FACTOR * _node_bytes(name) * nodes


def resident_bytes(name: DatasetName) -> int:
    """Return the memory of a graph once it is made."""
    types = 8 * (2 * name.pairs + name.nodes) if name.relations else 0
    return 16 * 2 * name.pairs + _node_bytes(name) * name.nodes + types


def _node_bytes(name: DatasetName) -> int:
    """Return the bytes per node of float32 features, labels and three masks."""
    dataset = name.dataset
    return 4 * dataset.features + (4 * dataset.classes if dataset.multi_label else 8) + 3


def check_memory(name: DatasetName, free: int | None = None) -> None:
    """Refuse a graph that does not fit in memory; `free` is in bytes, by default measured."""
    needed = peak_bytes(name)
    free = memory_free() if free is None else free
    if needed > free:
        raise UsageError(
            f"{name.id} needs about {units.size(needed)} of memory, but {units.size(free)} is free; "
            f"{smaller(name, needed, free)}"
        )


def memory_free(root: Path = Path("/")) -> int:
    """Return the bytes that can still be allocated: free memory, or less if a cgroup limits it."""
    return min([psutil.virtual_memory().available, *_cgroup_rooms(root)])


def _cgroup_rooms(root: Path) -> Iterator[int]:
    """Yield the free bytes of each limited cgroup of this process; the page cache is free, too."""
    try:
        _, _, path = (root / "proc/self/cgroup").read_text().rpartition("0::")
    except OSError:  # not Linux
        return
    group = PurePosixPath(path.strip())
    for part in (group, *group.parents):
        folder = root / "sys/fs/cgroup" / str(part).lstrip("/")
        try:
            limit, used, lines = (
                (folder / f"memory.{name}").read_text() for name in ("max", "current", "stat")
            )
        except OSError:  # the root group has no limit; a container has only part of the tree
            continue
        if limit.strip() != "max":
            cached = dict(line.split() for line in lines.splitlines()).get("inactive_file", 0)
            yield max(0, int(limit) - int(used) + int(cached))


def smaller(name: DatasetName, needed: int, free: int) -> str:
    """Return what to use instead of a graph that needs more memory than is free."""
    if name.scale or name.path:
        return "use a smaller scale" if name.scale else "use a smaller file"
    # One digit, with a margin of 10%: free memory changes.
    part = f"{0.9 * free / needed * name.fraction:.0e}"
    if float(part) < _LEAST_PART:
        return "use a smaller graph"
    return f"use a fraction of it, such as {name.dataset.id}:synthetic@{float(part):g}"
