"""A training epoch of a graph isomorphism network (Xu et al., ICLR 2019) on small graphs, in batches."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from ..annotations import Case, Graph, Module, Optimizer, Tensor
from ..libraries import definitions, dgl, network, on_dgl, pyg_loader, pyg_nn, torch
from ..libraries import functional as F
from ..limits import SCATTER_ADD, SEGMENT_SUM
from ..operation import TRAIN, Call, Kernel, operation
from ..spec import AUTOCAST
from . import pool
from .batch import MOLECULES, all_sizes, dgl_molecules, pyg_molecules

BATCH = 128
"""Number of graphs in a batch, as in Dwivedi et al. (JMLR 2023)."""
DEPTH = 3
"""Number of convolutions, each with a network of two linear layers."""

_IN_AUTOCAST = SEGMENT_SUM._replace(where=frozenset({AUTOCAST, "cpu"}))


def _by_graph(graph: Graph, values: Tensor) -> Tensor:
    """Return a value for each separate graph, from values that are equal at all of its nodes: [M]."""
    sizes = all_sizes(graph)
    return values[sizes.cumsum(0) - sizes]


def training_numbers(graph: Graph) -> Tensor:
    """Return the indices of the training graphs, ascending: int64 [T]."""
    return _by_graph(graph, graph.train_mask).nonzero().squeeze(1)


def _training_graphs(case: Case, make: Callable[[Case, int], list[Any]]) -> list[tuple[Any, Tensor]]:
    """Return the training graphs as a platform's objects on the CPU, each with its class: int64 []."""
    labels = _by_graph(case.graph, case.graph.y)
    graphs = make(case.on_cpu(), len(labels))
    return [(graphs[number], labels[number]) for number in training_numbers(case.graph).tolist()]


def _losses(model: Module, optimizer: Optimizer, batches: Iterable[tuple[Any, Tensor, Tensor]]) -> Tensor:
    """Train with a step for each batch (graph, x [n, D], labels [B]); return the losses before the steps."""
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
    """Return the kernel of an epoch. `batches` yields joined graphs on a device, with features and labels."""

    def run(graphs: list[Any], model: Module, optimizer: Optimizer) -> Tensor:
        return _losses(model, optimizer, batches(graphs, next(model.parameters()).device))

    def result(losses: Tensor, graphs: list[Any], model: Module, _optimizer: Optimizer) -> Tensor:
        batch, x, y = next(iter(batches(graphs, losses.device)))
        return torch.cat((losses, F.cross_entropy(model(batch, x), y).detach().unsqueeze(0)))

    return Kernel(build, run, result)


def _pyg() -> Kernel:
    def build(case: Case) -> list[Any]:
        labelled = _training_graphs(case, pyg_molecules)
        for graph, label in labelled:
            graph.y = label
        return [graph for graph, _ in labelled]

    def batches(graphs: list[Any], device: Any) -> Iterable[tuple[Any, Tensor, Tensor]]:
        for joined in pyg_loader.DataLoader(graphs, BATCH):
            batch = joined.to(device)
            yield batch, batch.x, batch.y

    return _kernel(build, batches)


def _dgl() -> Kernel:
    def batches(graphs: list[Any], device: Any) -> Iterable[tuple[Any, Tensor, Tensor]]:
        for graph, y in dgl.dataloading.GraphDataLoader(graphs, batch_size=BATCH):
            batch = graph.to(device)
            yield batch, batch.ndata["x"], y.to(device)

    return _kernel(lambda case: _training_graphs(case, dgl_molecules), batches)


def model(case: Case) -> Module:
    """Return the network on a case's platform, with weights from `glorot`."""
    hidden = case.spec.hidden
    widths = [case.graph.num_features, *[hidden] * (DEPTH - 1)]
    linear = torch.nn.Linear
    networks = [
        torch.nn.Sequential(linear(width, hidden), torch.nn.ReLU(), linear(hidden, hidden))
        for width in widths
    ]
    out = linear(hidden, case.graph.num_classes)
    if case.spec.platform == "dgl":
        convolutions = [dgl.nn.GINConv(mlp, "sum") for mlp in networks]
        return network.with_random_parameters(
            case, network.GIN(convolutions, out, on_dgl.apply, pool.mean_dgl)
        )
    gin = network.GIN(
        [pyg_nn.GINConv(mlp) for mlp in networks],
        out,
        lambda batch, layer, x: layer(x, batch.edge_index),
        lambda batch, x: pyg_nn.global_mean_pool(x, batch.batch, batch.num_graphs),
    )
    return network.with_random_parameters(case, gin)


def logits(graph: Graph, numbers: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """Return the network's output for the separate graphs with the ascending indices `numbers` [B]: [B, C].

    Each convolution is relu(relu((x + sum over neighbours) W + b) W' + b'). A mean over each graph's nodes
    and a linear layer follow. `parameters` are the matrices [in, out] in order, then the biases.
    """
    half = len(parameters) // 2
    matrices, biases = parameters[:half], parameters[half:]
    sizes = all_sizes(graph)
    member = torch.arange(len(sizes)).repeat_interleave(sizes)
    selection = torch.isin(member, numbers)
    nodes, edges = (mask.nonzero().squeeze(1) for mask in (selection, selection[graph.edge_index[1]]))
    part = graph.part(nodes, edges)
    h = part.x.double()
    for index in range(0, half - 1, 2):
        h = h + definitions.aggregate(part.edge_index, None, h)
        for matrix, bias in zip(matrices[index : index + 2], biases[index : index + 2], strict=True):
            h = (h @ matrix + bias).relu()
    means = definitions.reduce_by_node(torch.searchsorted(numbers, member[nodes]), h, len(numbers), "mean")
    return means @ matrices[-1] + biases[-1]


def losses(graph: Graph, *parameters: Tensor) -> Tensor:
    """Return the loss of each batch before its step, and of the first batch after all steps: [S + 1]."""
    labels = _by_graph(graph, graph.y)

    def loss(numbers: Tensor, parameters: Sequence[Tensor]) -> Tensor:
        log_softmax = logits(graph, numbers, parameters).log_softmax(dim=1)
        return -log_softmax.gather(1, labels[numbers].unsqueeze(1)).mean()

    batches = training_numbers(graph).split(BATCH)
    return definitions.train(parameters, [partial(loss, numbers) for numbers in batches])


OPERATIONS = (
    operation(
        "epoch_gin",
        pyg=Call("DataLoader, GINConv, global_mean_pool", make=_pyg, limits=(SCATTER_ADD,)),
        dgl=Call("GraphDataLoader, GINConv, mean_nodes", make=_dgl, limits=(SEGMENT_SUM, _IN_AUTOCAST)),
        directions=(TRAIN,),
        reference=losses,
        group="training",
        graphs=MOLECULES,
        batched=True,
    ),
)
