"""A training epoch of a two-layer GraphSAGE (Hamilton et al., NeurIPS 2017) on batches of sampled nodes.

The seeds of a batch are its training nodes, which the loss is computed for. Neighbours are drawn at two hops.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..annotations import Case, Graph, Hop, Network, Optimizer, Tensor
from ..libraries import definitions, dgl, network, on_dgl, pyg_data, pyg_loader, sampled, torch, training
from ..libraries import functional as F
from ..loading import quietly
from ..operation import TRAIN, Call, operation
from .layers import sage_network
from .neighbors import FAN_OUTS, INT64_ONLY

BATCH = 64
"""Number of training nodes in a batch: three batches on Cora, 143 on a tenth of ogbn-arxiv."""


class Batch(NamedTuple):
    """A loader's batch as the network takes it: structure (edge_index or DGL's blocks) and features [n, D].

    The first T nodes are the seeds; `y` has their classes, int64 [T]. `loaded` is the library's own object.
    """

    structure: Any
    x: Tensor
    y: Tensor
    loaded: Any


class Draw(NamedTuple):
    """A batch for checks, on the CPU: the graph's indices of the seeds [T] and of all nodes [n].

    For each layer, `layers` has edges as indices in the batch, int64 [2, m], and the number of output rows.
    """

    seeds: Tensor
    nodes: Tensor
    hops: Sequence[Hop]
    layers: Sequence[tuple[Tensor, int]]


def build(case: Case) -> Network:
    """Return the network on a case's platform; on DGL it takes an iterator of blocks, one for each layer."""
    model = sage_network(case)
    if case.spec.platform == "dgl":
        model.convolve = lambda blocks, layer, x: layer(next(blocks), x)
    return model


def loss(model: Network, batch: Batch) -> Tensor:
    """Return the mean negative log-likelihood of the batch's training nodes."""
    structure = batch.structure
    logits = model(iter(structure) if isinstance(structure, list) else structure, batch.x)[: len(batch.y)]
    return F.nll_loss(F.log_softmax(logits, dim=1), batch.y)


class Record:
    """Keeps the first epoch's batches for the check; with several threads, the next epoch may draw others."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.is_over = False


def epoch(
    library: "_Pyg | _Dgl", loader: Any, model: Network, optimizer: Optimizer, record: Record
) -> Tensor:
    """Train with one step for each batch; return the losses before the steps: [S]."""
    losses = []
    device = next(model.parameters()).device
    for batch in library.batches(loader, device):
        optimizer.zero_grad(set_to_none=True)
        value = loss(model, batch)
        value.backward()
        optimizer.step()
        losses.append(value.detach())
        if not record.is_over:
            record.batches.append(batch)
    record.is_over = True
    return torch.stack(losses)


def loader(case: Case) -> Any:
    """Return the loader of an epoch."""
    train = case.graph.train_mask.nonzero().squeeze(1)
    return LIBRARIES[case.spec.platform].loader(case, train, FAN_OUTS, BATCH)


def seed_worker(worker: int) -> None:
    """Seed DGL's generator in a worker; otherwise all workers draw the same numbers as their parent."""
    dgl.seed(sampled.SEED + 1 + worker)


class _Pyg:
    def loader(self, case: Case, nodes: Tensor, fan_outs: Sequence[int], size: int, workers: int = 0) -> Any:
        case, y = case.on_cpu(), case.graph.y.clone()
        data = pyg_data.Data(x=case.node_features(), edge_index=case.edge_index(), y=y)
        options = {"input_nodes": nodes, "batch_size": size, "num_workers": workers}
        return quietly(pyg_loader.NeighborLoader, data, list(fan_outs), **options)

    def start(self, seed: int = 0) -> None:
        torch.default_generator.manual_seed(seed)

    def batches(self, loader: Any, device: Any) -> Iterator[Batch]:
        for loaded in loader:
            batch = loaded.to(device)
            yield Batch(batch.edge_index, batch.x, batch.y[: batch.batch_size], loaded)

    def draw_of(self, batch: Batch) -> Draw:
        loaded = batch.loaded
        nodes, edges = sampled.to_int64(loaded.n_id), sampled.to_int64(loaded.edge_index)
        seeds = nodes[: loaded.batch_size]
        hops = sampled.hops_of_list(len(seeds), nodes, *edges, loaded.e_id)
        return Draw(seeds, nodes, hops, [(edges, len(nodes)), (edges, len(seeds))])


class _Dgl:
    def loader(self, case: Case, nodes: Tensor, fan_outs: Sequence[int], size: int, workers: int = 0) -> Any:
        graph = on_dgl.structure(case.on_cpu())
        graph.ndata["x"], graph.ndata["y"] = case.on_cpu().node_features(), case.graph.y
        # DGL lists fan-outs by layer; the first layer is the second hop.
        sampler = dgl.dataloading.NeighborSampler(
            list(reversed(fan_outs)), prefetch_node_feats=["x"], prefetch_labels=["y"]
        )
        options = {"batch_size": size, "num_workers": workers, "worker_init_fn": seed_worker}
        nodes = nodes.to(case.index_dtype)
        return dgl.dataloading.DataLoader(graph, nodes, sampler, device=case.device, **options)

    def start(self, seed: int = 0) -> None:
        from ..platforms.dgl import dgl  # recorded counters include this import

        torch.default_generator.manual_seed(seed)  # for the order of nodes
        dgl.seed(seed)

    def batches(self, loader: Any, device: Any) -> Iterator[Batch]:  # noqa: ARG002 - the loader has a device
        with warnings.catch_warnings():  # such as the advice to choose cores
            warnings.simplefilter("ignore")
            for _, _, blocks in loader:
                yield Batch(blocks, blocks[0].srcdata["x"], blocks[-1].dstdata["y"], blocks)

    def draw_of(self, batch: Batch) -> Draw:
        blocks = batch.loaded
        nodes, seeds = (
            sampled.to_int64(blocks[0].srcdata[dgl.NID]),
            sampled.to_int64(blocks[-1].dstdata[dgl.NID]),
        )
        edges = [torch.stack([*map(sampled.to_int64, block.edges())]) for block in blocks]
        layers = [(ends, block.num_dst_nodes()) for ends, block in zip(edges, blocks, strict=True)]
        return Draw(seeds, nodes, sampled.hops_of_blocks(seeds, blocks), layers)


LIBRARIES: Mapping[str, _Pyg | _Dgl] = {"pyg": _Pyg(), "dgl": _Dgl()}
"""By platform, the code that loads batches, and describes them for checks. Features are on the CPU."""


def prepare(case: Case) -> tuple[Callable[..., Tensor], Any, Network, Optimizer, Record]:
    """Return the timed function, which trains an epoch, and its inputs: loader, network, Adam, record."""
    library = LIBRARIES[case.spec.platform]

    def run(loader: Any, model: Network, optimizer: Optimizer, record: Record) -> Tensor:
        library.start()
        return epoch(library, loader, model, optimizer, record)

    model = build(case)
    optimizer = torch.optim.Adam(model.parameters(), lr=training.LEARNING_RATE)
    return run, loader(case), model, optimizer, Record()


def check(
    case: Case, losses: Tensor, _loader: Any, model: Network, _optimizer: Any, record: Record
) -> tuple[Tensor, ...]:
    """Check an epoch's batches, empty the record, and return the seeds and the relative losses.

    A loss is relative to the float64 loss of the same batch, so `reference` has ones. Raises MismatchError if
    a neighbour is missing, drawn twice or not in the graph.
    """
    library = LIBRARIES[case.spec.platform]
    batches, record.batches = record.batches, []
    draws = [library.draw_of(batch) for batch in batches]
    after = loss(model, batches[0]).detach()
    for draw in draws:
        for hop, fan_out in zip(draw.hops, FAN_OUTS, strict=True):
            sampled.require_hop(case.graph, hop, fan_out)
    parameters = network.parameters(sage_network(case))
    expected = definitions.train(parameters, [partial(right_loss, case.graph, draw) for draw in draws])
    seeds = torch.cat([draw.seeds for draw in draws])
    computed = torch.cat((losses, after.unsqueeze(0)))
    return seeds.to(losses.device), (computed.double() / expected.to(losses.device)).to(losses)


def right_loss(graph: Graph, draw: Draw, parameters: Sequence[Tensor]) -> Tensor:
    """Return a batch's loss in float64; `parameters` are the two weights of each layer, then the biases."""
    x = graph.x[draw.nodes].double()
    for index, (edges, count) in enumerate(draw.layers):
        of_mean, of_node, bias = *parameters[2 * index : 2 * index + 2], parameters[4 + index]
        x = x if index == 0 else x.relu()
        x = definitions.aggregate(edges, None, x, "mean")[:count] @ of_mean + x[:count] @ of_node + bias
    y = graph.y[draw.seeds]
    return -x.log_softmax(dim=1).gather(1, y.unsqueeze(1)).mean()


def reference(graph: Graph, *_: Tensor) -> tuple[Tensor, Tensor]:
    """Return the training nodes [T], and a one for each batch's loss and for the loss after all steps."""
    train = graph.train_mask.nonzero().squeeze(1)
    return train, torch.ones(-(-len(train) // BATCH) + 1, dtype=torch.float64)


OPERATIONS = (
    operation(
        "epoch_sage_batches",
        pyg=Call(
            "NeighborLoader([15, 10]), SAGEConv", limits=(INT64_ONLY,), one_of=("pyg_lib", "torch_sparse")
        ),
        dgl=Call("DataLoader of NeighborSampler, SAGEConv"),
        directions=(TRAIN,),
        reference=reference,
        group="training",
        graphs=("cora",),
    ),
)
