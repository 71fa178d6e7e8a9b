"""PyG under torch.compile: layers on graphs of eight sizes; inference and training of whole models.

The models are those of PyTorch's `basic_gnn_*` benchmarks: three layers on features of the hidden width, and
an output for each class. They run eagerly and compiled.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple

from ..annotations import Case, Edges, Graph, Module, Tensor
from ..libraries import definitions, network, on_pyg, pyg_nn, torch
from ..limits import CPU_THREADS, HALF, MAX_GRADIENT, OVERFLOW, SCATTER_ADD, Limit
from ..operation import FORWARD, FORWARD_BACKWARD, TRAIN, Call, Kernel, Operation, operation
from ..spec import AUTOCAST
from . import epoch, gat_conv, layers

SIZES = 8
_MOST_NODES = 16384
"""Most nodes of the largest part; the number of compilations does not depend on its size."""


def counts(num_nodes: int) -> list[int]:
    """Return the parts' numbers of nodes: 1/8 to 8/8 of the graph's, or of _MOST_NODES if it has more."""
    largest = min(num_nodes, _MOST_NODES)
    return [max(1, largest * part // SIZES) for part in range(1, SIZES + 1)]


def _parts(graph: Graph) -> list[Graph]:
    """Return the parts of a graph: for each of `counts`, its first nodes and the entries between them."""
    return [
        graph.part(torch.arange(count), (graph.edge_index < count).all(dim=0).nonzero().squeeze(1))
        for count in counts(graph.num_nodes)
    ]


def compiled() -> Callable[..., Tensor]:
    """Return a function that applies a layer of PyG, and is compiled at its first call.

    Each benchmark compiles its own function. With fullgraph, a graph break or a ninth compilation of the
    function is an error; otherwise torch.compile would run the function uncompiled.
    """
    import torch._functorch.config

    torch.compiler.reset()
    # A backward pass that comes from this cache has one more Python call, so counts would depend on it.
    torch._functorch.config.enable_autograd_cache = False  # noqa: SLF001
    function: Callable[..., Tensor] = torch.compile(on_pyg.apply, fullgraph=True)
    return function


def _pyg() -> Kernel:
    run_layer = compiled()

    def build(case: Case) -> tuple[Edges, ...]:
        return tuple(
            on_pyg.Edges(part.edge_index.to(case.device, case.index_dtype), part.num_nodes)
            for part in _parts(case.graph)
        )

    def run(parts: tuple[Edges, ...], layer: Module, x: Tensor) -> Tensor:
        return torch.cat([run_layer(part.edge_index, layer, x[: part.num_nodes]) for part in parts])

    return Kernel(build, run)


def reference(graph: Graph, *tensors: Tensor, layer: Callable[..., Tensor]) -> Tensor:
    """Return `layer(part, *parameters, x)` for all parts, concatenated: [sum of nodes, out]."""
    *parameters, x = tensors
    return torch.cat([layer(part, *parameters, x[: part.num_nodes]) for part in _parts(graph)])


DEPTH = 3


class _Model(NamedTuple):
    """A model class of PyG, and the definition of its layer."""

    name: str
    layer: Callable[..., Tensor]
    """Takes the graph, the layer's matrices, its vectors, and x."""
    matrices: int
    """Number of matrices of a layer."""
    vectors: int
    reach: int
    limits: tuple[Limit, ...] = ()
    compiled_limits: tuple[Limit, ...] = ()
    """Limits of compiled code with one thread."""


def gin_layer(graph: Graph, inner: Tensor, outer: Tensor, *rest: Tensor) -> Tensor:
    """Return GIN's layer with an epsilon of 0; `rest` has both biases and x."""
    return layers.gin_conv(graph, inner, outer, torch.zeros(1, dtype=torch.float64), *rest)


def edge_layer(
    graph: Graph, inner: Tensor, outer: Tensor, inner_bias: Tensor, outer_bias: Tensor, x: Tensor
) -> Tensor:
    """Return the maxima of network((x, neighbour - x)) over neighbours (Wang et al., TOG 2019): [N, out]."""
    source, target = graph.edge_index
    ends = torch.cat((x[target], x[source] - x[target]), dim=1)
    messages = (ends @ inner + inner_bias).relu() @ outer + outer_bias
    return definitions.reduce_by_node(target, messages, len(x), "amax")


def _adding(degree: int, *dtypes: str) -> tuple[Limit, ...]:
    reason = "with one thread compiled code rounds each sum: too inexact at nodes of high degree"
    return tuple(Limit(reason, frozenset({dtype}), raises=False, degree=degree) for dtype in dtypes)


_OVERFLOW = OVERFLOW._replace(degree=256)
_MAXIMA = tuple(MAX_GRADIENT._replace(where=frozenset({dtype, TRAIN})) for dtype in (HALF, AUTOCAST))
_MODELS = {
    "gcn": _Model("GCN", layers.conv, 1, 1, DEPTH + 1, (), _adding(256, HALF)),
    "gin": _Model("GIN", gin_layer, 2, 2, DEPTH, (SCATTER_ADD, _OVERFLOW), _adding(128, HALF, AUTOCAST)),
    "sage": _Model("GraphSAGE", layers.sage_conv, 2, 1, DEPTH, (SCATTER_ADD,), _adding(256, HALF, AUTOCAST)),
    "edge_cnn": _Model("EdgeCNN", edge_layer, 2, 2, DEPTH, (SCATTER_ADD, *_MAXIMA)),
}


def model(case: Case) -> Module:
    """Make the model of a case's operation."""
    kind = next(kind for name, kind in _MODELS.items() if case.spec.operation.startswith(name))
    width = case.spec.hidden
    return network.with_random_parameters(
        case, getattr(pyg_nn, kind.name)(width, width, DEPTH, case.graph.num_classes)
    )


def logits(graph: Graph, *tensors: Tensor, kind: _Model) -> Tensor:
    """Return a model's output [N, C]; `tensors` are its matrices, its vectors and x."""
    *parameters, x = tensors
    matrices = iter(parameters[: DEPTH * kind.matrices])
    vectors = iter(parameters[DEPTH * kind.matrices :])
    for index in range(DEPTH):
        values = *islice(matrices, kind.matrices), *islice(vectors, kind.vectors)
        x = kind.layer(graph, *values, x.relu() if index else x)
    return x


def loss(graph: Graph, *tensors: Tensor, kind: _Model) -> Tensor:
    """Return the model's loss on the training nodes."""
    return epoch.loss(graph, logits(graph, *tensors, kind=kind))


def _operations(prefix: str, kind: _Model) -> Iterator[Operation]:
    for what, direction, reference in (("inference", FORWARD, logits), ("training", TRAIN, loss)):
        for end, threads in (("", None), ("_1_thread", 1)):
            limits = (*kind.limits, *([CPU_THREADS] if threads else []))
            # On a small graph, compiled code adds up without scatter_add_.
            rounding = tuple(limit._replace(raises=False) for limit in limits)
            if threads:
                rounding += kind.compiled_limits
            yield operation(
                f"{prefix}_{what}{end}",
                pyg=Call(kind.name, "apply", limits, "edges"),
                compiled=Call(
                    f"torch.compile({kind.name})",
                    limits=rounding,
                    make=lambda: Kernel(on_pyg.edges, compiled()),
                ),
                sparse="torch.compile does not trace torch_sparse's operators: see pyg for its models",
                directions=(direction,),
                reference=partial(reference, kind=kind),
                reach=kind.reach if direction == FORWARD else None,
                threads=threads,
                reads_all=False,
                group="compiled",
            )


_of_sizes = partial(
    operation,
    sparse="torch.compile does not trace torch_sparse's operators",
    torch="torch.compile does not accept sparse tensors",
    dgl="torch.compile does not trace DGL's kernels",
    directions=(FORWARD_BACKWARD,),
    reads_all=False,
    group="compiled",
)

OPERATIONS = (
    _of_sizes(
        "conv_compiled_sizes",
        pyg=Call("torch.compile(GCNConv)", make=_pyg),
        example=True,
        reference=partial(reference, layer=layers.conv),
    ),
    _of_sizes(
        "gat_conv_compiled_sizes",
        pyg=Call("torch.compile(GATConv)", make=_pyg),
        reference=partial(reference, layer=gat_conv.gat),
    ),
    *(row for prefix, kind in _MODELS.items() for row in _operations(prefix, kind)),
)
