"""Stands for pyg-lib 0.6: a function that PyG calls of it is written down with the test that runs, and fails.

PYG_LIB_CALLS names the file of calls.
"""

import os
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace

import torch


def _note(name, *_given, **_options):
    with Path(os.environ["PYG_LIB_CALLS"]).open("a") as lines:
        lines.write(f"{name} {os.environ['PYTEST_CURRENT_TEST'].partition('[')[2].partition(']')[0]}\n")
    raise NotImplementedError


@torch.jit.ignore  # torch_sparse compiles its call by TorchScript
def index_sort(inputs: torch.Tensor, max_value: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    return _note("index_sort", inputs, max_value)


ops = ModuleType("pyg_lib.ops")
vars(ops).update(softmax_csr=partial(_note, "softmax_csr"), index_sort=index_sort)
sampler = SimpleNamespace()
torch.ops.pyg = SimpleNamespace(
    **{name: partial(_note, name) for name in ("neighbor_sample", "hetero_neighbor_sample")}
)
