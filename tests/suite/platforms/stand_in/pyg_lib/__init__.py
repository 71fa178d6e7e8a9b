"""Stands for pyg-lib 0.6: a function that PyG calls of it is written down with the test that runs.

All but `index_sort` fail then.

PYG_LIB_CALLS names the file of calls.
"""

import os
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace

import torch


def _note(name):
    with Path(os.environ["PYG_LIB_CALLS"]).open("a") as lines:
        lines.write(f"{name} {os.environ['PYTEST_CURRENT_TEST'].partition('[')[2].partition(']')[0]}\n")


def _fail(name, *_given, **_options):
    _note(name)
    raise NotImplementedError


@torch.jit.ignore  # torch_sparse compiles its call by TorchScript
def index_sort(inputs: torch.Tensor, max_value: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:  # noqa: ARG001
    _note("index_sort")
    return inputs.sort()


def neighbor_sample(edge_time=None, edge_weight=None):
    """PyG looks which of these it takes, and calls the operator."""


ops = ModuleType("pyg_lib.ops")
vars(ops).update(softmax_csr=partial(_fail, "softmax_csr"), index_sort=index_sort)
sampler = SimpleNamespace(neighbor_sample=neighbor_sample)
torch.ops.pyg = SimpleNamespace(
    **{name: partial(_fail, name) for name in ("neighbor_sample", "hetero_neighbor_sample")}
)
