import kernels
import numpy as np
import pytest
import torch

X = torch.randn(300, 64)
VALUES = np.random.rand(1000)  # noqa: NPY002 - it is seeded by the worker
UNSEEDED = np.random.default_rng().random(1000)


@pytest.fixture(scope="module")
def weight():
    return torch.randn(64, 32, requires_grad=True)


def test_kept_by_content(benchmark, weight):
    benchmark(lambda: kernels.kept_by_content(X, weight))


def test_lazy(benchmark):
    benchmark(kernels.lazy, X)


def test_half_precision(benchmark, weight):
    benchmark(kernels.half_precision, X, weight)


def test_right_for_these_values(benchmark):
    benchmark(kernels.right_for_these_values, VALUES)


def test_in_place(benchmark):
    benchmark(kernels.in_place, X.clone())


def test_draws(benchmark):
    benchmark(kernels.draws, X)


def test_unseeded(benchmark):
    benchmark(kernels.unseeded, UNSEEDED)


def test_returns_nothing(benchmark):
    benchmark(kernels.returns_nothing, X)


def test_set_up(benchmark):
    benchmark.pedantic(kernels.other_order, setup=lambda: ((X.clone(),), {}), rounds=3)


def test_one_round(benchmark):
    benchmark.pedantic(kernels.other_order, args=(X,), rounds=1)


@pytest.mark.whole_call("it may start threads")
def test_whole_call(benchmark):
    benchmark(kernels.other_order, X)


@pytest.mark.fixed_inputs("they are sorted")
def test_fixed_inputs(benchmark):
    benchmark(kernels.right_for_these_values, VALUES)
