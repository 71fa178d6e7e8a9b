"""GraphSAGE on batches of nodes and of drawn neighbours (Hamilton et al., NeurIPS 2017), by library."""

import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from . import sage
from .case import Case
from .libraries import dgl, on_dgl, pyg_data, pyg_loader
from .loading import quietly
from .network import Network
from .sampled import SEED, Hop, hops_of_blocks, renumbered, whole

BATCH = 64
"""Training nodes of a batch: three batches on Cora, 143 on a tenth of ogbn-arxiv."""
FAN_OUTS = (15, 10)
"""Neighbours to draw of each node at the first hop, and at the second."""


class Batch(NamedTuple):
    """What a loader yields, as the network takes it."""

    structure: Any
    """edge_index, or DGL's blocks."""
    x: Tensor
    """Features of all nodes: [n, D]."""
    y: Tensor
    """Classes of the nodes that are trained on, which are the first ones: int64 [T]."""
    found: Any
    """The library's own object."""


class Drawn(NamedTuple):
    """The same batch for checks, on the CPU."""

    seeds: Tensor
    """The nodes that are trained on, as the graph numbers them: int64 [T]."""
    nodes: Tensor
    """All nodes, as the graph numbers them: int64 [n]."""
    hops: tuple[Hop, Hop]
    layers: tuple[tuple[Tensor, int], tuple[Tensor, int]]
    """By layer: sources and targets, int64 [2, m], as the batch numbers them; the number of results."""


def build(case: Case) -> Network:
    """Return the network on a case's platform; DGL's takes an iterator of blocks, one for each layer."""
    model = sage.build(case, sage.initial_parameters(case.graph, case.spec.hidden))
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
        """Whether that epoch has ended: no more are kept."""


def epoch(
    library: "_Pyg | _Dgl",
    loader: Any,
    model: Network,
    optimizer: torch.optim.Optimizer,
    record: Record,
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


class _Pyg:
    def loader(self, case: Case) -> Any:
        graph = case.graph
        edges = graph.edge_index.to(case.index_dtype)
        data = pyg_data.Data(x=graph.x.to(case.dtype), y=graph.y, edge_index=edges)
        train = graph.train_mask.nonzero().squeeze(1).to(case.index_dtype)
        return quietly(pyg_loader.NeighborLoader, data, list(FAN_OUTS), input_nodes=train, batch_size=BATCH)

    def start(self, seed: int = SEED) -> None:
        torch.default_generator.manual_seed(seed)

    def batches(self, loader: Any, device: torch.device) -> Iterator[Batch]:
        for found in loader:
            batch = found.to(device)
            yield Batch(batch.edge_index, batch.x, batch.y[: batch.batch_size], found)

    def drawn(self, batch: Batch) -> Drawn:
        found = batch.found
        nodes, edges = whole(found.n_id), whole(found.edge_index)
        seeds = nodes[: found.batch_size]
        first, second = renumbered(len(seeds), nodes, *edges, found.e_id)
        return Drawn(seeds, nodes, (first, second), ((edges, len(nodes)), (edges, len(seeds))))


class _Dgl:
    def loader(self, case: Case) -> Any:
        graph = on_dgl.structure(case).to("cpu")
        graph.ndata["x"], graph.ndata["y"] = case.graph.x.to(case.dtype), case.graph.y
        train = case.graph.train_mask.nonzero().squeeze(1).to(case.index_dtype)
        # DGL lists fan-outs by layer; the first layer is the second hop.
        sampler = dgl.dataloading.NeighborSampler(
            list(reversed(FAN_OUTS)), prefetch_node_feats=["x"], prefetch_labels=["y"]
        )
        return dgl.dataloading.DataLoader(graph, train, sampler, device=case.device, batch_size=BATCH)

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
        blocks = batch.found
        nodes, seeds = whole(blocks[0].srcdata[dgl.NID]), whole(blocks[-1].dstdata[dgl.NID])
        first, second = hops_of_blocks(seeds, blocks)
        inner, outer = (
            (torch.stack([whole(end) for end in block.edges()]), block.num_dst_nodes()) for block in blocks
        )
        return Drawn(seeds, nodes, (first, second), (inner, outer))


LIBRARIES: Mapping[str, _Pyg | _Dgl] = {"pyg": _Pyg(), "dgl": _Dgl()}
"""By platform, how a library loads and draws batches, with features and classes on the CPU."""
