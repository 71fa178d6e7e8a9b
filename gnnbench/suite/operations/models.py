"""PyG's models, run and trained, plain and under torch.compile, as in PyTorch's `basic_gnn_*` benchmarks.

Each has three layers of hidden width on features of that width, and an output for each class.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple

from ..annotations import Case, Graph, Module, Tensor
from ..libraries import definitions, on_compiled, on_pyg, pyg_nn, torch
from ..limits import CPU_THREADS, HALF, MAX_GRADIENT, OVERFLOW, SCATTER_ADD, Limit
from ..operation import FORWARD, TRAIN, Call, Kernel, Operation, operation
from ..spec import AUTOCAST
from . import conv, epoch, layers

DEPTH = 3


class _Model(NamedTuple):
    """A class of PyG, and the definition of its layer, of the graph, so many matrices and vectors, and x."""

    name: str
    layer: Callable[..., Tensor]
    matrices: int
    vectors: int
    reach: int
    limits: tuple[Limit, ...] = ()
    compiled_limits: tuple[Limit, ...] = ()
    """With one thread."""


def gin_layer(graph: Graph, inner: Tensor, outer: Tensor, *rest: Tensor) -> Tensor:
    """Return GIN's layer with an epsilon of 0; `rest` is both biases and x."""
    return layers.gin_conv(graph, inner, outer, torch.zeros(1, dtype=torch.float64), *rest)


def edge_layer(
    graph: Graph, inner: Tensor, outer: Tensor, inner_bias: Tensor, outer_bias: Tensor, x: Tensor
) -> Tensor:
    """Return the maxima of network((x, neighbour - x)) over neighbours (Wang et al., TOG 2019): [N, out]."""
    source, target = graph.edge_index
    ends = torch.cat((x[target], x[source] - x[target]), dim=1)
    messages = (ends @ inner + inner_bias).relu() @ outer + outer_bias
    return definitions.reduced(target, messages, len(x), "amax")


def _adding(degree: int, *dtypes: str) -> tuple[Limit, ...]:
    reason = "with one thread compiled code rounds each sum: too inexact at nodes of high degree"
    return tuple(Limit(reason, frozenset({dtype}), raises=False, degree=degree) for dtype in dtypes)


_OVERFLOW = OVERFLOW._replace(degree=256)
_MAXIMA = tuple(MAX_GRADIENT._replace(where=frozenset({dtype, TRAIN})) for dtype in (HALF, AUTOCAST))
_MODELS = {
    "gcn": _Model("GCN", conv.reference, 1, 1, DEPTH + 1, (), _adding(256, HALF)),
    "gin": _Model("GIN", gin_layer, 2, 2, DEPTH, (SCATTER_ADD, _OVERFLOW), _adding(128, HALF, AUTOCAST)),
    "sage": _Model("GraphSAGE", layers.sage_conv, 2, 1, DEPTH, (SCATTER_ADD,), _adding(256, HALF, AUTOCAST)),
    "edge_cnn": _Model("EdgeCNN", edge_layer, 2, 2, DEPTH, (SCATTER_ADD, *_MAXIMA)),
}


def model(case: Case) -> Module:
    """Make an operation's model."""
    kind = next(kind for name, kind in _MODELS.items() if case.spec.operation.startswith(name))
    width = case.spec.hidden
    return layers.drawn(case, getattr(pyg_nn, kind.name)(width, width, DEPTH, case.graph.num_classes))


def logits(graph: Graph, *tensors: Tensor, of: _Model) -> Tensor:
    """Return a model's output [N, C]; `tensors` are its matrices, its vectors and x."""
    *parameters, x = tensors
    matrices = iter(parameters[: DEPTH * of.matrices])
    vectors = iter(parameters[DEPTH * of.matrices :])
    for index in range(DEPTH):
        values = *islice(matrices, of.matrices), *islice(vectors, of.vectors)
        x = of.layer(graph, *values, x.relu() if index else x)
    return x


def loss(graph: Graph, *tensors: Tensor, of: _Model) -> Tensor:
    """Return the model's loss on the training nodes."""
    return epoch.loss(graph, logits(graph, *tensors, of=of))


def _operations(prefix: str, of: _Model) -> Iterator[Operation]:
    for what, direction, reference in (("inference", FORWARD, logits), ("training", TRAIN, loss)):
        for end, threads in (("", None), ("_1_thread", 1)):
            limits = (*of.limits, *([CPU_THREADS] if threads else []))
            # On a small graph the compiler adds up without scatter_add_.
            compiled = tuple(limit._replace(raises=False) for limit in limits)
            if threads:
                compiled += of.compiled_limits
            yield operation(
                f"{prefix}_{what}{end}",
                pyg=Call(of.name, "apply", limits, "edges"),
                compiled=Call(
                    f"torch.compile({of.name})",
                    limits=compiled,
                    make=lambda: Kernel(on_pyg.edges, on_compiled.compiled()),
                ),
                sparse="torch.compile does not trace torch_sparse's operators: see pyg for its models",
                directions=(direction,),
                reference=partial(reference, of=of),
                reach=of.reach if direction == FORWARD else None,
                threads=threads,
                group="compiled",
            )


OPERATIONS = tuple(row for prefix, of in _MODELS.items() for row in _operations(prefix, of))
