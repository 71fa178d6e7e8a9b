"""Refuses a benchmark that does not fit in memory, from the graph's counts, before anything is made."""

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from ..engine.ground import units
from . import operations
from .graphs import capacity
from .least_work import FLOAT_BYTES, Symbols
from .spec import BACKWARD, TRAIN

if TYPE_CHECKING:
    from .graphs.catalog import DatasetName
    from .spec import Spec

# Measured on rmat:16 and rmat:17, the largest of all platforms: docs/experiments/large.md.
_OF_INDICES = 10.0
"""Memory of a call with its inputs, divided by the least bytes of indices that it moves."""
_OF_VALUES = 2.5
"""The same of floating-point numbers."""
_CHUNKS = 3
"""Arrays of gathered rows that a reference holds, each of a chunk or, if that is more, of one column."""
_WHOLE_ENTRY_BYTES = 128
"""Memory per entry of a check that compares all entries of the result."""
_MESSAGES = 2
"""Rows [E + N, width] that PyG's layers on edge_index keep for the backward pass."""
_ACTIVATIONS = 10
"""Arrays of the size of each layer's output that training and its float64 reference hold, in float32."""


def symbols(spec: "Spec", name: "DatasetName") -> Symbols:
    """Return upper bounds of the letters of least work, from the published or random graph's counts."""
    dataset, nodes, entries, relations = name.dataset, name.nodes, 2 * name.pairs, max(1, len(name.relations))
    layers = tuple(pairwise((dataset.features, spec.hidden, spec.hidden, dataset.classes)))
    counts = {"N": nodes, "E": entries, "R": nodes, "Q": relations, "V": min(entries, nodes * relations)}
    return Symbols.of(spec, layers, multi_label=dataset.multi_label, T=nodes, **counts)


def call_bytes(spec: "Spec", name: "DatasetName") -> int | None:
    """Return the memory that a benchmark needs beside its graph, about; None if that is unknown."""
    from .definitions import CHUNK_BYTES
    from .view import LARGE

    operation = operations.OPERATIONS.get(spec.operation)
    if operation is None or operation.least_work is None:
        return None
    letters = symbols(spec, name)
    least = operation.least_work(letters).bytes
    indices = operation.least_work(replace(letters, s=0)).bytes
    needed = _OF_INDICES * indices + _OF_VALUES * (least - indices)
    if spec.direction in (TRAIN, BACKWARD):
        needed += (
            _ACTIVATIONS * FLOAT_BYTES["float32"] * letters.N * sum(width for _, width in letters.layers)
        )
    widths = sum(width for _, width in letters.layers) if operation.group == "training" else spec.hidden
    if spec.platform == "pyg" and operation.group in ("layers", "training"):
        needed += _MESSAGES * letters.s * letters.L * widths
    check = _CHUNKS * max(CHUNK_BYTES, 8 * letters.E)
    is_sampled = letters.E * spec.hidden >= LARGE and (operation.linear or operation.reach is not None)
    if not is_sampled:
        check = max(check, _WHOLE_ENTRY_BYTES * letters.E)
    return int(needed + check)


def why_too_large(
    spec: "Spec", name: "DatasetName", *, is_loaded: bool, free: int | None = None
) -> str | None:
    """Return why a benchmark does not fit in the CPU's memory; None if it does, or if that is unknown."""
    if name.path or spec.device != "cpu":
        return None
    call = call_bytes(spec, name)
    if call is None:
        return None
    free = capacity.memory_free() if free is None else free
    needed = call + (0 if is_loaded else capacity.resident_bytes(name))
    if needed <= free:
        return None
    narrow = call_bytes(replace(spec, hidden=1), name)
    width = ", or a smaller --gnn-hidden" if narrow and narrow < call else ""
    return (
        f"{spec.operation} {spec.direction} on {name.id} needs about {units.size(needed)} of memory, but "
        f"{units.size(free)} is free; {capacity.smaller(name, needed, free)}{width}"
    )
