"""What happens once: the import of a library, the first call of a layer, its compilation.

An interpreter that has just started has no caches, so imports and first calls run in fresh ones.
"""

import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from ..annotations import Case, Graph, Module, Tensor
from ..libraries import on_pyg, torch
from ..limits import HALF, Limit
from ..operation import Call, Operation
from ..platforms import PLATFORMS, Kernel, load
from ..spec import FORWARD
from . import conv

_LIMITS = tuple(
    Limit(f"what happens once hardly depends on types and device: timed with {usual}", where, raises=False)
    for usual, where in (
        ("float32", frozenset({"float64"})),
        ("float32", frozenset({HALF})),
        ("int64", frozenset({"int32"})),
        ("the CPU", frozenset({"cuda"})),
    )
)

_IMPORT = "import {module}; print({module}.__file__)\n"

_LAYER = """
import sys
import torch
given = torch.load(sys.argv[1])
source, target = given["edge_index"]
num_nodes, width = given["x"].shape
"""
_APPLY = {
    "pyg": """
from torch_geometric.nn import GCNConv
layer = GCNConv(width, width)
weight, arguments = layer.lin.weight.t(), (given["x"], given["edge_index"])
""",
    "sparse": """
from torch_geometric.nn import GCNConv
from torch_sparse import SparseTensor
layer = GCNConv(width, width)
graph = SparseTensor(row=target, col=source, sparse_sizes=(num_nodes, num_nodes), is_sorted=True)
weight, arguments = layer.lin.weight.t(), (given["x"], graph)
""",
    "dgl": """
import dgl
layer = dgl.nn.GraphConv(width, width)
graph = dgl.add_self_loop(dgl.graph((source, target), num_nodes=num_nodes))
weight, arguments = layer.weight, (graph, given["x"])
""",
}
_CALL = """
with torch.no_grad():
    layer.bias.copy_(given["bias"])
    weight.copy_(given["weight"])
    torch.save(layer(*arguments), sys.argv[2])
"""


def _in_a_fresh_interpreter(code: str, *arguments: str) -> str:
    """Run code as a user's script would; DGL is imported in the way of this process."""
    from .. import interpreter
    from ..libraries import STAND_IN, uses_stand_in

    empty = (STAND_IN,) if "import dgl" in code and uses_stand_in() else ()
    return interpreter.run(code, *arguments, absent=("outdated",), empty=empty)


def _import(platform: str) -> Kernel:
    load(platform)
    module = PLATFORMS[platform].packages[-1]

    def build(case: Case) -> Tensor:
        return torch.ones(1, dtype=torch.int64, device=case.device)

    def result(file: str, found: Tensor) -> Tensor:
        return found * (file == f"{sys.modules[module].__file__}\n")

    return Kernel(build, lambda _: _in_a_fresh_interpreter(_IMPORT.format(module=module)), result)


def imported(_graph: Graph) -> Tensor:
    """Return 1: the other interpreter has imported the file that this one has."""
    return torch.ones(1, dtype=torch.int64)


def _first_call(platform: str) -> Kernel:
    load(platform)
    code = _LAYER + _APPLY[platform] + _CALL

    def run(edge_index: Tensor, weight: Tensor, bias: Tensor, x: Tensor) -> Tensor:
        with tempfile.TemporaryDirectory(prefix="gnnbench-cold-") as folder:
            given, output = (str(Path(folder, name)) for name in ("given.pt", "output.pt"))
            torch.save({"edge_index": edge_index, "weight": weight, "bias": bias, "x": x}, given)
            _in_a_fresh_interpreter(code, given, output)
            found: Tensor = torch.load(output)
        return found

    return Kernel(lambda case: case.edge_index(), run)


def _new_layer(platform: str) -> Kernel:
    module = load(platform)
    kernel = module.convolution(cached=False)

    def run(structure: Any, weight: Tensor, bias: Tensor, x: Tensor) -> Tensor:
        found: Tensor = kernel.run(structure, module.layer(weight, bias, cached=False), x)
        return found

    return Kernel(kernel.build, run)


def _compile() -> Kernel:
    from torch._inductor import utils

    # Named so from torch 2.8 on.
    fresh_cache = getattr(utils, "fresh_cache", None) or utils.fresh_inductor_cache

    def run(edge_index: Tensor, layer: Module, x: Tensor) -> Tensor:
        torch.compiler.reset()
        with fresh_cache(), torch.no_grad():
            found: Tensor = torch.compile(on_pyg.apply)(edge_index, layer, x)
        return found

    return Kernel(lambda case: case.edge_index(), run)


def _call(text: str, platform: str, kernel: Any) -> Call:
    return Call(text, make=partial(kernel, platform), limits=_LIMITS)


_NO_LAYER = {"torch": "PyTorch has no graph convolution: see conv_cached"}

_operation = partial(Operation, default=False, directions=(FORWARD,), group="first calls")

OPERATIONS = (
    _operation(
        "cold_import",
        {
            name: _call(f"import {platform.packages[-1]}", name, _import)
            for name, platform in PLATFORMS.items()
            if name not in ("compiled", "pyg_lib")
        },
        reference=imported,
    ),
    _operation(
        "cold_layer",
        {
            "pyg": _call("import, GCNConv, its first call", "pyg", _first_call),
            "sparse": _call("import, GCNConv, its first call", "sparse", _first_call),
            "dgl": _call("import, GraphConv, its first call", "dgl", _first_call),
        },
        _NO_LAYER,
        reference=conv.reference,
    ),
    _operation(
        "cold_compile",
        {"pyg": Call("torch.compile(GCNConv), first call", make=_compile, limits=_LIMITS)},
        {
            "sparse": "torch.compile does not trace torch_sparse's operators",
            "torch": "PyTorch has no graph convolution: see conv_cached",
            "dgl": "torch.compile does not trace DGL's kernels",
        },
        reference=conv.reference,
    ),
    _operation(
        "conv_new_layer",
        {
            name: call._replace(text=f"{call.text}(...), its first call", make=partial(_new_layer, name))
            for name, call in conv.OPERATIONS[0].calls.items()
        },
        _NO_LAYER,
        reference=conv.reference,
        reach=2,
        least_work=conv.least_work,
    ),
)
