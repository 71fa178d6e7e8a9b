"""The free memory, and a limit that makes larger allocations fail."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

import psutil

from ..engine.ground.environment import read

_RECLAIMED = ("inactive_file", "active_file", "slab_reclaimable")
"""Kinds of memory that the operating system reclaims before it kills a process."""


def free_bytes() -> int:
    """Return how many bytes can still be allocated: the free memory, or less if a cgroup limits it."""
    return min([psutil.virtual_memory().available, *_free_in_cgroups()])


def _free_in_cgroups() -> Iterator[int]:
    """Yield the free bytes of each limited cgroup of this process; the page cache counts as free."""
    _, _, path = (read("proc/self/cgroup") or "").rpartition("0::/")
    folder = PurePosixPath("sys/fs/cgroup", path)
    for part in (folder, *folder.parents):
        # The root group has no limit, and a container has only part of the tree.
        limit, usage, lines = (read(f"{part}/memory.{name}") for name in ("max", "current", "stat"))
        if limit and limit != "max" and usage and lines:
            sizes = dict(line.split() for line in lines.splitlines())
            cache = sum(int(sizes.get(name, 0)) for name in _RECLAIMED)
            yield max(0, int(limit) - int(usage) + cache)


@contextmanager
def bounded() -> Iterator[None]:
    """Make allocations beyond the free memory fail; otherwise the system would kill the process later."""
    limits = resource.getrlimit(resource.RLIMIT_DATA)
    most = psutil.Process().memory_info().data + free_bytes()
    bounds = [most, *(limit for limit in limits if limit != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_DATA, (min(bounds), limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, limits)
