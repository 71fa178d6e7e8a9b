"""Graphs from Matrix Market files (https://math.nist.gov/MatrixMarket/formats.html)."""

from pathlib import Path

import numpy as np

from ...errors import UsageError
from . import attributes
from .graph import Graph

_FIELDS = ("pattern", "real", "integer")


def size(path: Path) -> tuple[int, int]:
    """Read the header: nodes, and entries of the graph, counting both directions.

    Raises:
        UsageError: not a square, sparse, real matrix, or no header.
    """
    import scipy.io

    try:
        rows, columns, entries, layout, field, _ = scipy.io.mminfo(path)
    except (OSError, ValueError, OverflowError) as error:
        raise _unreadable(path, error) from error
    if layout != "coordinate":
        raise UsageError(f"{path}: holds a dense matrix ('{layout}'); a graph is one in 'coordinate' format")
    if rows != columns or not rows:
        raise UsageError(f"{path}: the matrix is {rows} by {columns}; a graph's is square and not empty")
    if field not in _FIELDS:
        raise UsageError(f"{path}: the matrix is '{field}'; it must be {', '.join(_FIELDS)}")
    return rows, 2 * entries


def read(path: Path) -> Graph:
    """Read a graph's structure with scipy.io.mmread; its features, labels and split are made up.

    Entries are undirected edges whether the file lists one direction (symmetric) or both; values, loops and
    repetitions are dropped. What is made up is seeded: 128 features, 16 labels that have nothing to do with
    the structure, see `attributes.made_up`. The graph is not called synthetic, because its structure, on
    which a kernel's time depends, is real.

    Raises:
        UsageError: a truncated or malformed file, or one that `size` refuses.
    """
    import scipy.io

    size(path)
    try:
        matrix = scipy.io.mmread(path)
    except (OSError, ValueError, OverflowError) as error:
        raise _unreadable(path, error) from error
    return Graph.build(
        path.name,
        matrix.row.astype(np.int64),
        matrix.col.astype(np.int64),
        *attributes.made_up(matrix.shape[0]),
        synthetic=False,
    )


def _unreadable(path: Path, error: Exception) -> UsageError:
    return UsageError(f"{path}: not a readable Matrix Market file ({error}); mend or replace it")
