"""Writes a first benchmark of a model, for its owners to change."""

import re
from collections.abc import Mapping

from .models import Model

_SIZES: Mapping[str, str] = {
    "NODES": "2_708",
    "EDGES": "10_556",
    "FEATURES": "64",
    "HIDDEN": "32",
    "CLASSES": "7",
    "LAYERS": "2",
    "HEADS": "4",
    "RELATIONS": "4",
    "EDGE_FEATURES": "16",
}
"""Nodes, edges and classes are as many as Cora has."""
_RANDOM_EDGES = "torch.randint(NODES, (2, EDGES), generator=random)"
_INPUTS: Mapping[str, str] = {
    "x": "torch.randn(NODES, FEATURES, generator=random)",
    "edge_index": _RANDOM_EDGES,
    "edge_weight": "torch.rand(EDGES, generator=random)",
    "edge_type": "torch.randint(RELATIONS, (EDGES,), generator=random)",
    "edge_attr": "torch.randn(EDGES, EDGE_FEATURES, generator=random)",
    "adjacency": f"torch.sparse_coo_tensor({_RANDOM_EDGES}, torch.ones(EDGES), (NODES, NODES)).coalesce()",
    "batch": "torch.zeros(NODES, dtype=torch.long)",
    "data": f"Data(torch.randn(NODES, FEATURES, generator=random), {_RANDOM_EDGES})",
    "graph": f"dgl.graph(tuple({_RANDOM_EDGES}), num_nodes=NODES)",
}
_IMPORTS = {"data": "from torch_geometric.data import Data", "graph": "import dgl"}

_TEXT = '''\
"""{name} of {module} on a random graph with as many nodes and edges as Cora.

gnnbench init wrote this file from the names of the parameters: check the sizes, and change what you like.
"""

{imports}

{sizes}
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture
def model():
    torch.manual_seed(0)
    return {name}({arguments}).to(DEVICE)


@pytest.fixture
def inputs():
    random = torch.Generator().manual_seed(0)
{inputs}
    return tuple(one.to(DEVICE) for one in ({names}))


def test_{test}_forward(benchmark, model, inputs):
    model.eval()
    with torch.no_grad():
        benchmark(model, *inputs)
'''
_TRAINING = """

def test_{test}_training_step(benchmark, model, inputs):
    def training_step(*inputs):
        model.zero_grad()
        model(*inputs).square().mean().backward()

    benchmark(training_step, *inputs)
"""
CONFTEST = '''\
"""Lets the benchmarks import this working tree, whether it is installed or not. Written by gnnbench init."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]{below}))
'''


def file_name(model: Model) -> str:
    """Return the name of the file."""
    return f"test_{_snake(model.name)}.py"


def write(model: Model) -> str:
    """Return the text of a benchmark of a model's forward pass, and of a training step.

    Args:
        model: a model without unknown parameters.
    """
    made = {name: _INPUTS[name] for name in model.inputs}
    used = " ".join([*model.arguments.values(), *made.values()])
    sizes = [name for name in _SIZES if re.search(rf"\b{name}\b", used)]
    # isort's order: the libraries, then this repository.
    libraries = ["import pytest", "import torch", *(_IMPORTS[name] for name in made if name in _IMPORTS)]
    libraries.sort(key=lambda line: (line.startswith("from"), line))
    arguments = ", ".join(f"{name}={value}" for name, value in model.arguments.items())
    text = f"{_TEXT}{_TRAINING if model.returns_one else ''}"
    return text.format(
        name=model.name,
        module=model.module,
        imports="\n".join([*libraries, "", f"from {model.module} import {model.name}"]),
        sizes="\n".join(f"{name} = {_SIZES[name]}" for name in sizes),
        arguments=arguments,
        inputs="\n".join(f"    {name} = {value}" for name, value in made.items()),
        names=", ".join(made) + ("," if len(made) == 1 else ""),
        test=_snake(model.name),
    )


def _snake(name: str) -> str:
    """Return `gat_conv` for `GATConv`."""
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return parts.lower()
