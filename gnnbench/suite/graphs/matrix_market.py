"""Reads graphs from Matrix Market files (https://math.nist.gov/MatrixMarket/formats.html)."""

from pathlib import Path

import numpy as np

from ...engine.ground.errors import UsageError
from . import attributes
from .graph import Graph

_FIELDS = ("pattern", "real", "integer")


def read(path: Path) -> Graph:
    """Read a graph's structure with scipy.io.mmread, and give it synthetic features, labels and split.

    Entries become undirected edges, whether the file lists one direction (symmetric) or both; values, loops
    and duplicates are dropped. The graph does not count as synthetic: times depend on the structure.
    """
    import scipy.io

    try:
        rows, columns, _, layout, field, _ = scipy.io.mminfo(path)
        matrix = scipy.io.mmread(path)
    except (OSError, ValueError, OverflowError) as error:
        raise UsageError(
            f"{path}: not a readable Matrix Market file ({error}); repair or replace it"
        ) from error
    if layout != "coordinate":
        raise UsageError(f"{path}: the matrix is dense ('{layout}'); a graph needs the format 'coordinate'")
    if rows != columns or not rows:
        raise UsageError(f"{path}: the matrix is {rows} by {columns}; it must be square and not empty")
    if field not in _FIELDS:
        raise UsageError(f"{path}: the matrix is '{field}'; it must be one of {', '.join(_FIELDS)}")
    return Graph.build(
        path.name,
        matrix.row.astype(np.int64),
        matrix.col.astype(np.int64),
        *attributes.made_up(rows),
        synthetic=False,
    )
