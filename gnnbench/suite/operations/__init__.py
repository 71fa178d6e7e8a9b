"""The registry of operations: each module of this folder lists its own in a tuple `OPERATIONS`.

Modules take torch and the libraries from `libraries`, so that `gnnbench list` and the collection of
tests are fast. docs/adding-an-operation.md shows how to add an operation.
"""

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from types import SimpleNamespace

from ..operation import Operation


def by_name(operations: Iterable[Operation]) -> dict[str, Operation]:
    """Return operations by name; raises ValueError if two have the same name."""
    rows: dict[str, Operation] = {}
    for operation in operations:
        if operation.name in rows:
            raise ValueError(f"two operations are called '{operation.name}': rename one of them")
        rows[operation.name] = operation
    return rows


OPERATIONS: Mapping[str, Operation] = by_name(
    operation
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name)
    for operation in importlib.import_module(f".{module.name}", __package__).OPERATIONS
)

REFERENCES = SimpleNamespace(**{name: operation.reference for name, operation in OPERATIONS.items()})
"""The float64 definitions: `REFERENCES.spmm_sum(graph, x)`."""
