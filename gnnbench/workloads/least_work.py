"""The least work of each operation: the bytes it must move and the floating-point operations it needs.

Bytes are compulsory traffic (Hill and Smith, IEEE Trans. Computers 1989): each input is read once, each
output written once, and what is made in between never leaves the cache. So no implementation moves fewer, and
one that writes what another fuses is further from the limit. Where platforms' inputs differ the smallest
counts: a graph without values, by row pointer or by both ends. Rows that no neighbour gathers are not read.

Flops are those of the definition on whole dense arrays: a sum of n terms takes n, as it starts from zero, a
product of matrices 2 N A B; a comparison, a root and an exponential take one each.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import torch

from . import gcn
from .case import Case
from .mhaug.variants import VARIANTS
from .spec import FORWARD_BACKWARD


@dataclass(frozen=True)
class Work:
    """What one call of an operation cannot do without."""

    bytes: int
    flops: int


def least(case: Case) -> Work | None:
    """Return the least work of a case's operation; None for an operation that is not the suite's own."""
    model = _MODELS.get(case.spec.operation)
    return model(_symbols(case)) if model else None


@dataclass(frozen=True)
class _Symbols:
    """The letters of the formulas."""

    N: int
    """Nodes."""
    E: int
    """Entries of the graph, which has no self-loops."""
    L: int
    """Entries with self-loops: E + N."""
    R: int
    """Nodes with a neighbour."""
    T: int
    """Training nodes."""
    D: int
    """Width of the data's features."""
    X: int
    """Entries of the data's features that are not 0."""
    F: int
    """Hidden width."""
    C: int
    """Classes."""
    layers: tuple[tuple[int, int], ...]
    """A and B, the widths before and after each layer of the model: from D to C."""
    P: int
    """Parameters of the model: the sum of A B + B."""
    s: int
    """Bytes of a floating-point number."""
    i: int
    """Bytes of an index."""
    y: int
    """Bytes of a training node's own index and its labels."""
    p: int
    """Passes: 1 forward, 2 with the backward pass."""

    def G(self, entries: int) -> int:  # noqa: N802 - a letter, as the others
        """Bytes of a graph: i (min(N + 1, entries) + entries)."""
        return self.i * (min(self.N + 1, entries) + entries)

    def K(self, width: int) -> int:  # noqa: N802
        """Flops of propagation: (L + min(L, 2 N)) width, for sums and for factors of entries or both ends."""
        return (self.L + min(self.L, 2 * self.N)) * width


def _symbols(case: Case) -> _Symbols:
    graph, spec = case.graph, case.spec
    widths = gcn.widths(graph, spec.hidden)
    layers = tuple(pairwise(widths))
    return _Symbols(
        N=graph.num_nodes,
        E=graph.num_edges,
        L=graph.num_edges + graph.num_nodes,
        R=int(torch.bincount(graph.edge_index[0]).count_nonzero()),
        T=int(graph.train_mask.sum()),
        D=widths[0],
        X=int(graph.x.count_nonzero()),
        F=spec.hidden,
        C=widths[-1],
        layers=layers,
        P=sum(A * B + B for A, B in layers),
        s=case.dtype.itemsize,
        i=getattr(torch, spec.index_dtype).itemsize,
        # int64 whatever the graph's indices are, and so is a class; a task takes a bool.
        y=8 + (graph.num_classes if graph.y.is_floating_point() else 8),
        p=2 if spec.direction == FORWARD_BACKWARD else 1,
    )


def _sum(m: _Symbols) -> Work:
    """Bytes G(E) + p s (R + N) F: x and sums, then the gradients of sums and x. Flops p E F."""
    return Work(m.G(m.E) + m.p * m.s * (m.R + m.N) * m.F, m.p * m.E * m.F)


def _mean(m: _Symbols) -> Work:
    """Bytes as a sum's. Flops p (E + R) F: each sum is divided."""
    return Work(_sum(m).bytes, m.p * (m.E + m.R) * m.F)


def _max(m: _Symbols) -> Work:
    """Bytes as a sum's. Flops E F comparisons; backward R F additions, one for each maximum."""
    return Work(_sum(m).bytes, (m.E + (m.p - 1) * m.R) * m.F)


def _edge_list_sum(m: _Symbols) -> Work:
    """Bytes 2 i E + p s (R + N) F: a sum's, with sources and targets as its graph. Flops p E F."""
    return Work(2 * m.i * m.E + m.p * m.s * (m.R + m.N) * m.F, m.p * m.E * m.F)


def _weighted_sum(m: _Symbols) -> Work:
    """Bytes a sum's + p s E: weights, then their gradients. Flops 2 E F; backward 2 E F for each input."""
    return Work(_sum(m).bytes + m.p * m.s * m.E, (2 * m.p - 1) * 2 * m.E * m.F)


def _aggregate(m: _Symbols) -> Work:
    """Bytes G(L) + p s 2 N: one column, the graph once for both hops. Flops p 2 L."""
    return Work(m.G(m.L) + m.p * m.s * 2 * m.N, m.p * 2 * m.L)


def _aggregate_hops(hops: int) -> Callable[[_Symbols], Work]:
    """Bytes as aggregate's. Flops p L for each hop."""
    return lambda m: Work(_aggregate(m).bytes, m.p * hops * m.L)


def _mh_aggregate(m: _Symbols) -> Work:
    """Bytes G(E) + E + N + s 2 N: the graph once, masks of edges and nodes, both columns. Flops 2 * 2 L."""
    return Work(m.G(m.E) + m.E + m.N + m.s * 2 * m.N, 4 * m.L)


def _mh_augment(m: _Symbols) -> Work:
    """Bytes 4 (E + N) + E + N + s 2 N: ranks, masks, one feature in and out. Flops N: it is scaled."""
    return Work(5 * (m.E + m.N) + m.s * 2 * m.N, m.N)


def _mh_proposal(m: _Symbols) -> Work:
    """Bytes G(E) + 5 (E + N) + (s + 4 * 8) N: graph, ranks, masks, uncertainty, changes of both states.

    Flops 4 L + 18 N: both columns' two hops; their changes 4 N, deviations and their squares 6 N, and 4 N for
    the squares of each state's distance, weighed and summed.
    """
    return Work(m.G(m.E) + 5 * (m.E + m.N) + (m.s + 32) * m.N, 4 * m.L + 18 * m.N)


def _mh_train(m: _Symbols) -> Work:
    """Bytes a proposal's + s (X + 7 P + 1) + T y: features once, Adam as in an epoch. P of two layers.

    Flops a proposal's and of G, the current state and the proposal each an epoch's forward and backward pass
    of two layers, D to F to C, where X takes the place of N D in the first product; the loss 4 T C + 10 N C:
    cross-entropy, two softmax and their divergence, an entropy; Adam's 12 P.
    """
    layers = ((m.D, m.F), (m.F, m.C))
    P = sum(A * B + B for A, B in layers)  # noqa: N806 - a letter, as the others
    two = replace(m, layers=layers, P=P)
    proposal = _mh_proposal(m)
    passes = _epoch_forward(two).flops + _epoch_backward(two).flops - 4 * (m.N * m.D - m.X) * m.F
    flops = proposal.flops + 3 * passes + 4 * m.T * m.C + 10 * m.N * m.C + 12 * P
    return Work(proposal.bytes + m.s * (m.X + 7 * P + 1) + m.T * m.y, flops)


def _add_self_loops(m: _Symbols) -> Work:
    """Bytes G(E) + G(L) + s (E + L): weights read and written; backward s 2 E, without the loops. Flops 0."""
    return Work(m.G(m.E) + m.G(m.L) + m.s * (m.E + m.L + (m.p - 1) * 2 * m.E), 0)


def _gcn_norm(m: _Symbols) -> Work:
    """Bytes G(E) + G(L) + p s (E + L): weights read, normalised ones written; then the gradients.

    Flops 3 L + N: degrees, roots, two products per entry. Backward 3 (E + L) + 2 N: a product per entry,
    summed at both ends into the degrees' gradients; for each weight two products and its degree's share.
    """
    flops = 3 * m.L + m.N + (m.p - 1) * (3 * (m.E + m.L) + 2 * m.N)
    return Work(m.G(m.E) + m.G(m.L) + m.p * m.s * (m.E + m.L), flops)


def _edge_weight_norm(m: _Symbols) -> Work:
    """Bytes as gcn_norm's. Flops with degrees at both ends: 4 L + 2 N; backward 4 E + 3 L + 4 N."""
    flops = 4 * m.L + 2 * m.N + (m.p - 1) * (4 * m.E + 3 * m.L + 4 * m.N)
    return Work(_gcn_norm(m).bytes, flops)


def _degree_norm(m: _Symbols) -> Work:
    """Bytes i min(N + 1, E) + s N: the row pointer or one end of each entry; powers. Flops N."""
    return Work(m.i * min(m.N + 1, m.E) + m.s * m.N, m.N)


def _linear(m: _Symbols) -> Work:
    """Bytes s (N D + p (D F + N F)): x, which has no gradient, weight and output. Flops p 2 N D F."""
    return Work(m.s * (m.N * m.D + m.p * (m.D * m.F + m.N * m.F)), m.p * 2 * m.N * m.D * m.F)


def _conv(m: _Symbols) -> Work:
    """Bytes G(E) + p s (2 N F + F F + F): x, output, weight and bias, then their gradients.

    Flops p (2 N F F + K(F) + N F): product, propagation, bias; backward 2 N F F more, as two need a gradient.
    """
    flops = (2 * m.p - 1) * 2 * m.N * m.F * m.F + m.p * (m.K(m.F) + m.N * m.F)
    return Work(m.G(m.E) + m.p * m.s * (2 * m.N * m.F + m.F * m.F + m.F), flops)


def _conv_cached(m: _Symbols) -> Work:
    """Bytes conv's with G(L) + s L in the place of G(E): the normalised matrix is given. Flops as conv's."""
    conv = _conv(m)
    return Work(conv.bytes - m.G(m.E) + m.G(m.L) + m.s * m.L, conv.flops)


def _epoch_forward(m: _Symbols) -> Work:
    """Bytes G(E) + s (N D + P + N C): features, parameters, logits.

    Flops of each layer 2 N A B + K(min(A, B)) + 2 N B: product and propagation in the order that takes less;
    bias; ReLU, which the last has not.
    """
    flops = sum(2 * m.N * A * B + m.K(min(A, B)) + 2 * m.N * B for A, B in m.layers) - m.N * m.C
    return Work(m.G(m.E) + m.s * (m.N * m.D + m.P + m.N * m.C), flops)


def _epoch_loss(m: _Symbols) -> Work:
    """Bytes s (T C + 1) + T y: the training nodes' logits, numbers and labels; the loss.

    Flops 4 T C: maximum, difference, exponential and sum; binary cross-entropy takes no fewer.
    """
    return Work(m.s * (m.T * m.C + 1) + m.T * m.y, 4 * m.T * m.C)


def _epoch_backward(m: _Symbols) -> Work:
    """Bytes G(E) + s (sum N A + sum' A B + T C + P) + T y, sum' without the first layer.

    Read: what the forward pass kept of each layer's input, weights, softmax, training nodes and labels.
    Written: the parameters' gradients. Flops T C + sum (2 N A B + N B) + sum' (2 N A B + K(min(A, B)) + N A):
    weight and bias; input and ReLU. The first layer propagates nothing back if it does so before its product.
    """
    inner = m.layers[1:]
    read = sum(m.N * A for A, _ in m.layers) + sum(A * B for A, B in inner) + m.T * m.C
    parameters = sum(2 * m.N * A * B + m.N * B for A, B in m.layers)
    inputs = sum(2 * m.N * A * B + m.K(min(A, B)) + m.N * A for A, B in inner)
    return Work(m.G(m.E) + m.s * (read + m.P) + m.T * m.y, m.T * m.C + parameters + inputs)


def _epoch_step(m: _Symbols) -> Work:
    """Bytes 7 s P: Adam reads parameter, gradient and two moments, and writes all but the gradient.

    Flops 12 P (Kingma and Ba, ICLR 2015, section 2): 3 and 4 for the moments, 5 for the parameter.
    """
    return Work(7 * m.s * m.P, 12 * m.P)


def _epoch(m: _Symbols) -> Work:
    """Bytes G(E) + s (N D + 7 P + 1) + T y: the gradients are written, not read. Flops of the phases."""
    phases = (_epoch_forward(m), _epoch_loss(m), _epoch_backward(m), _epoch_step(m))
    moved = m.G(m.E) + m.s * (m.N * m.D + 7 * m.P + 1) + m.T * m.y
    return Work(moved, sum(phase.flops for phase in phases))


_MODELS: Mapping[str, Callable[[_Symbols], Work]] = {
    "add_self_loops": _add_self_loops,
    "gcn_norm": _gcn_norm,
    "edge_weight_norm": _edge_weight_norm,
    "degree_norm": _degree_norm,
    "spmm_sum": _sum,
    "spmm_mean": _mean,
    "spmm_max": _max,
    "spmm_sum_edge_index": _sum,
    "gather_scatter_sum": _edge_list_sum,
    "update_all_copy_u_sum": _sum,
    "update_all_copy_u_mean": _mean,
    "update_all_copy_u_max": _max,
    "update_all_u_mul_e_sum": _weighted_sum,
    "linear": _linear,
    "conv": _conv,
    "conv_cached": _conv_cached,
    "aggregate": _aggregate,
    "aggregate_one_hop": _aggregate_hops(1),
    "aggregate_three_hops": _aggregate_hops(3),
    "aggregate_four_hops": _aggregate_hops(4),
    "mh_aggregate": _mh_aggregate,
    "mh_aggregate_compiled": _mh_aggregate,
    "mh_augment_profiled": _mh_augment,
    "mh_augment_optimised": _mh_augment,
    **{f"mh_proposal_{variant}": _mh_proposal for variant in VARIANTS},
    **{f"mh_train_{variant}": _mh_train for variant in VARIANTS},
    "epoch": _epoch,
    "epoch_forward": _epoch_forward,
    "epoch_loss": _epoch_loss,
    "epoch_backward": _epoch_backward,
    "epoch_step": _epoch_step,
}
