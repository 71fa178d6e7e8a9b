"""A training epoch of a two-layer GraphSAGE on batches of drawn neighbours; the code is in `minibatch.py`."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..annotations import Case, Graph, Network, Optimizer, Tensor
from ..libraries import definitions, minibatch, sampled, torch, training
from ..operation import TRAIN, Call, operation
from .layers import sage_parameters
from .neighbors import INT64_ONLY

if TYPE_CHECKING:
    from ..minibatch import Drawn, Record


def prepare(case: Case) -> "tuple[Callable[..., Tensor], Any, Network, Optimizer, Record]":
    """Return the timed function and its inputs: an epoch; the loader, the network, Adam, and the record."""
    library = minibatch.LIBRARIES[case.spec.platform]

    def run(loader: Any, model: Network, optimizer: Optimizer, record: "Record") -> Tensor:
        library.start()
        return minibatch.epoch(library, loader, model, optimizer, record)

    model = minibatch.build(case)
    optimizer = torch.optim.Adam(model.parameters(), lr=training.LEARNING_RATE)
    return run, minibatch.loader(case), model, optimizer, minibatch.Record()


def checked(
    case: Case, losses: Tensor, _loader: Any, model: Network, _optimizer: Any, record: "Record"
) -> tuple[Tensor, ...]:
    """Check an epoch's batches and losses, empty the record, and return what `reference` does.

    That is the nodes that were trained on, and each loss over the one that float64 gives for the same
    batches. No neighbours may be missing, drawn twice or none of the graph's.
    """
    library = minibatch.LIBRARIES[case.spec.platform]
    batches, record.batches = record.batches, []
    draws = [library.drawn(batch) for batch in batches]
    after = minibatch.loss(model, batches[0]).detach()
    for drawn in draws:
        for hop, fan_out in zip(drawn.hops, minibatch.FAN_OUTS, strict=True):
            sampled.require_hop(case.graph, hop, fan_out)
    parameters = sage_parameters(case.graph, case.spec.hidden)
    flat = [tensor for layer in parameters for tensor in layer]
    expected = definitions.trained(flat, [partial(loss, case.graph, drawn) for drawn in draws])
    seeds = torch.cat([drawn.seeds for drawn in draws])
    computed = torch.cat((losses, after.unsqueeze(0)))
    return seeds.to(losses.device), (computed.double() / expected.to(losses.device)).to(losses)


def loss(graph: Graph, drawn: "Drawn", parameters: Sequence[Tensor]) -> Tensor:
    """Return the loss of a batch in float64; `parameters` are both weights and the bias of both layers."""
    x = graph.x[drawn.nodes].double()
    for index, (edges, count) in enumerate(drawn.layers):
        of_mean, of_node, bias = parameters[3 * index : 3 * index + 3]
        x = x if index == 0 else x.relu()
        x = definitions.aggregate(edges, None, x, "mean")[:count] @ of_mean + x[:count] @ of_node + bias
    y = graph.y[drawn.seeds]
    return -x.log_softmax(dim=1).gather(1, y.unsqueeze(1)).mean()


def reference(graph: Graph, *_: Tensor) -> tuple[Tensor, Tensor]:
    """Return the training nodes [T], and ones: each loss over the right one, and that after the last step."""
    train = graph.train_mask.nonzero().squeeze(1)
    return train, torch.ones(-(-len(train) // minibatch.BATCH) + 1, dtype=torch.float64)


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
