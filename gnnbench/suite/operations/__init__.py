"""The registry of operations: each module of this folder lists its own in a tuple `OPERATIONS`.

Modules take torch and the libraries from `libraries`, so that `gnnbench list` and the collection of
tests are fast. docs/adding-an-operation.md shows how to add an operation.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from types import SimpleNamespace

from ..operation import Operation

OPERATIONS: Mapping[str, Operation] = {
    operation.name: operation
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name)
    for operation in importlib.import_module(f".{module.name}", __package__).OPERATIONS
}

REFERENCES = SimpleNamespace(**{name: operation.reference for name, operation in OPERATIONS.items()})
"""The float64 definitions: `REFERENCES.spmm_sum(graph, x)`."""
