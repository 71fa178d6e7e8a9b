"""A training epoch of link prediction: GraphSAGE, and all edges against as many drawn pairs."""

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..annotations import Case, Graph, Network, Optimizer, Tensor
from ..libraries import definitions, dgl, network, sampled, torch, training, utils
from ..libraries import functional as F
from ..limits import SCATTER_ADD
from ..operation import TRAIN, Call, operation
from .layers import sage_conv, sage_graph, sage_network

WIDTH = 64
"""Of a node's embedding."""
_FEWEST = 0.9
"""Part of the pairs asked for that must be there: both libraries may return fewer."""


class _Library(NamedTuple):
    """How a library draws pairs and scores them."""

    draw: Callable[[Any], Tensor]
    """Returns as many pairs without an edge as there are edges, the same in each call: int [2, m]."""
    score: Callable[[Any, Tensor, Tensor], Tensor]
    """Returns z_s . z_t of each edge and of each pair: [E + m]."""


def _draw_pyg(edge_index: Tensor) -> Tensor:
    random.seed(sampled.SEED)  # PyG draws with Python's generator
    return utils.negative_sampling(edge_index)


def _score_pyg(edge_index: Tensor, pairs: Tensor, z: Tensor) -> Tensor:
    source, target = torch.cat((edge_index, pairs), dim=1)
    return (z[source] * z[target]).sum(dim=1)


def _draw_dgl(graph: Any) -> Tensor:
    dgl.seed(sampled.SEED)
    return torch.stack(dgl.sampling.global_uniform_negative_sampling(graph, graph.num_edges()))


def _score_dgl(graph: Any, pairs: Tensor, z: Tensor) -> Tensor:
    negative = dgl.graph(tuple(pairs), num_nodes=graph.num_nodes())
    scores = [dgl.ops.u_dot_v(part, z, z) for part in (graph, negative)]
    return torch.cat(scores).squeeze(1)


_LIBRARIES = {"pyg": _Library(_draw_pyg, _score_pyg), "dgl": _Library(_draw_dgl, _score_dgl)}


def _loss(library: _Library, structure: Any, pairs: Tensor, model: Network, x: Tensor) -> Tensor:
    """Return the binary cross-entropy of all edges and of the drawn pairs."""
    scores = library.score(structure, pairs, model(structure, x))
    labels = scores.new_zeros(len(scores))
    labels[: len(scores) - pairs.size(1)] = 1
    return F.binary_cross_entropy_with_logits(scores, labels)


def prepare(case: Case) -> tuple[Callable[..., Any], Any, Network, Tensor, Optimizer]:
    """Return the timed function and its inputs: an epoch, the graph, the network, x [N, D] and Adam."""
    library = _LIBRARIES[case.spec.platform]

    def run(structure: Any, model: Network, x: Tensor, optimizer: Optimizer) -> tuple[Tensor, Tensor]:
        optimizer.zero_grad(set_to_none=True)
        pairs = library.draw(structure)
        value = _loss(library, structure, pairs, model, x)
        value.backward()
        optimizer.step()
        return value, pairs

    model = sage_network(case, out=WIDTH)
    optimizer = torch.optim.Adam(model.parameters(), lr=training.LEARNING_RATE)
    return run, sage_graph(case), model, case.node_features(), optimizer


def checked(
    case: Case, output: tuple[Tensor, Tensor], structure: Any, model: Network, x: Tensor, _: Optimizer
) -> Tensor:
    """Check an epoch's pairs and its loss, and return what `reference` does.

    That is the loss, and that after the step, each over the one that float64 gives for the same pairs. No
    pair may be an edge, a node with itself or drawn twice, and not too few may be drawn.
    """
    library, graph = _LIBRARIES[case.spec.platform], case.graph
    value, pairs = output
    sampled.require_pairs(graph, pairs)
    enough = _FEWEST * graph.num_edges <= pairs.size(1) <= graph.num_edges
    sampled.require(enough, "too few pairs were drawn")
    before = network.parameters(sage_network(case, out=WIDTH))
    expected = definitions.trained(before, [lambda parameters: loss(graph, sampled.whole(pairs), parameters)])
    after = _loss(library, structure, pairs, model, x)
    computed = torch.stack((value, after)).detach()
    return (computed.double() / expected.to(computed.device)).to(computed)


def loss(graph: Graph, pairs: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """Return the mean of -log sigmoid(z_s . z_t) over edges and -log sigmoid(-z_s . z_t) over pairs.

    z are the outputs of both layers; `parameters` are weights of the first, then of the second, then biases.
    """
    of_mean, of_node, next_of_mean, next_of_node, bias, next_bias = parameters
    hidden = sage_conv(graph, of_mean, of_node, bias, graph.x.double()).relu()
    z = sage_conv(graph, next_of_mean, next_of_node, next_bias, hidden)
    source, target = torch.cat((graph.edge_index, pairs), dim=1)
    scores = (z[source] * z[target]).sum(dim=1)
    return -F.logsigmoid(torch.cat((scores[: graph.num_edges], -scores[graph.num_edges :]))).mean()


OPERATIONS = (
    operation(
        "epoch_link",
        pyg=Call("negative_sampling, SAGEConv, products", limits=(SCATTER_ADD,)),
        dgl=Call("global_uniform_negative_sampling, SAGEConv, u_dot_v"),
        directions=(TRAIN,),
        reference=lambda _graph, *_: torch.ones(2, dtype=torch.float64),
        default=False,
        group="training",
        graphs=("cora",),
    ),
)
