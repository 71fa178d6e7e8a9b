"""Writes a first benchmark of a model, for its owners to complete and change."""

import re

from .models import Model

LEFT = "..."
"""Stands for a value that nobody but the owner knows."""
_INPUTS = {
    "x": "torch.randn(NODES, FEATURES, generator=random)",
    "edge_index": "torch.randint(NODES, (2, EDGES), generator=random)",
}
"""By the names that PyG gives to parameters of `forward`."""

_TEXT = '''\
"""{name} of {module} on a random graph with as many nodes and edges as Cora.

gnnbench init wrote this file: check the sizes, and change what you like.
"""

import pytest
import torch

from {module} import {name}

NODES = 2_708
EDGES = 10_556
FEATURES = 64
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

    Values of what the constructor requires, and of inputs other than features and edges, are left to the
    owner.
    """
    text = f"{_TEXT}{_TRAINING if model.returns_one else ''}"
    return text.format(
        name=model.name,
        module=model.module,
        arguments=", ".join(f"{name}={LEFT}" for name in model.required),
        inputs="\n".join(f"    {name} = {_INPUTS.get(name, LEFT)}" for name in model.inputs),
        names=", ".join(model.inputs) + ("," if len(model.inputs) == 1 else ""),
        test=_snake(model.name),
    )


def left(model: Model) -> list[str]:
    """Return the names of the values that are left to the owner."""
    return [*model.required, *(name for name in model.inputs if name not in _INPUTS)]


def _snake(name: str) -> str:
    """Return `gat_conv` for `GATConv`."""
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return parts.lower()
