"""Rounding is close, and what is computed otherwise is not."""

import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnnbench.engine.judge.closeness import compare, digits
from gnnbench.engine.measure.conditions import cpu_threads


def moved(values, rng):
    away = np.where(rng.random(values.shape) < 0.5, np.inf, -np.inf).astype(values.dtype)
    return np.nextafter(values, away)


def softmax(x):
    e = np.exp(x - x.max(axis=0))
    return e / e.sum(axis=0)


def softmax_of_scaled(x):
    e = np.exp(x)
    return e * (1 / e.sum(axis=0))


def product(x):
    return x.T @ x


def in_one_thread(x):
    with cpu_threads(1):
        return (torch.from_numpy(x).t() @ torch.from_numpy(x)).numpy()


PAIRS = [
    (lambda x: x.sum(axis=0), lambda x: np.cumsum(x, axis=0)[-1]),  # pairwise, and one after the other
    (softmax, softmax_of_scaled),
    (product, lambda x: np.cumsum(x[:, :, None] * x[:, None, :], axis=0)[-1]),
    (product, in_one_thread),
    (lambda x: (x - x.mean()) / x.std(), lambda x: (x / x.std()) - x.mean() / x.std()),
    (lambda x: x * 3 + 1, lambda x: (x + 1) + (x + x)),
]


@settings(max_examples=200, deadline=None)
@given(
    pair=st.sampled_from(PAIRS),
    rows=st.integers(8, 3000),
    columns=st.integers(1, 8),
    dtype=st.sampled_from(["float32", "float64"]),
    kind=st.sampled_from(["normal", "uniform", "heavy"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_another_order_of_the_same_operations_is_close(pair, rows, columns, dtype, kind, seed):
    rng = np.random.default_rng(seed)
    draw = {"normal": rng.standard_normal, "uniform": rng.random, "heavy": lambda n: rng.standard_t(3, n)}
    x = draw[kind]((rows, columns)).clip(-50, 50).astype(dtype)  # beyond, np.exp overflows in float32
    base, head = (run(x) for run in pair)
    found = compare(base, head, dtype, others=[(pair[0](moved(x, rng)), 1)], inputs=x.size)
    assert found.is_close, found


@settings(max_examples=60, deadline=None)
@given(rows=st.integers(8, 500), columns=st.integers(4, 8), seed=st.integers(0, 2**32 - 1))
def test_half_precision_inside_is_not(rows, columns, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, columns)).astype("float32")
    half = x.astype("float16").astype("float32")
    found = compare(product(x), product(half), "float32", others=[(product(moved(x, rng)), 1)], inputs=x.size)
    assert not found.is_close, found


def test_a_part_that_is_skipped_is_not_close_and_its_place_is_known():
    base = np.arange(12.0).reshape(3, 4)
    head = base.copy()
    head[1, 2] = 0
    found = compare(base, head, "float64", others=[(base * (1 + 1e-15), 1)], inputs=12)
    assert (found.is_close, found.place, found.base, found.head) == (False, (1, 2), 6.0, 0.0)
    assert found.share == pytest.approx(1 / 12)


MASK, IDS = np.triu(np.full((30, 20), 1e9), 1), np.eye(1, 20) * (1e6 + np.arange(30.0)[:, None])


@pytest.mark.parametrize("large", [MASK, IDS], ids=["mask", "ids"])
def test_a_wrong_row_beside_much_larger_numbers_is_not_close_and_rounding_is(large):
    rng = np.random.default_rng(1)
    numbers = rng.standard_normal((30, 20))
    base = np.where(large, -large, numbers).astype("float32")
    head = moved(base, rng)
    assert compare(base, head, "float32", others=[(moved(base, rng), 1)], inputs=600).is_close
    head[-2] = np.where(large[-2], head[-2], head[-2] * 1.01 + 0.1)
    assert not compare(base, head, "float32", others=[(moved(base, rng), 1)], inputs=600).is_close


def test_small_numbers_of_a_long_vector_are_judged_by_their_size():
    rng = np.random.default_rng(1)
    x = (rng.standard_normal((64, 500)) * np.where(np.arange(500) < 200, 1e-5, 1)).astype("float32")
    base, head = x.sum(axis=0), np.cumsum(x, axis=0)[-1]
    others = [(moved(x, rng).sum(axis=0), 1)]
    assert compare(base, head, "float32", others=others, inputs=x.size).is_close
    head[9] *= 1.01
    assert not compare(base, head, "float32", others=others, inputs=x.size).is_close


@pytest.mark.parametrize(
    ("base", "head", "close"),
    [
        ([np.nan, 1], [np.nan, 1], True),
        ([np.inf, 1], [np.inf, 1], True),
        ([np.nan, 1], [1, 1], False),
        ([np.inf, 1], [-np.inf, 1], False),
        ([0.0, 0.0], [-0.0, 0.0], True),
        ([0.0, 0.0], [1e-30, 0.0], False),
    ],
)
def test_numbers_that_are_not_finite_have_their_places(base, head, close):
    found = compare(np.array(base), np.array(head), "float64", inputs=2)
    assert found.is_close is close


def test_types_that_numpy_lacks_have_their_digits():
    kinds = "bfloat16", "float16", "float32", "complex128", "int64"
    assert [digits(kind) for kind in kinds] == [8, 11, 24, 53, None]


@pytest.mark.parametrize(
    ("kind", "close", "wrong"),
    [("bfloat16", 1.03, 1.1), ("float8_e4m3fn", 1.1, 1.4), ("float8_e5m2", 1.2, 2)],
)
def test_types_with_few_digits_do_not_make_everything_close(kind, close, wrong):
    x = torch.linspace(1, 2, 300)
    base, *heads = ((x * scale).to(getattr(torch, kind)).float().numpy() for scale in (1, close, wrong))
    units = base * 2.0 ** (1 - digits(kind))
    found = [compare(base, head, kind, others=[(base + units / 2, 1)], inputs=300).is_close for head in heads]
    assert found == [True, False]


@pytest.mark.parametrize("shape", [(2**15, 8), (64, 64, 64), (2**18,)])
def test_a_comparison_takes_a_small_multiple_of_the_memory_of_its_numbers(shape):
    base = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    head, other = (moved(base, np.random.default_rng(seed)) for seed in (1, 2))
    tracemalloc.start()
    try:
        found = compare(base, head, "float32", others=[(other, 1), (other, 4)], inputs=1000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.is_close
    assert peak < 10 * base.nbytes
