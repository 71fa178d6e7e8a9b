"""METIS's division of a graph into parts with few edges between them, of which Cluster-GCN makes batches."""

import contextlib
import io
from typing import Any

from ..annotations import Case, Tensor
from ..libraries import dgl, sampled, torch
from ..limits import refuses
from ..operation import Call
from .neighbors import ON_CPU, sampling

PARTS = 8
IMBALANCE = 1.05
"""Nodes of the largest part, as a multiple of the mean; METIS tries to reach 1.03."""

_INT64 = refuses("DGL's METIS takes int64 only", "int32")


def _dgl(graph: Any) -> Tensor:
    with contextlib.redirect_stdout(io.StringIO()):  # DGL prints its times
        return dgl.metis_partition_assignment(graph, PARTS)


def checked(case: Case, parts: Tensor, _graph: Any) -> Tensor:
    """Check that each node has a part and none is too large, and return the number of parts."""
    part = sampled.whole(parts)
    sampled.require(len(part) == case.graph.num_nodes, "a node has no part")
    sizes = part.bincount(minlength=PARTS)
    most = max(IMBALANCE * len(part) / PARTS, len(part) / PARTS + 2)
    sampled.require(int(sizes.max()) <= most, "a part is too large")
    source, target = case.graph.edge_index
    between = float((part[source] != part[target]).double().mean())
    sampled.require(between < 1 - 1 / PARTS, "as many edges are between parts as in a random division")
    return torch.tensor(len(sizes), device=case.device)


OPERATIONS = (
    sampling(
        "metis_partition",
        dgl=Call("dgl.metis_partition_assignment(8)", _dgl, (_INT64, ON_CPU)),
        pyg="ClusterData needs pyg-lib, or a torch_sparse that was built with METIS",
        sparse="torch_sparse is built without METIS",
        reference=lambda _graph: torch.tensor(PARTS),
        default=False,
    ),
)
