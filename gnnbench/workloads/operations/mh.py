"""Parts of MH-Aug's loop (Park et al., NeurIPS 2021), by variant; the package `mhaug` has the code."""

from dataclasses import replace
from typing import TYPE_CHECKING

from ..least_work import Symbols, Work
from ..limits import CSR_PRODUCT
from ..operation import Call, Operation
from ..spec import FORWARD, STEP
from . import epoch

if TYPE_CHECKING:
    from torch import Tensor

    from ..graphs.graph import Graph
    from ..mhaug.chain import Draws, Edges, State

_PLATFORMS = ("pyg", "sparse", "torch", "dgl")
_PROFILED = "the loop was profiled on DGL"
_VARIANTS = {
    "published": ({"torch": "gather, scatter, SciPy"}, "the plain form is PyTorch's"),
    "profiled": ({"dgl": "AGGNet, graphs built, SciPy"}, _PROFILED),
    "optimised": (
        {
            "pyg": "one scatter per hop",
            "sparse": "one torch_sparse SpMM per hop",
            "torch": "one CSR product per hop",
            "dgl": "one u_mul_e_sum per hop",
        },
        "",
    ),
    "compiled": ({"torch": "torch.compile, one product per hop"}, "its product is PyTorch's"),
}


def aggregate(graph: "Graph") -> "Tensor":
    """Return AGGNet's aggregates of the chain's example, of its kept edges and of its kept nodes: [2, N]."""
    import torch

    from ..mhaug import published

    state, _, edges = _example(graph)
    ones = torch.ones(graph.num_nodes, dtype=torch.float64)
    kept = edges.source[state.kept_edges], edges.target[state.kept_edges]
    fewer_nodes = published.aggregate(edges.source, edges.target, state.kept_nodes.double())
    return torch.stack((published.aggregate(*kept, ones), fewer_nodes))


def augment(graph: "Graph", *_: "Tensor") -> "Tensor":
    """Return the first feature as the example's proposal augments it: [N, 1]."""
    from ..mhaug import published, workloads
    from ..mhaug.chain import row_scale

    _, draws, edges = _example(graph)
    state = published.augment(edges, draws, workloads.DROPPED)
    return graph.x[:, :1].double() * row_scale(state.kept_nodes).unsqueeze(1)


def proposal(graph: "Graph", uncertainty: "Tensor") -> "Tensor":
    """Return log p of the example's state and proposal, and log q forth and back: [4].

    The published form is the definition, which tests/mhaug/dense.py holds to dense matrices.
    """
    import torch

    from ..mhaug import published
    from ..mhaug.settings import Settings

    state, draws, edges = _example(graph)
    found = published.propose(edges, Settings(), state, draws, uncertainty)
    return torch.cat((found.log_target, found.log_density))


def loss(graph: "Graph", uncertainty: "Tensor", *parameters: "Tensor") -> "Tensor":
    """Return the loss of the example's step before it, without dropout (Park et al., NeurIPS 2021): [].

    The parameters are the two weights, then the two biases.
    """
    import torch

    from ..mhaug import published
    from ..mhaug.chain import row_scale
    from ..mhaug.settings import Settings
    from ..reference import aggregate, looped, normalized

    settings = Settings()
    state, draws, edges = _example(graph)
    proposed = published.propose(edges, settings, state, draws, uncertainty).state
    x = graph.x.double()
    x = x / x.abs().sum(dim=1, keepdim=True).clamp(min=1e-300)

    def log_probability(state: "State | None") -> "Tensor":
        weight = (
            torch.ones(graph.num_edges, dtype=torch.float64) if state is None else state.kept_edges.double()
        )
        entries, weight = looped(graph, weight)
        weight = normalized(entries, weight, graph.num_nodes)
        h = x if state is None else x * row_scale(state.kept_nodes).unsqueeze(1)
        h = (aggregate(entries, weight, h @ parameters[0]) + parameters[2]).relu()
        return (aggregate(entries, weight, h @ parameters[1]) + parameters[3]).log_softmax(dim=1)

    whole, current, proposal = (log_probability(each) for each in (None, state, proposed))
    supervised = -current[graph.train_mask].gather(1, graph.y[graph.train_mask].unsqueeze(1)).mean()
    divergence = (current.exp() * (current - proposal)).sum(dim=1).mean()
    entropy = -(whole.exp() * whole).sum(dim=1).mean()
    return supervised + settings.divergence_weight * divergence + settings.entropy_weight * entropy


def _example(graph: "Graph") -> "tuple[State, Draws, Edges]":
    from ..mhaug import workloads
    from ..mhaug.chain import edges_of

    edges = edges_of(graph.edge_index, graph.num_nodes)
    return *workloads.example(edges), edges


def aggregate_work(m: Symbols) -> Work:
    """Bytes G(E) + E + N + s 2 N: the graph once, masks of edges and nodes, both columns. Flops 2 * 2 L."""
    return Work(m.G(m.E) + m.E + m.N + m.s * 2 * m.N, 4 * m.L)


def augment_work(m: Symbols) -> Work:
    """Bytes 4 (E + N) + E + N + s 2 N: ranks, masks, one feature in and out. Flops N: it is scaled."""
    return Work(5 * (m.E + m.N) + m.s * 2 * m.N, m.N)


def proposal_work(m: Symbols) -> Work:
    """Bytes G(E) + 5 (E + N) + (s + 4 * 8) N: graph, ranks, masks, uncertainty, changes of both states.

    Flops 4 L + 18 N: both columns' two hops; their changes 4 N, deviations and their squares 6 N, and 4 N for
    the squares of each state's distance, weighed and summed.
    """
    return Work(m.G(m.E) + 5 * (m.E + m.N) + (m.s + 32) * m.N, 4 * m.L + 18 * m.N)


def train_work(m: Symbols) -> Work:
    """Bytes a proposal's + s (X + 7 P + 1) + T y: features once, Adam as in an epoch. P of two layers.

    Flops a proposal's and of G, the current state and the proposal each an epoch's forward and backward pass
    of two layers, D to F to C, where X takes the place of N D in the first product; the loss 4 T C + 10 N C:
    cross-entropy, two softmax and their divergence, an entropy; Adam's 12 P.
    """
    layers = ((m.D, m.F), (m.F, m.C))
    P = sum(A * B + B for A, B in layers)  # noqa: N806 - a letter, as the others
    two = replace(m, layers=layers, P=P)
    proposal = proposal_work(m)
    passes = epoch.forward_work(two).flops + epoch.backward_work(two).flops - 4 * (m.N * m.D - m.X) * m.F
    flops = proposal.flops + 3 * passes + 4 * m.T * m.C + 10 * m.N * m.C + 12 * P
    return Work(proposal.bytes + m.s * (m.X + 7 * P + 1) + m.T * m.y, flops)


def _proposal(variant: str) -> Operation:
    calls, why_absent = _VARIANTS[variant]
    return Operation(
        f"mh_proposal_{variant}",
        {platform: Call(text) for platform, text in calls.items()},
        {platform: why_absent for platform in _PLATFORMS if platform not in calls},
        directions=(FORWARD,),
        reference=proposal,
        least_work=proposal_work,
    )


def _train(variant: str) -> Operation:
    calls, _ = _VARIANTS[variant]
    platform = "torch" if "torch" in calls else "dgl"
    why_absent = "its step is PyTorch's and the same for all: timed once for each variant"
    return Operation(
        f"mh_train_{variant}",
        {platform: Call(f"{calls[platform]}, a step of Adam", limits=(CSR_PRODUCT,))},
        {name: why_absent for name in _PLATFORMS if name != platform},
        directions=(STEP,),
        reference=loss,
        least_work=train_work,
    )


OPERATIONS = (
    Operation(
        "mh_aggregate",
        {
            "pyg": Call("gather, weigh, scatter both columns"),
            "sparse": Call("torch_sparse's SpMM, block-diagonal"),
            "torch": Call("CSR @ x, block-diagonal"),
            "dgl": Call("dgl.ops.u_mul_e_sum of both columns"),
        },
        directions=(FORWARD,),
        reference=aggregate,
        least_work=aggregate_work,
    ),
    Operation(
        "mh_aggregate_compiled",
        {"pyg": Call("gather and scatter, torch.compile")},
        dict.fromkeys(("sparse", "torch", "dgl"), "torch.compile refuses their sparse products"),
        directions=(FORWARD,),
        reference=aggregate,
        least_work=aggregate_work,
    ),
    Operation(
        "mh_augment_profiled",
        {"dgl": Call("a new graph with copied features")},
        dict.fromkeys(("pyg", "sparse", "torch"), _PROFILED),
        directions=(FORWARD,),
        reference=augment,
        least_work=augment_work,
    ),
    Operation(
        "mh_augment_optimised",
        {"torch": Call("masks and a scale")},
        dict.fromkeys(("pyg", "sparse", "dgl"), "masks are PyTorch's on every platform: see it on torch"),
        directions=(FORWARD,),
        reference=augment,
        least_work=augment_work,
    ),
    *map(_proposal, _VARIANTS),
    *map(_train, _VARIANTS),
)
