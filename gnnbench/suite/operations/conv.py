"""One graph convolution, with normalisation in each call or beforehand (`conv_cached`)."""

from functools import partial

from ..annotations import Graph, Tensor
from ..libraries import definitions
from ..limits import DGL_HALF, MIXED
from ..operation import Call, Formula, operation


def propagation(graph: Graph) -> tuple[Tensor, Tensor]:
    """Return the entries of D^-1/2 (A + I) D^-1/2: int64 [2, E + N] and float64 [E + N]."""
    entries, ones = definitions.looped(graph)
    return entries, definitions.normalized(entries, ones, graph.num_nodes)


def reference(graph: Graph, weight: Tensor, bias: Tensor, x: Tensor) -> Tensor:
    """Return D^-1/2 (A + I) D^-1/2 (x @ weight) + bias: [N, out]."""
    return definitions.aggregate(*propagation(graph), x @ weight) + bias


_FLOPS = "(2 p - 1) 2 N F F + p (K(F) + N F)"
"""Product, of which both factors need a gradient; propagation and bias."""
least_work = Formula("G(E) + p s (2 N F + F F + F)", _FLOPS)
"""x, output, weight and bias, then their gradients."""


_operation = partial(operation, reference=reference, reach=2, group="layers")
_call = partial(Call, run="apply", build="layer_graph")
"""Makes a call of a layer, which the benchmark makes."""

OPERATIONS = (
    _operation(
        "conv",
        pyg=_call("GCNConv"),
        sparse=_call("GCNConv on SparseTensor"),
        dgl=_call("GraphConv", limits=(DGL_HALF,)),
        torch="the plain PyTorch layer takes a normalised matrix: see conv_cached",
        core=True,
        least_work=least_work,
    ),
    _operation(
        "conv_cached",
        pyg=_call("GCNConv(cached=True)"),
        sparse=_call("GCNConv(cached=True)"),
        torch=_call("normalised CSR @ (x @ W)", limits=(MIXED,)),
        dgl=Call("GraphConv(norm='none'), weights", "apply_weighted", (DGL_HALF,), "normalized_graph"),
        least_work=Formula("G(L) + s L + p s (2 N F + F F + F)", _FLOPS),  # the normalised matrix is an input
    ),
)
