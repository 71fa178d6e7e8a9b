"""The ten worst regrets as users write them: the library's call, and the fastest way.

REGRET_WORST is the file that experiments/regret/regret.py writes, REGRET_WAY is `call` or `fastest`.
"""

import json
import os
from pathlib import Path

import pytest
import torch
from torch_geometric.utils import scatter, segment

from gnnbench.suite.graphs.load import load_by_id
from gnnbench.suite.libraries import import_dgl, torch_scatter

dgl = import_dgl()  # DGL needs a stand-in for its graphbolt under this torch

CASES = json.loads(Path(os.environ["REGRET_WORST"]).read_text(encoding="utf-8"))
WAY = os.environ["REGRET_WAY"]


def expanded(index, x):
    return index.unsqueeze(1).expand_as(x)


def csr(target, source, x):
    pointer = torch._convert_indices_from_coo_to_csr(target, x.size(0))  # noqa: SLF001
    return torch.sparse_csr_tensor(pointer, source, x.new_ones(len(source)), (x.size(0), x.size(0)))


def sorted_product(index, nodes, x, reduce):
    index, order = index.sort(stable=True)
    pointer = torch._convert_indices_from_coo_to_csr(index, nodes)  # noqa: SLF001
    return torch.sparse.mm(
        torch.sparse_csr_tensor(pointer, order, x.new_ones(len(x)), (nodes, len(x))), x, reduce
    )


def segment_product(pointer, x, reduce):
    matrix = torch.sparse_csr_tensor(
        pointer, torch.arange(len(x)), x.new_ones(len(x)), (len(pointer) - 1, len(x))
    )
    return torch.sparse.mm(matrix, x, reduce)


def bags(pointer, x, mode):
    return torch.nn.functional.embedding_bag(
        torch.arange(len(x)), x, pointer, mode=mode, include_last_offset=True
    )


def repeated(pointer, x):
    node = torch.repeat_interleave(pointer.diff(), output_size=len(x))
    return x.new_zeros(len(pointer) - 1, x.size(1)).index_add_(0, node, x)


def maxima(pointer, x):
    found = torch.segment_reduce(x, "max", offsets=pointer)
    return torch.where(found.isinf(), 0, found)  # of a node without messages


def torch_mean(index, nodes, x):
    out = x.new_zeros(nodes, x.size(1))
    return out.scatter_reduce_(0, expanded(index, x), x, "mean", include_self=False)


def torch_max(index, nodes, x):
    out = x.new_zeros(nodes, x.size(1))
    return out.scatter_reduce_(0, expanded(index, x), x, "amax", include_self=False)


def added_mean(index, nodes, x):
    total = x.new_zeros(nodes, x.size(1)).index_add_(0, index, x)
    return total / torch.bincount(index, minlength=nodes).clamp(min=1).unsqueeze(1)


def gathered(edge_index, x):
    return torch.zeros_like(x).index_add(0, edge_index[1], x.index_select(0, edge_index[0]))


WAYS = {
    # On an index that is not sorted: index, number of nodes, messages.
    "scatter_sum on pyg": lambda index, nodes, x: scatter(x, index, 0, nodes, "sum"),
    "scatter_mean on pyg": lambda index, nodes, x: scatter(x, index, 0, nodes, "mean"),
    "scatter_max on pyg": lambda index, nodes, x: scatter(x, index, 0, nodes, "max"),
    "scatter_sum on sparse": lambda index, nodes, x: torch_scatter.scatter(x, index, 0, None, nodes, "sum"),
    "scatter_mean on sparse": lambda index, nodes, x: torch_scatter.scatter(x, index, 0, None, nodes, "mean"),
    "scatter_max on sparse": lambda index, nodes, x: torch_scatter.scatter(x, index, 0, None, nodes, "max"),
    "scatter_sum on torch": lambda index, nodes, x: x.new_zeros(nodes, x.size(1)).index_add_(0, index, x),
    "scatter_mean on torch": torch_mean,
    "scatter_max on torch": torch_max,
    "index_add_, bincount": added_mean,
    "sort, torch.sparse.mm(..., 'sum')": lambda index, nodes, x: sorted_product(index, nodes, x, "sum"),
    "sort, torch.sparse.mm(..., 'mean')": lambda index, nodes, x: sorted_product(index, nodes, x, "mean"),
    "sort, torch.sparse.mm(..., 'amax')": lambda index, nodes, x: sorted_product(index, nodes, x, "amax"),
    # On segments: row pointer, messages.
    "segment_sum on pyg": lambda pointer, x: segment(x, pointer, "sum"),
    "segment_mean on pyg": lambda pointer, x: segment(x, pointer, "mean"),
    "segment_max on pyg": lambda pointer, x: segment(x, pointer, "max"),
    "segment_sum on sparse": lambda pointer, x: torch_scatter.segment_csr(x, pointer, reduce="sum"),
    "segment_mean on sparse": lambda pointer, x: torch_scatter.segment_csr(x, pointer, reduce="mean"),
    "segment_max on sparse": lambda pointer, x: torch_scatter.segment_csr(x, pointer, reduce="max"),
    "segment_sum on torch": lambda pointer, x: torch.segment_reduce(x, "sum", offsets=pointer),
    "segment_mean on torch": lambda pointer, x: torch.segment_reduce(x, "mean", offsets=pointer, initial=0),
    "segment_max on torch": maxima,
    "segment_sum on dgl": lambda pointer, x: dgl.ops.segment_reduce(pointer.diff(), x, "sum"),
    "segment_mean on dgl": lambda pointer, x: dgl.ops.segment_reduce(pointer.diff(), x, "mean"),
    "segment_max on dgl": lambda pointer, x: dgl.ops.segment_reduce(pointer.diff(), x, "max"),
    "torch.sparse.mm(..., 'sum')": lambda pointer, x: segment_product(pointer, x, "sum"),
    "torch.sparse.mm(..., 'mean')": lambda pointer, x: segment_product(pointer, x, "mean"),
    "torch.sparse.mm(..., 'amax')": lambda pointer, x: segment_product(pointer, x, "amax"),
    "embedding_bag(mode='sum')": lambda pointer, x: bags(pointer, x, "sum"),
    "embedding_bag(mode='mean')": lambda pointer, x: bags(pointer, x, "mean"),
    "embedding_bag(mode='max')": lambda pointer, x: bags(pointer, x, "max"),
    "repeat_interleave, index_add_": repeated,
    # On edges that are sorted by target: edges, features.
    "gather_scatter_sum on pyg": lambda edges, x: scatter(x[edges[0]], edges[1], 0, x.size(0), "sum"),
    "gather_scatter_sum on sparse": lambda edges, x: torch_scatter.scatter(
        x[edges[0]], edges[1], 0, None, x.size(0), "sum"
    ),
    "gather_scatter_sum on torch": gathered,
    "CSR made in each call, torch.sparse.mm(..., 'sum')": lambda edges, x: torch.sparse.mm(
        csr(edges[1], edges[0], x), x, "sum"
    ),
    "index_select, utils.scatter": lambda edges, x: scatter(
        x.index_select(0, edges[0]), edges[1], 0, x.size(0), "sum"
    ),
}
"""By the names of the table."""


def inputs(name, graph, hidden):
    """Return what all ways of a family take."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(graph.num_nodes, hidden, generator=generator)
    messages = torch.randn(graph.num_edges, hidden, generator=generator)
    source, target = graph.edge_index
    if name.startswith("scatter"):
        return source.clone(), graph.num_nodes, messages
    if name.startswith("segment"):
        return torch._convert_indices_from_coo_to_csr(target, graph.num_nodes), messages  # noqa: SLF001
    return graph.edge_index, features


def with_backward(run, *given):
    given[-1].grad = None
    output = run(*given)
    output.backward(torch.ones_like(output))
    return output.detach(), given[-1].grad


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_way(benchmark, case):
    run = WAYS[case[WAY]]
    given = inputs(case["call"], load_by_id(case["dataset"]), case["hidden"])
    if case["direction"] == "forward":
        benchmark(run, *given)
    else:
        given[-1].requires_grad_()
        benchmark(with_backward, run, *given)
