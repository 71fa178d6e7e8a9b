"""A training epoch of GIN on small graphs, joined into batches; the model is in `gin.py`."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from ..annotations import Case, Graph, Module, Optimizer, Tensor
from ..libraries import definitions, dgl, pyg_loader, torch
from ..libraries import functional as F
from ..limits import SCATTER_ADD, SEGMENT_SUM
from ..operation import Call, Operation
from ..platforms import Kernel
from ..spec import AUTOCAST, TRAIN
from .batch import MOLECULES, dgl_molecules, pyg_molecules

BATCH = 128
"""Graphs of a batch, as in Dwivedi et al. (JMLR 2023)."""

_IN_AUTOCAST = SEGMENT_SUM._replace(where=frozenset({AUTOCAST, "cpu"}))


class _Member(NamedTuple):
    """One of a graph's training graphs, for the reference."""

    nodes: slice
    edge_index: Tensor
    """int64 [2, e], numbered within all nodes."""
    label: Tensor
    """int64 []."""


def trained_on(graph: Graph) -> list[int]:
    """Return the numbers of the training graphs, ascending."""
    assert graph.sizes is not None
    first = graph.sizes.cumsum(0) - graph.sizes
    numbers: list[int] = graph.train_mask[first].nonzero().squeeze(1).tolist()
    return numbers


def _chosen(case: Case, make: Callable[[Case, int], list[Any]]) -> list[tuple[Any, Tensor]]:
    """Return a platform's training graphs, on the CPU, and the class of each: int64 []."""
    graph = case.graph
    assert graph.sizes is not None
    labels = graph.y[graph.sizes.cumsum(0) - graph.sizes]
    on_cpu = replace(case, spec=replace(case.spec, device="cpu"))
    graphs = make(on_cpu, len(graph.sizes))
    return [(graphs[number], labels[number]) for number in trained_on(graph)]


def _losses(model: Module, optimizer: Optimizer, batches: Iterable[tuple[Any, Tensor, Tensor]]) -> Tensor:
    """Train with one step for each batch, x [n, D] and labels [B]; return the losses before the steps."""
    losses = []
    for batch, x, y in batches:
        optimizer.zero_grad(set_to_none=True)
        value = F.cross_entropy(model(batch, x), y)
        value.backward()
        optimizer.step()
        losses.append(value.detach())
    return torch.stack(losses)


def _kernel(
    build: Callable[[Case], list[Any]],
    batches: Callable[[list[Any], Any], Iterable[tuple[Any, Tensor, Tensor]]],
) -> Kernel:
    """Return the kernel; `batches` joins graphs on a device, as `_losses` takes them."""

    def run(graphs: list[Any], model: Module, optimizer: Optimizer) -> Tensor:
        return _losses(model, optimizer, batches(graphs, next(model.parameters()).device))

    def result(losses: Tensor, graphs: list[Any], model: Module, _optimizer: Optimizer) -> Tensor:
        batch, x, y = next(iter(batches(graphs, losses.device)))
        return torch.cat((losses, F.cross_entropy(model(batch, x), y).detach().unsqueeze(0)))

    return Kernel(build, run, result)


def _pyg() -> Kernel:
    def build(case: Case) -> list[Any]:
        found = _chosen(case, pyg_molecules)
        for graph, label in found:
            graph.y = label
        return [graph for graph, _ in found]

    def batches(graphs: list[Any], device: Any) -> Iterable[tuple[Any, Tensor, Tensor]]:
        for one in pyg_loader.DataLoader(graphs, BATCH):
            batch = one.to(device)
            yield batch, batch.x, batch.y

    return _kernel(build, batches)


def _dgl() -> Kernel:
    def batches(graphs: list[Any], device: Any) -> Iterable[tuple[Any, Tensor, Tensor]]:
        for graph, y in dgl.dataloading.GraphDataLoader(graphs, batch_size=BATCH):
            batch = graph.to(device)
            yield batch, batch.ndata["x"], y.to(device)

    return _kernel(lambda case: _chosen(case, dgl_molecules), batches)


def logits(members: Sequence[_Member], x: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """Return the network's output for some graphs: [B, C].

    Each convolution is relu(relu((x + sum over neighbours) W + b) W' + b'); then come each graph's mean and a
    linear layer.

    Args:
        members: the graphs.
        x: features of all nodes, float64 [N, D].
        parameters: the matrices [in, out] in order, then the biases.
    """
    half = len(parameters) // 2
    matrices, biases = parameters[:half], parameters[half:]
    sizes = torch.tensor([len(x[each.nodes]) for each in members])
    start = torch.tensor([each.nodes.start for each in members])
    shift = sizes.cumsum(0) - sizes - start
    entries = torch.cat([each.edge_index + by for each, by in zip(members, shift, strict=True)], dim=1)
    h = torch.cat([x[each.nodes] for each in members])
    for index in range(0, half - 1, 2):
        h = h + definitions.aggregate(entries, None, h)
        for matrix, bias in zip(matrices[index : index + 2], biases[index : index + 2], strict=True):
            h = (h @ matrix + bias).relu()
    member = torch.arange(len(members)).repeat_interleave(sizes)
    return definitions.sums(member, h, len(members)) / sizes.unsqueeze(1) @ matrices[-1] + biases[-1]


def losses(graph: Graph, *parameters: Tensor) -> Tensor:
    """Return the loss of each batch before its step, and of the first one after all: [S + 1]."""
    assert graph.sizes is not None
    first = [0, *graph.sizes.cumsum(0).tolist()]
    # Entries are sorted by target.
    entry = torch.searchsorted(graph.edge_index[1].contiguous(), torch.tensor(first)).tolist()
    members = []
    for number in trained_on(graph):
        own = graph.edge_index[:, entry[number] : entry[number + 1]]
        nodes = slice(first[number], first[number + 1])
        members.append(_Member(nodes, own, graph.y[nodes.start]))
    x = graph.x.double()

    def loss(batch: Sequence[_Member], parameters: Sequence[Tensor]) -> Tensor:
        found = logits(batch, x, parameters).log_softmax(dim=1)
        return -sum(row[each.label] for row, each in zip(found, batch, strict=True)) / len(batch)

    batches = [members[start : start + BATCH] for start in range(0, len(members), BATCH)]
    return definitions.trained(parameters, [partial(loss, batch) for batch in batches])


OPERATIONS = (
    Operation(
        "epoch_gin",
        {
            "pyg": Call("DataLoader, GINConv, global_mean_pool", make=_pyg, limits=(SCATTER_ADD,)),
            "dgl": Call(
                "GraphDataLoader, GINConv, mean_nodes", make=_dgl, limits=(SEGMENT_SUM, _IN_AUTOCAST)
            ),
        },
        {
            "sparse": "batches of SparseTensors: see batch",
            "torch": "plain PyTorch has no batches of graphs",
        },
        directions=(TRAIN,),
        reference=losses,
        group="training",
        graphs=MOLECULES,
        batched=True,
    ),
)
