"""One graph convolution, with normalisation in each call or beforehand (`conv_cached`)."""

from functools import partial

from ..annotations import Graph, Tensor
from ..libraries import definitions
from ..limits import DGL_HALF, MIXED, Limit
from ..operation import Call, Formula, operation
from ..platforms import load


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


def _call(text: str, platform: str, *limits: Limit, cached: bool = False) -> Call:
    return Call(text, limits=limits, make=lambda: load(platform).convolution(cached=cached))


_operation = partial(operation, reference=reference, reach=2, group="layers")

OPERATIONS = (
    _operation(
        "conv",
        pyg=_call("GCNConv", "pyg"),
        sparse=_call("GCNConv on SparseTensor", "sparse"),
        dgl=_call("GraphConv", "dgl", DGL_HALF),
        torch="the plain PyTorch layer takes a normalised matrix: see conv_cached",
        core=True,
        least_work=least_work,
    ),
    _operation(
        "conv_cached",
        pyg=_call("GCNConv(cached=True)", "pyg", cached=True),
        sparse=_call("GCNConv(cached=True)", "sparse", cached=True),
        torch=_call("normalised CSR @ (x @ W)", "torch", MIXED, cached=True),
        dgl=_call("GraphConv(norm='none'), weights", "dgl", DGL_HALF, cached=True),
        least_work=Formula("G(L) + s L + p s (2 N F + F F + F)", _FLOPS),  # the normalised matrix is an input
    ),
)
