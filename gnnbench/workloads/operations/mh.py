"""Parts of MH-Aug's loop (Park et al., NeurIPS 2021), in variants; the code is in `mhaug`."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ..annotations import Graph, Tensor
from ..least_work import Symbols, Work
from ..libraries import definitions, mh_chain, mh_published, mh_settings, mh_workloads, torch
from ..limits import CSR_PRODUCT, OVERFLOW
from ..operation import Call, Operation
from ..spec import FORWARD, STEP
from . import epoch

if TYPE_CHECKING:
    from ..mhaug.chain import Draws, Edges, State

_PLATFORMS = ("pyg", "sparse", "torch", "dgl")
_PROFILED = "the profiled variant uses DGL"
_VARIANTS = {
    "published": ({"torch": "gather, scatter, SciPy"}, "the published variant uses PyTorch"),
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
    "compiled": ({"torch": "torch.compile, one product per hop"}, "the compiled variant uses PyTorch"),
}


def aggregate(graph: Graph) -> Tensor:
    """Return AGGNet's aggregates for the example: ones over kept edges, and kept nodes: [2, N]."""
    state, _, edges = _example(graph)
    ones = torch.ones(graph.num_nodes, dtype=torch.float64)
    kept = edges.source[state.kept_edges], edges.target[state.kept_edges]
    fewer_nodes = mh_published.aggregate(edges.source, edges.target, state.kept_nodes.double())
    return torch.stack((mh_published.aggregate(*kept, ones), fewer_nodes))


def augment(graph: Graph, *_: Tensor) -> Tensor:
    """Return the first feature, augmented by the example's proposal: [N, 1]."""
    _, draws, edges = _example(graph)
    state = mh_published.augment(edges, draws, mh_workloads.DROPPED)
    return graph.x[:, :1].double() * mh_chain.row_scale(state.kept_nodes).unsqueeze(1)


def proposal(graph: Graph, uncertainty: Tensor) -> Tensor:
    """Return log p of the example's state and proposal, and log q in both directions: [4].

    The published variant is the definition; tests/workloads/mhaug/dense.py checks it with dense matrices.
    """
    state, draws, edges = _example(graph)
    found = mh_published.propose(edges, mh_settings.Settings(), state, draws, uncertainty)
    return torch.cat((found.log_target, found.log_density))


def loss(graph: Graph, uncertainty: Tensor, *parameters: Tensor) -> Tensor:
    """Return the loss of the example before its training step, without dropout: [].

    `parameters` are the two weights, then the two biases.
    """
    settings = mh_settings.Settings()
    state, draws, edges = _example(graph)
    proposed = mh_published.propose(edges, settings, state, draws, uncertainty).state
    x = graph.x.double()
    x = x / x.abs().sum(dim=1, keepdim=True).clamp(min=1e-300)

    def log_probability(state: "State | None") -> Tensor:
        weight = (
            torch.ones(graph.num_edges, dtype=torch.float64) if state is None else state.kept_edges.double()
        )
        entries, weight = definitions.looped(graph, weight)
        weight = definitions.normalized(entries, weight, graph.num_nodes)
        h = x if state is None else x * mh_chain.row_scale(state.kept_nodes).unsqueeze(1)
        h = (definitions.aggregate(entries, weight, h @ parameters[0]) + parameters[2]).relu()
        return (definitions.aggregate(entries, weight, h @ parameters[1]) + parameters[3]).log_softmax(dim=1)

    whole, current, proposal = (log_probability(each) for each in (None, state, proposed))
    supervised = -current[graph.train_mask].gather(1, graph.y[graph.train_mask].unsqueeze(1)).mean()
    divergence = (current.exp() * (current - proposal)).sum(dim=1).mean()
    entropy = -(whole.exp() * whole).sum(dim=1).mean()
    return supervised + settings.divergence_weight * divergence + settings.entropy_weight * entropy


def _example(graph: Graph) -> "tuple[State, Draws, Edges]":
    edges = mh_chain.edges_of(graph.edge_index, graph.num_nodes)
    return *mh_workloads.example(edges), edges


def aggregate_work(m: Symbols) -> Work:
    """Bytes G(E) + E + N + s 2 N: the graph, masks of edges and nodes, both results. Flops 2 * 2 L."""
    return Work(m.G(m.E) + m.E + m.N + m.s * 2 * m.N, 4 * m.L)


def augment_work(m: Symbols) -> Work:
    """Bytes 4 (E + N) + E + N + s 2 N: ranks, masks, one feature in and out. Flops N: scaling."""
    return Work(5 * (m.E + m.N) + m.s * 2 * m.N, m.N)


def proposal_work(m: Symbols) -> Work:
    """Bytes G(E) + 5 (E + N) + (s + 4 * 8) N: graph, ranks, masks, uncertainty, changes of both states.

    Flops 4 L + 18 N: two hops of both columns; 4 N for their changes, 6 N for deviations and their squares,
    and per state 4 N for the weighted sum of its squared distance.
    """
    return Work(m.G(m.E) + 5 * (m.E + m.N) + (m.s + 32) * m.N, 4 * m.L + 18 * m.N)


def train_work(m: Symbols) -> Work:
    """Bytes of a proposal + s (X + 7 P + 1) + T y: features once, Adam as in an epoch; P of two layers.

    Flops of a proposal, and for the graph, the current state and the proposal a forward and backward pass of
    two layers (D to F to C), with X instead of N D in the first product. The loss takes 4 T C + 10 N C:
    cross-entropy, two softmaxes and their divergence, an entropy. Adam takes 12 P.
    """
    layers = ((m.D, m.F), (m.F, m.C))
    P = sum(A * B + B for A, B in layers)  # noqa: N806 - a letter like the others
    two = replace(m, layers=layers, P=P)
    proposal = proposal_work(m)
    passes = epoch.forward_work(two).flops + epoch.backward_work(two).flops - 4 * (m.N * m.D - m.X) * m.F
    flops = proposal.flops + 3 * passes + 4 * m.T * m.C + 10 * m.N * m.C + 12 * P
    return Work(proposal.bytes + m.s * (m.X + 7 * P + 1) + m.T * m.y, flops)


_operation = partial(Operation, group="MH-Aug", simple=True)
_forward = partial(_operation, directions=(FORWARD,))


def _proposal(variant: str) -> Operation:
    calls, why_absent = _VARIANTS[variant]
    return _forward(
        f"mh_proposal_{variant}",
        {platform: Call(text) for platform, text in calls.items()},
        {platform: why_absent for platform in _PLATFORMS if platform not in calls},
        reference=proposal,
        least_work=proposal_work,
    )


def _train(variant: str) -> Operation:
    calls, _ = _VARIANTS[variant]
    platform = "torch" if "torch" in calls else "dgl"
    why_absent = "all platforms have the same training step, so each variant is timed on one"
    return _operation(
        f"mh_train_{variant}",
        {platform: Call(f"{calls[platform]}, a step of Adam", limits=(CSR_PRODUCT,))},
        {name: why_absent for name in _PLATFORMS if name != platform},
        directions=(STEP,),
        reference=loss,
        least_work=train_work,
    )


OPERATIONS = (
    _forward(
        "mh_aggregate",
        {
            "pyg": Call("gather, weigh, scatter both columns", limits=(OVERFLOW,)),
            "sparse": Call("torch_sparse's SpMM, block-diagonal", limits=(OVERFLOW,)),
            "torch": Call("CSR @ x, block-diagonal", limits=(OVERFLOW,)),
            "dgl": Call("dgl.ops.u_mul_e_sum of both columns", limits=(OVERFLOW,)),
        },
        example=True,
        reference=aggregate,
        least_work=aggregate_work,
    ),
    _forward(
        "mh_aggregate_compiled",
        {"pyg": Call("gather and scatter, torch.compile", limits=(OVERFLOW,))},
        dict.fromkeys(
            ("sparse", "torch", "dgl"), "torch.compile does not support the platform's sparse product"
        ),
        reference=aggregate,
        least_work=aggregate_work,
    ),
    _forward(
        "mh_augment_profiled",
        {"dgl": Call("a new graph with copied features")},
        dict.fromkeys(("pyg", "sparse", "torch"), _PROFILED),
        reference=augment,
        least_work=augment_work,
    ),
    _forward(
        "mh_augment_optimised",
        {"torch": Call("masks and a scale")},
        dict.fromkeys(("pyg", "sparse", "dgl"), "every platform uses PyTorch's masks: see torch"),
        reference=augment,
        least_work=augment_work,
    ),
    *map(_proposal, _VARIANTS),
    *map(_train, _VARIANTS),
)
