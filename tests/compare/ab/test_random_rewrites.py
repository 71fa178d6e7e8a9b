"""Honest rewrites of random programs are never accused, and wrong ones are named."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.compare.ab.rewrites import rewritten

EXAMPLES = int(os.environ.get("GNNBENCH_REWRITES", "8"))
Tensor = torch.Tensor


class Step(NamedTuple):
    """One step of a program, from [n, m] to [n, m], in two ways."""

    base: Callable[[Tensor, Tensor], Tensor]
    head: Callable[[Tensor, Tensor], Tensor]


def _scattered(x: Tensor, index: Tensor) -> Tensor:
    order = index.argsort(stable=True)
    return torch.zeros_like(x).index_add(0, index[order], x[order])


def _normalised(x: Tensor) -> Tensor:
    middle = x.sum(1, keepdim=True) / x.shape[1]
    square = ((x - middle) * (x - middle)).mean(1, keepdim=True)
    return (x - middle) * torch.rsqrt(square + 1e-5)


STEPS = {
    "scale": Step(lambda x, _: x * 3 + 1, lambda x, _: torch.add(1, x, alpha=3)),
    "gather": Step(lambda x, i: x[i], lambda x, i: torch.index_select(x, 0, i)),
    "scatter": Step(lambda x, i: torch.zeros_like(x).index_add(0, i, x), _scattered),
    "softmax": Step(
        lambda x, _: torch.softmax(x, 1),
        lambda x, _: (
            (x - x.amax(1, keepdim=True)).exp() / (x - x.amax(1, keepdim=True)).exp().sum(1, keepdim=True)
        ),
    ),
    "normalise": Step(lambda x, _: torch.layer_norm(x, x.shape[1:]), lambda x, _: _normalised(x)),
    "mix": Step(
        lambda x, _: x + x @ torch.ones(x.shape[1], x.shape[1], dtype=x.dtype),
        lambda x, _: x + x.flip(1).sum(1, keepdim=True),
    ),
    "product": Step(
        lambda x, _: x @ (x.T @ x) / len(x) ** 2,
        lambda x, _: torch.einsum("ij,kj,kl->il", x, x, x) / len(x) ** 2,
    ),
    "running sum": Step(
        lambda x, _: x.cumsum(0), lambda x, _: torch.tril(torch.ones(len(x), len(x), dtype=x.dtype)) @ x
    ),
    "clip": Step(lambda x, _: x.relu(), lambda x, _: x.clamp(min=0)),
    "degree": Step(
        lambda x, i: x / (1 + torch.bincount(i, minlength=len(x)).to(x.dtype))[:, None],
        lambda x, i: x * (1 / (1 + torch.bincount(i, minlength=len(x)).to(x.dtype)))[:, None],
    ),
}
"""By name."""


OUTLIERS = {
    "none": lambda x: x,
    "mask": lambda x: x.masked_fill(torch.ones_like(x, dtype=torch.bool).triu(1), -1e9),
    "ids": lambda x: torch.cat([x, 1e6 + torch.arange(len(x), dtype=x.dtype)[:, None]], 1),
    "sum": lambda x: x.sum(0),
}
"""What stands in a result beside the numbers that are computed."""


def _program(names: list[str], outlier: str, way: int) -> Callable[[Tensor, Tensor], Any]:
    def program(x: Tensor, index: Tensor) -> Any:
        for name in names:
            x = STEPS[name][way](x, index)
        return OUTLIERS[outlier](x)

    return program


@settings(max_examples=EXAMPLES, deadline=None, derandomize="GNNBENCH_REWRITES" not in os.environ)
@given(
    names=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4),
    outlier=st.sampled_from(sorted(OUTLIERS)),
    shape=st.tuples(st.integers(2, 60), st.integers(2, 40)),
    scale=st.sampled_from([1e-3, 1.0, 30.0]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    seed=st.integers(0, 9),
)
@example(names=["softmax"], outlier="ids", shape=(2, 2), scale=30.0, dtype=torch.float32, seed=1)
@example(names=["softmax"], outlier="ids", shape=(2, 3), scale=30.0, dtype=torch.float32, seed=0)
@example(names=["softmax"], outlier="ids", shape=(2, 14), scale=30.0, dtype=torch.float64, seed=9)
@example(
    names=["mix", "mix", "normalise"], outlier="ids", shape=(2, 14), scale=1e-3, dtype=torch.float32, seed=0
)
def test_a_random_rewrite_is_not_accused(names, outlier, shape, scale, dtype, seed):
    def x():
        rng = np.random.default_rng(seed)
        return torch.from_numpy(rng.normal(size=shape) * scale).to(dtype).requires_grad_()

    def index():
        return torch.from_numpy(np.random.default_rng(seed + 1).integers(shape[0], size=shape[0]))

    programs = [_program(names, outlier, way) for way in range(2)]
    with tempfile.TemporaryDirectory() as folder:
        found = rewritten(Path(folder), *programs, x, index)
    assert not found.fails, found


@settings(max_examples=EXAMPLES, deadline=None, derandomize="GNNBENCH_REWRITES" not in os.environ)
@given(
    names=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=3),
    outlier=st.sampled_from(["none", "mask", "ids"]),
    shape=st.tuples(st.integers(8, 60), st.integers(8, 40)),
    seed=st.integers(0, 9),
)
def test_one_wrong_row_is_seen(names, outlier, shape, seed):
    def x():
        return torch.from_numpy(np.random.default_rng(seed).normal(size=shape)).float()

    def index():
        return torch.from_numpy(np.random.default_rng(seed + 1).integers(shape[0], size=shape[0]))

    def wrong(x, index):
        inner = _program(names, "none", 0)(x, index).clone()
        inner[-2] = inner[-2] * 1.01 + 0.1
        return OUTLIERS[outlier](inner)

    with tempfile.TemporaryDirectory() as folder:
        found = rewritten(Path(folder), _program(names, outlier, 0), wrong, x, index)
    assert found.fails, found
