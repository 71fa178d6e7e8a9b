"""How many batches a second loaders make, and when the first one is there."""

import re
from collections.abc import Sequence

from .. import units
from ..workloads.operations import OPERATIONS
from .table import TableRow, inputs

_NAME = re.compile(r"(.+?)(_first)?_(\d+)_workers")


def lines(rows: Sequence[TableRow]) -> list[str]:
    """Return a line for each loader, and one for its first batch: on each platform, by number of workers.

    Args:
        rows: all rows; loaders are operations with `batches`, whose name says how many workers.
    """
    found: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for row in rows:
        operation, name = OPERATIONS.get(row.spec.operation), _NAME.fullmatch(row.spec.operation)
        if operation and operation.batches and name:
            loader, first, workers = name.groups()
            what = "time to the first batch" if first else "batches a second"
            value = units.seconds(row.seconds) if first else f"{operation.batches / row.seconds:.3g}"
            texts = found.setdefault((what, loader, *inputs(row.spec)), {})
            texts.setdefault(row.spec.platform, []).append(f"{value} with {workers} workers")
    several = len({key[2:] for key in found}) > 1
    written = []
    for (what, loader, *where), texts in found.items():
        suffix = f" ({', '.join(where)})" if several else ""
        values = "; ".join(f"{platform} {', '.join(each)}" for platform, each in texts.items())
        written.append(f"{what}, {loader}{suffix}: {values}")
    return written
