"""GraphSAGE on batches of nodes and of drawn neighbours (Hamilton et al., NeurIPS 2017), by library."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from .case import Case
from .libraries import dgl, on_dgl, pyg_data, pyg_loader
from .loading import quietly
from .network import Network
from .operations import layers
from .sampled import SEED, Hop, hops_of_blocks, renumbered, whole

BATCH = 64
"""Training nodes of a batch: three batches on Cora, 143 on a tenth of ogbn-arxiv."""
FAN_OUTS = (15, 10)
"""Neighbours to draw of each node at the first hop, and at the second."""


class Batch(NamedTuple):
    """What a loader yields, as the network takes it: edge_index or DGL's blocks; features [n, D].

    The first nodes are trained on; `y` has their classes, int64 [T]. `loaded` is the library's own object.
    """

    structure: Any
    x: Tensor
    y: Tensor
    loaded: Any


class Drawn(NamedTuple):
    """The same batch for checks, on the CPU: nodes that are trained on [T], and all [n], as in the graph.

    `layers` has sources and targets, int64 [2, m], as the batch numbers them, and the number of results.
    """

    seeds: Tensor
    nodes: Tensor
    hops: tuple[Hop, Hop]
    layers: tuple[tuple[Tensor, int], tuple[Tensor, int]]


def build(case: Case) -> Network:
    """Return the network on a case's platform; DGL's takes an iterator of blocks, one for each layer."""
    model = layers.sage_network(case, layers.sage_parameters(case.graph, case.spec.hidden))
    if case.spec.platform == "dgl":
        model.convolve = lambda blocks, layer, x: layer(next(blocks), x)
    return model


def loss(model: Network, batch: Batch) -> Tensor:
    """Return the mean negative log-likelihood of the nodes that are trained on."""
    structure = batch.structure
    logits = model(iter(structure) if isinstance(structure, list) else structure, batch.x)[: len(batch.y)]
    return F.nll_loss(F.log_softmax(logits, dim=1), batch.y)


class Record:
    """The batches of the first epoch, for its check: on several threads DGL may draw others the next time."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.is_over = False


def epoch(
    library: "_Pyg | _Dgl", loader: Any, model: Network, optimizer: torch.optim.Optimizer, record: Record
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
    """Seed DGL's generator in a worker; otherwise all workers draw the numbers of their parent."""
    dgl.seed(SEED + 1 + worker)


class _Pyg:
    def loader(self, case: Case, nodes: Tensor, fan_outs: Sequence[int], size: int, workers: int = 0) -> Any:
        case, y = case.on_cpu(), case.graph.y.clone()
        data = pyg_data.Data(x=case.node_features(), edge_index=case.edge_index(), y=y)
        options = {"input_nodes": nodes, "batch_size": size, "num_workers": workers}
        return quietly(pyg_loader.NeighborLoader, data, list(fan_outs), **options)

    def start(self, seed: int = SEED) -> None:
        torch.default_generator.manual_seed(seed)

    def batches(self, loader: Any, device: torch.device) -> Iterator[Batch]:
        for loaded in loader:
            batch = loaded.to(device)
            yield Batch(batch.edge_index, batch.x, batch.y[: batch.batch_size], loaded)

    def drawn(self, batch: Batch) -> Drawn:
        loaded = batch.loaded
        nodes, edges = whole(loaded.n_id), whole(loaded.edge_index)
        seeds = nodes[: loaded.batch_size]
        first, second = renumbered(len(seeds), nodes, *edges, loaded.e_id)
        return Drawn(seeds, nodes, (first, second), ((edges, len(nodes)), (edges, len(seeds))))


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

    def start(self, seed: int = SEED) -> None:
        from .platforms.dgl import dgl  # recorded counters have this call

        torch.default_generator.manual_seed(seed)  # for the order of nodes
        dgl.seed(seed)

    def batches(self, loader: Any, device: torch.device) -> Iterator[Batch]:  # noqa: ARG002 - it has its own
        with warnings.catch_warnings():  # that cores could be chosen
            warnings.simplefilter("ignore")
            for _, _, blocks in loader:
                yield Batch(blocks, blocks[0].srcdata["x"], blocks[-1].dstdata["y"], blocks)

    def drawn(self, batch: Batch) -> Drawn:
        blocks = batch.loaded
        nodes, seeds = whole(blocks[0].srcdata[dgl.NID]), whole(blocks[-1].dstdata[dgl.NID])
        first, second = hops_of_blocks(seeds, blocks)
        inner, outer = (
            (torch.stack([whole(end) for end in block.edges()]), block.num_dst_nodes()) for block in blocks
        )
        return Drawn(seeds, nodes, (first, second), (inner, outer))


LIBRARIES: Mapping[str, _Pyg | _Dgl] = {"pyg": _Pyg(), "dgl": _Dgl()}
"""By platform, how a library loads and draws batches, with features and classes on the CPU."""
