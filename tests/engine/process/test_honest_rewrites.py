"""Honest rewrites of made-up functions: none is accused of a different output that has none."""

import math
import random
import re
from dataclasses import dataclass
from datetime import date
from enum import Enum
from functools import cached_property, partial

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import torch
from torch.nn import functional

from gnnbench.engine.measure.clock import Call
from gnnbench.engine.measure.returned.calls import NONE_NEW
from tests.engine.process.rewrites import compared, rewritten

SAME = ("equal", "close")


def rand(*shape):
    return lambda: torch.rand(shape)


def leaf(*shape):
    return lambda: torch.randn(shape, requires_grad=True)


def normal(*shape):
    return lambda: np.random.default_rng(3).normal(size=shape)


class Doubles:
    """Library code that keeps its input, as it is or as a view."""

    def __init__(self, kept):
        self.kept = kept

    def run(self, x):
        return x * 2


@pytest.mark.parametrize("view", [lambda x: x.view(4, 5), lambda x: x[::2], lambda x: x.numpy()])
def test_a_view_that_a_library_keeps_gets_the_values_of_its_input(tmp_path, view):
    def call(kept):
        x = torch.linspace(1, 3, 20)
        return Call(Doubles(kept(x)).run, (x,), {})

    found = compared(tmp_path, lambda: call(lambda x: x), lambda: call(view))
    assert (found.status, found.reason) == ("equal", "")


def backward(run):
    def both(x):
        x.grad = None
        out = run(x)
        out.sum().backward()
        return out

    return both


def test_a_graph_that_one_side_frees_is_no_other_gradient(tmp_path):
    frees, keeps = backward(lambda x: x * torch.full_like(x, 2)), backward(lambda x: x * 2)
    for both in ((frees, keeps), (keeps, frees)):
        assert rewritten(tmp_path, *both, leaf(6)).status in SAME


@pytest.mark.parametrize(
    ("base", "head"),
    [
        (lambda x, _: x * 2, lambda x, y: x * 2 + y * 0),
        (lambda x, y: x * 2 + y * 0, lambda x, _: x * 2),
        (lambda x, y: ((x + y) > 0).float() + 0 * x, lambda x, y: ((x + y) > 0).float().detach()),
        (lambda x, y: (x + y).detach(), lambda x, y: x + y),
    ],
)
def test_no_gradient_is_one_of_zeros(tmp_path, base, head):
    assert rewritten(tmp_path, base, head, leaf(4), leaf(4)).status in SAME


@pytest.mark.parametrize("run", [lambda run: run, backward])
def test_a_gradient_may_be_sparse(tmp_path, run):
    dense, sparse = (
        run(lambda weight, kept=kept: functional.embedding(torch.arange(3), weight, sparse=kept))
        for kept in (False, True)
    )
    assert rewritten(tmp_path, dense, sparse, leaf(5, 2)).status == "equal"


class SlightlyOff(torch.autograd.Function):
    """The identity, with a gradient that is 2 % too large."""

    @staticmethod
    def forward(_, x):
        return x.clone()

    @staticmethod
    def backward(_, gradient):
        return gradient * 1.02


WITH_GRADIENTS = [
    lambda x: x + 1000,
    lambda x: (x - x.amax(1, keepdim=True)).exp(),
    lambda x: torch.zeros_like(x).scatter_reduce(0, x.detach().long().abs(), x, "amax"),
]


@pytest.mark.parametrize("run", WITH_GRADIENTS, ids=range(len(WITH_GRADIENTS)))
def test_a_wrong_gradient_differs(tmp_path, run):
    found = rewritten(tmp_path, run, lambda x: run(SlightlyOff.apply(x)), leaf(40, 8))
    assert found.fails, found


def test_a_wrong_gradient_of_an_input_that_is_computed_itself_differs(tmp_path):
    head = SlightlyOff.apply
    assert rewritten(tmp_path, torch.clone, head, lambda: leaf(4)() * 2).fails


def test_a_gradient_that_is_lost_differs(tmp_path):
    found = rewritten(tmp_path, lambda x: x * 2, lambda x: (x * 2).detach(), leaf(4))
    assert found.reason.startswith("gradient of argument 1 by the output[3] is 0 instead of -1.93")


@pytest.mark.parametrize("first", [1, -1])
def test_zeros_by_cancellation_are_close_to_what_rounding_leaves(tmp_path, first):
    def pairs():
        x = torch.rand(500)
        return torch.stack((x, -x), 1).reshape(-1)

    in_pairs, by_sign = (
        (lambda x: x.reshape(-1, 2).sum(1).sum()),
        (lambda x: x[::2].sum() + x[1::2].cumsum(0)[-1]),
    )
    assert rewritten(tmp_path, *(in_pairs, by_sign)[::first], pairs).status in SAME
    wrong = rewritten(tmp_path, in_pairs, lambda x: x[:-1].sum(), pairs)
    assert wrong.status == "differ"


class Layer(torch.nn.Module):
    """A layer whose parameter has a name that is given, and which may have more."""

    def __init__(self, name, *, parameter=False, buffer=False):
        super().__init__()
        self.name = name
        self.register_parameter(name, torch.nn.Parameter(torch.rand(4, 3)))
        self.scale = torch.nn.Parameter(torch.ones(3)) if parameter else 1
        if buffer:
            self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        if isinstance(self.scale, torch.Tensor):
            return torch.einsum("ij,jk->ik", x, self.get_parameter(self.name)) * self.scale
        if hasattr(self, "calls"):
            self.calls += 1
        return x @ self.get_parameter(self.name)


def of_layers(folder, base, head):
    return compared(folder, *(lambda one=one: Call(one(), (torch.rand(5, 4),), {}) for one in (base, head)))


def test_a_renamed_parameter_is_compared_with_that_of_the_same_content(tmp_path):
    def wrong():
        layer = Layer("lin")
        layer.forward = lambda x: x @ layer.lin.detach() if x.max() else x
        return layer

    assert of_layers(tmp_path, lambda: Layer("weight"), lambda: Layer("lin")).status == "equal"
    for name, place in (("weight", ".weight"), ("_weight", "['_weight']")):
        found = of_layers(tmp_path, lambda name=name: Layer(name), wrong)
        assert found.reason.startswith(f"gradient of {place} by the output[")


def test_a_new_buffer_has_nothing_in_the_base_to_compare_it_with(tmp_path):
    found = of_layers(tmp_path, lambda: Layer("weight"), lambda: Layer("weight", buffer=True))
    assert (found.status, found.reason) == ("equal", "")


@pytest.mark.parametrize("side", ["base", "head"])
def test_a_parameter_of_one_side_is_not_compared_and_named(tmp_path, side):
    layers = [lambda: Layer("weight"), lambda: Layer("weight", parameter=True)]
    found = of_layers(tmp_path, *layers[:: 1 if side == "head" else -1])
    reason = f"the sides get different inputs: only the {side} has .scale"
    assert (found.status, found.reason) == ("not compared", reason)


def bisected(x, values):
    return np.array([sum(x < one) for one in values])


def spd():
    values = normal(30, 30)()
    return values @ values.T + np.eye(30)


def hermitian():
    return spd() + 1j * (np.triu(spd(), 1) - np.tril(spd(), -1))


def adjacency():
    return (np.abs(spd()) > 3).astype(float)


@pytest.mark.parametrize("head", ["precise", "rounded"])
def test_more_or_fewer_digits_are_said_as_such(tmp_path, head):
    def precise(x):
        return 1 / (1 - x**2)

    def rounded(x):
        return precise(x) * (1 + 1e-11 * (x < 0.999))

    sides = (rounded, precise) if head == "precise" else (precise, rounded)
    found = rewritten(tmp_path, *sides, lambda: np.append(0.9999999, np.linspace(0.1, 0.9, 9)))
    assert found.status == "differ"
    assert re.match(r"relative error 1\.0e-11: output\[", found.reason)


@pytest.mark.parametrize(
    ("of", "key"),
    [(torch.from_numpy, torch.Tensor.data_ptr), (lambda edges: edges, id)],
    ids=["address", "identity"],
)
def test_what_is_kept_of_indices_is_fast_only_when_repeated(tmp_path, of, key):
    """Where inputs are fixed, their copies show it; else another graph of the same shape does."""
    kept = {}

    def degree(edges):
        return of(np.bincount(np.asarray(edges[1])))

    def keeps(edges):
        if key(edges) not in kept:
            kept[key(edges)] = degree(edges)
        return kept[key(edges)]

    def warns(edges):
        if not kept:
            kept["warned"] = True
        return degree(edges)

    def inputs():
        return of(np.random.default_rng(0).integers(9, size=(2, 30)))

    assert rewritten(tmp_path, degree, keeps, inputs).reason.endswith("of an earlier call with other inputs")
    kept.clear()
    assert rewritten(tmp_path, degree, keeps, inputs, level=NONE_NEW).only_repeated
    kept.clear()
    assert not rewritten(tmp_path, degree, warns, inputs, level=NONE_NEW).only_repeated
    assert not rewritten(tmp_path, keeps, keeps, inputs, level=NONE_NEW).only_repeated


@dataclass
class Stats:
    """A result with a property that is computed once and kept."""

    values: object

    @cached_property
    def mean(self):
        return self.values.mean()


class Color(Enum):
    """A key of a result."""

    RED = 1


def softmax(x):
    e = (x - x.max(1, keepdim=True).values).exp()
    return e / e.sum(1, keepdim=True)


def coo(index_type):
    def run(x):
        rows, columns = np.nonzero(x > 0.5)
        ends = rows.astype(index_type), columns.astype(index_type)
        return scipy.sparse.coo_matrix((x[rows, columns], ends), x.shape)

    return run


def index(count, below):
    return lambda: torch.randint(0, below, (count,))


def masked(x, hidden):
    return np.ma.MaskedArray(np.where(x < 0, hidden, x), x < 0)


def sevenfold(x):
    return [one * 6 + one for one in x.tolist()]


REWRITES = {
    "sorted": (np.searchsorted, bisected, lambda: np.sort(normal(50)()), normal(9)),
    "falling": (
        lambda x, v: np.searchsorted(-x, v),
        lambda x, v: bisected(-x, v),
        lambda: -np.sort(normal(50)()),
        normal(9),
    ),
    "sorted rows": (
        lambda x: x[:, -1] - x[:, 0],
        lambda x: x.max(1) - x.min(1),
        lambda: np.sort(normal(9, 2)()),
    ),
    "positive definite": (np.linalg.solve, partial(scipy.linalg.solve, assume_a="pos"), spd, normal(30)),
    "Hermitian": (np.linalg.inv, lambda x: np.linalg.inv(x.T.conj()), hermitian),
    "adjacency": (np.dot, lambda a, x: a.T @ x, adjacency, normal(30)),
    "whole and sorted": (np.searchsorted, bisected, lambda: np.arange(20.0), normal(9)),
    "triangular": (
        np.linalg.solve,
        partial(scipy.linalg.solve_triangular, lower=True),
        lambda: np.linalg.cholesky(spd()),
        normal(30),
    ),
    "random number of steps": (
        np.sum,
        lambda x: sum(0 for _ in range(random.randrange(99))) + x.sum(),
        normal(9),
    ),
    "sum in float64": (lambda x: x.sum(0), lambda x: x.double().sum(0).float(), rand(5000, 3)),
    "softmax of -inf": (
        partial(torch.softmax, dim=1),
        softmax,
        lambda: torch.randn(50, 20).masked_fill(torch.rand(50, 20) < 0.2, -torch.inf),
    ),
    "softmax beside ids": (
        lambda x: torch.cat([torch.softmax(30 * x, 1), 1e6 + torch.arange(2.0)[:, None]], 1),
        lambda x: torch.cat([softmax(30 * x), 1e6 + torch.arange(2.0)[:, None]], 1),
        leaf(2, 3),
    ),
    "layout": (lambda x: x.to_sparse_csr(), lambda x: x.to_sparse_coo(), lambda: torch.eye(6) * 0.3),
    "coalesced": (
        lambda i: torch.sparse_coo_tensor(i.view(2, -1), torch.ones(20), (5, 5)),
        lambda i: torch.sparse_coo_tensor(i.view(2, -1), torch.ones(20), (5, 5)).coalesce(),
        index(40, 5),
    ),
    "type of indices": (coo("int32"), coo("int64"), normal(20, 20)),
    "sparse view": (
        lambda x: scipy.sparse.csr_matrix((x * 1, range(9), range(10))),
        lambda x: scipy.sparse.csr_matrix((x, range(9), range(10)), copy=False),
        normal(9),
    ),
    "cached property": (Stats, lambda x: (stats := Stats(x)).mean and stats, normal(9)),
    "type of bools": (lambda x: [(x > 0).any()], lambda x: [any(one > 0 for one in x)], normal(9)),
    "type of an int": (np.count_nonzero, lambda x: sum(x != 0), normal(9)),
    "mixed list": (
        lambda x: [1, None, math.nan, *(7 * x).tolist()],
        lambda x: [1, None, math.nan, *sevenfold(x)],
        normal(99),
    ),
    "set of floats": (lambda x: set((7 * x).tolist()), lambda x: set(sevenfold(x)), normal(99)),
    "address in a text": (
        lambda x: repr([x.sum(), object()]),
        lambda x: repr([x.sum(), object()]),
        normal(9),
    ),
    "nothing is masked": (np.ma.array, np.ma.masked_invalid, normal(9)),
    "masked numbers": (lambda x: masked(x, 7.0), lambda x: masked(x, math.nan), normal(9)),
    "order in a set": (
        lambda i: {(node, frozenset((node,))) for node in i.tolist()},
        lambda i: {(node, frozenset((node,))) for node in reversed(i.tolist())},
        index(99, 999),
    ),
    "order and type of keys": (
        lambda x: {(np.int64(4), date(2020, 1, 1)): x, Color.RED: 1},
        lambda x: {Color.RED: 1, (4, date(2020, 1, 1)): x},
        normal(9),
    ),
    "bfloat16": (
        lambda x: x.bfloat16().sum(0),
        lambda x: x.bfloat16().float().sum(0).bfloat16(),
        rand(64, 5),
    ),
    "empty list": (lambda x: [one for one in x if one > 9], lambda _: (), normal(6)),
}


@pytest.mark.parametrize("rewrite", REWRITES)
def test_a_rewrite_is_equal_or_close(tmp_path, rewrite):
    with np.errstate(invalid="ignore"):
        found = rewritten(tmp_path, *REWRITES[rewrite])
    assert found.status in SAME, found
    assert not found.only_repeated


def refuses(x):
    if x[0] < 3:
        raise ValueError("few")
    return x.sum()


OTHERS = {
    "refused values": (
        "differ: the head raises ValueError: few for new input values, but the base does not",
        np.sum,
        refuses,
        lambda: np.array([3.0, 0.5, 0.25]),
    ),
    "promotion": (
        "differ: output is float64 [9] instead of float32 [9]",
        lambda x: x * 2,
        lambda x: x * np.float64(2),
        lambda: np.float32(normal(9)()),
    ),
    "scalar or array": (
        "differ: output is float64 [1] instead of float64",
        np.sum,
        partial(np.sum, keepdims=True),
        normal(9),
    ),
    "generator": (
        "differ: output is a builtins.generator in the head",
        list,
        lambda x: (one for one in x),
        normal(9),
    ),
    "list for a generator": (
        "not compared: output, a builtins.generator, cannot",
        lambda x: (one for one in x),
        list,
        normal(9),
    ),
    "state": (
        "differ: the base changes argument 1.running_mean, but the head does not",
        lambda m, x: m(x),
        lambda m, x: functional.batch_norm(x, None, None, m.weight, m.bias, training=True),
        lambda: torch.nn.BatchNorm1d(4),
        rand(50, 4),
    ),
    "rounded text": (
        "not compared: output changes when the inputs change by ",
        lambda x: f"{'the sum is' * 9} {x.sum():.17g}",
        lambda x: f"{'the sum is' * 9} {x[::-1].cumsum()[-1]:.17g}",
        normal(500),
    ),
}


@pytest.mark.parametrize("rewrite", OTHERS)
def test_another_result_is_called_so_and_what_rounding_changes_is_not_compared(tmp_path, rewrite):
    reason, *given = OTHERS[rewrite]
    found = rewritten(tmp_path, *given)
    assert f"{found.status}: {found.reason}".startswith(reason), found


def test_inputs_of_other_types_are_not_compared(tmp_path):
    sides = (lambda size=size: Call(np.sum, (np.arange(size),), {}) for size in (3, 2))
    found = compared(tmp_path, *sides)
    reason = "the inputs differ: argument 1 is int64 [2] in the head and int64 [3] in the base"
    assert (found.status, found.reason) == ("not compared", reason)
