"""Functions that are wrong, or do more than they return, and honest ones beside them."""

import itertools
import random
import re
import time
from array import array
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import torch

from gnnbench.engine.measure.clock import Call
from gnnbench.engine.measure.returned.calls import NONE_NEW
from tests.engine.process.rewrites import compared, rewritten


def normal(*shape):
    return lambda: np.random.default_rng(3).normal(size=shape).astype(np.float32)


def edges(nodes, count):
    return lambda: torch.from_numpy(np.random.default_rng(4).integers(nodes, size=(2, count)))


def features(*shape):
    return lambda: torch.from_numpy(normal(*shape)())


def spmm(index, x, kept=None):
    size = (len(x), len(x))
    matrix = torch.sparse_coo_tensor(index, torch.ones(index.shape[1]), size) if kept is None else kept
    return matrix @ x


@pytest.mark.parametrize("key", [id, lambda index: index.shape, lambda _: None], ids=["id", "shape", "none"])
def test_a_matrix_that_is_kept_for_other_indices_is_wrong(tmp_path, key):
    kept = {}

    def keeps(index, x):
        if key(index) not in kept:
            kept[key(index)] = torch.sparse_coo_tensor(index, torch.ones(index.shape[1]), (len(x), len(x)))
        return spmm(index, x, kept[key(index)])

    found = rewritten(tmp_path, spmm, keeps, edges(50, 300), features(50, 4))
    # The matrix has the memory of the indices: it is right for these, whatever their values.
    assert found.only_repeated if key is id else found.status == "differ"
    kept.clear()

    def keeps_a_copy(index, x):
        return keeps(index.clone() if key(index) not in kept else index, x)

    if key is not id:
        assert rewritten(tmp_path, spmm, keeps_a_copy, edges(50, 300), features(50, 4)).status == "differ"


def test_a_transform_that_is_kept_for_other_complex_numbers_is_wrong(tmp_path):
    kept = {}

    def keeps(x):
        return kept.setdefault(len(x), np.fft.fft(x))

    assert rewritten(tmp_path, np.fft.fft, keeps, lambda: normal(30)() * 1j).fails


def test_what_an_argument_keeps_for_other_indices_is_wrong(tmp_path):
    def keeps(tree, index, x):
        if id(index) not in tree.values:
            tree.values[id(index)] = np.argsort(index)
        return x[tree.values[id(index)]]

    def base(_, index, x):
        return x[np.argsort(index)]

    inputs = lambda: Tree({}), lambda: np.random.default_rng(0).permutation(50), normal(50)
    found = rewritten(tmp_path, base, keeps, *inputs)
    assert found.reason == "output is right only for the benchmark's own inputs"
    assert rewritten(tmp_path, keeps, keeps, *inputs).status == "equal"


BUFFER = np.empty((30, 30))
BUFFERS = [np.empty((30, 30)), np.empty((30, 30))]
LIST = []


def alternates(x):
    BUFFERS.reverse()
    return np.multiply(x[:, None], x[None, :], out=BUFFERS[0])


class Tree:
    def __init__(self, values, *, kept=None):
        self.values = values
        self._kept = kept


class Strange:
    """A result whose own functions must not run: they may differ between the sides."""

    def __init__(self, values):
        self.values = values

    def __getattribute__(self, name):
        raise AssertionError

    __repr__ = __eq__ = __hash__ = __getattribute__


class Subclass(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise AssertionError(function)


def counts(count):
    return lambda items: [items.update([number % 7]) for number in range(count)] and None


def fits(value):
    def fit(tree):
        tree.fitted = tree.values[0] = value
        return True

    return fit


WRONG = {
    "reused buffer": (
        "in the head, the next call overwrites output",
        lambda x: np.multiply.outer(x, x),
        lambda x: np.multiply(x[:, None], x[None, :], out=BUFFER),
        lambda: np.random.default_rng(0).random(30),
    ),
    "two buffers": (
        "in the head, a later call overwrites output",
        lambda x: np.multiply.outer(x, x),
        alternates,
        lambda: np.random.default_rng(0).random(30),
    ),
    "one list": (
        "in the head, the next call overwrites output",
        lambda x: x.tolist(),
        lambda x: LIST.clear() or LIST.extend(x.tolist()) or LIST,
        lambda: np.random.default_rng(0).random(30),
    ),
    "set is not filled": (
        "argument 1 after the call is set(0, 1, 2) instead of set(0, 1, 2, 3",
        lambda items: items.update(range(9)),
        lambda items: items.update(range(3)),
        set,
    ),
    "a counter": ("argument 1[0] after the call is 1 instead of 8", counts(50), counts(5), Counter),
    "a new attribute of an argument": (
        "argument 1.fitted after the calls is 2 instead of 1",
        fits(1),
        fits(2),
        lambda: Tree([1]),
    ),
    "list is not sorted": (
        "the base changes argument 1, but the head does not",
        lambda items: items.sort(),
        lambda _: None,
        lambda: random.Random(3).sample(range(99), 50),
    ),
    "texts are not sorted": (
        "the base changes argument 1, but the head does not",
        lambda texts: texts.sort() or 1,
        lambda _: 1,
        lambda: np.array(["b", "a"]),
    ),
    "bytes are not filled": (
        "argument 1 after the call is bytearray",
        lambda buffer: buffer.extend(b"ab") or 1,
        lambda buffer: buffer.extend(b"b") or 1,
        bytearray,
    ),
    "dictionary is not filled": (
        "the base changes argument 1[10], but the head does not",
        lambda items: items.update(dict.fromkeys(range(30), 1)),
        lambda items: items.update(dict.fromkeys(range(10), 1)),
        dict,
    ),
    "a column of a table": (
        "argument 1['a'] after the call",
        lambda frame: frame.update(frame * 2),
        lambda frame: frame.update(frame * 3),
        lambda: pd.DataFrame({"a": normal(3)()}),
    ),
    "an array in an attribute": (
        "argument 1.values",
        lambda tree, x: setattr(tree, "values", x * 2),
        lambda tree, x: setattr(tree, "values", x * 3),
        lambda: Tree(0),
        normal(3),
    ),
    "a typed array": (
        "argument 1 after the call",
        lambda numbers: numbers.extend([1.0]),
        lambda numbers: numbers.extend([2.0]),
        lambda: array("d", [0.0]),
    ),
    "of a strange object": (
        "output.values[8] is 0 instead of 8",
        lambda x: Strange(list(range(len(x)))),
        lambda x: Strange([*range(len(x) - 1), 0]),
        normal(9),
    ),
    "another key": (
        "only the head has output[datetime.date(2020, 1, 2)]",
        lambda _: {date(2020, 1, 1): 1},
        lambda _: {date(2020, 1, 1): 1, date(2020, 1, 2): 1},
        normal(9),
    ),
    "an object as another key": (
        "output[Tree 0].key.values is 2 instead of 1",
        lambda _: {Tree(1): 1},
        lambda _: {Tree(2): 1},
        normal(9),
    ),
    "complex numbers": (
        "output[19] is 1+1j instead of 1+0j",
        lambda x: [complex(value > -9, 0) for value in x],
        lambda x: [complex(value > -9, number // 19) for number, value in enumerate(x)],
        normal(20),
    ),
    "the end of a text": (
        f"output is ...{'ab' * 15}1' instead of ...{'ab' * 15}2'",
        lambda _: "ab" * 99 + "2",
        lambda _: "ab" * 99 + "1",
        normal(9),
    ),
    "a dotted key": (
        "output['net._linear.weight'] is 2 instead of 1",
        lambda _: {"net._linear.weight": 1},
        lambda _: {"net._linear.weight": 2},
        normal(9),
    ),
    "a fraction": (
        "output.denominator is 4 instead of 3",
        lambda _: Fraction(1, 3),
        lambda _: Fraction(1, 4),
        normal(9),
    ),
    "of a subclass": (
        "of its numbers differ",
        lambda x: (x * 2).as_subclass(Subclass),
        lambda x: (x * 3).as_subclass(Subclass),
        features(9),
    ),
    "whole numbers without ties": (
        "output[3] is 0 instead of 2",
        lambda x: x.argsort(),
        lambda x: torch.where(x.argsort() == 2, 0, x.argsort()),
        lambda: torch.tensor([1.0, 1.0, 5.0, 3.0]),
    ),
}


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("calls_before", [0, 3])
def test_what_is_wrong_is_named(tmp_path, kind, calls_before):
    reason, base, head, *make = WRONG[kind]
    found = rewritten(tmp_path, base, head, *make, calls_before=calls_before)
    assert found.status == "differ"
    assert reason in found.reason
    same = rewritten(tmp_path, base, base, *make, calls_before=calls_before)
    assert (same.status, same.reservation) == ("equal", "")


RESERVED = {
    "a view of an input": (
        "output shares memory with an input in the head only",
        np.ndarray.flatten,
        np.ndarray.ravel,
        normal(30, 30),
    ),
    "the same list": (
        "output shares memory with an earlier output in the head only",
        lambda n: list(range(n)),
        lambda n: LIST.clear() or LIST.extend(range(n)) or LIST,
        lambda: 40,
    ),
    "an attribute that only the base sets": (
        "argument 1.fitted after the calls differs",
        lambda tree: vars(tree).setdefault("fitted", 2),
        lambda _: 2,
        lambda: Tree([1]),
    ),
    "a tuple for a list": (
        "the type of output differs",
        lambda x: [x * 2, 1],
        lambda x: (x * 2, 1),
        normal(3),
    ),
    "another function": (
        "the code of output differs",
        lambda _: lambda x: x * 2,
        lambda _: lambda x: x * 3,
        normal(3),
    ),
    "another order of keys": (
        "the order of the keys of output differs",
        lambda x: {"a": x * 2, "b": 1},
        lambda x: {"b": 1, "a": x * 2},
        normal(3),
    ),
    "a new attribute": (
        "output._kept differs",
        lambda x: (1, Tree(x * 2)),
        lambda x: (1, Tree(x * 2, kept={})),
        normal(3),
    ),
    "a generator beside": (
        "output[1], a builtins.generator, cannot be compared",
        lambda x: [x * 2, (value for value in x)],
        lambda x: [x * 2, (value for value in x * 1)],
        normal(3),
    ),
    "many generators": (
        "output[4], a builtins.generator, cannot be compared; 5 more",
        lambda x: [(value for value in x) for _ in range(10)] + [1],
        lambda x: [(value for value in x * 1) for _ in range(10)] + [1],
        normal(3),
    ),
    "ties": (
        "output changes when the inputs change by units",
        lambda x: x.argsort(),
        lambda x: torch.stack([x.argsort()[1], x.argsort()[0], *x.argsort()[2:]]),
        lambda: torch.tensor([1.0, 1.0, 5.0, 3.0]),
    ),
}


@pytest.mark.parametrize("kind", RESERVED)
def test_what_was_not_compared_is_neither_accused_nor_equal(tmp_path, kind):
    note, base, head, make = RESERVED[kind]
    found = rewritten(tmp_path, base, head, make)
    assert found.status in ("equal", "close")
    assert note.removeprefix("output") in found.reservation
    assert not found.fails


def test_what_is_kept_within_a_line_is_seen(tmp_path):
    kept = {}

    def keeps(x):
        return kept.get(x.tobytes()) or kept.setdefault(x.tobytes(), sorted(x.tolist(), key=lambda y: -y))

    def base(x):
        return sorted(x.tolist(), key=lambda y: -y)

    assert rewritten(tmp_path, base, keeps, normal(200)).only_repeated
    kept.clear()
    assert not rewritten(tmp_path, keeps, keeps, normal(200)).only_repeated


def test_threads_that_are_waited_for_are_no_cache(tmp_path):
    pauses = itertools.cycle([0.001, 0.0, 0.002, 0.0, 0.0])

    def twice(part):
        time.sleep(next(pauses))
        return part * 2

    def halves(x):
        with ThreadPoolExecutor(2) as pool:
            parts = [pool.submit(twice, part) for part in np.split(x, 2)]
            return np.concatenate([part.result() for part in parts])

    for _ in range(4):
        found = rewritten(tmp_path, lambda x: x * 2, halves, normal(20))
        assert (found.status, found.only_repeated, found.reservation) == ("equal", False, "")


def test_a_leak_is_not_equal(tmp_path):
    kept = []

    def leaks(x):
        kept.append(np.ones(100_000))
        return x * 2

    found = rewritten(tmp_path, lambda x: x * 2, leaks, normal(20))
    assert found.status == "differ"
    assert re.fullmatch("a call of the head keeps [67].. KiB more memory than one of the base", found.reason)
    once = {}

    def keeps_once(x):
        once.setdefault("table", np.ones(100_000))
        return x * 2

    assert rewritten(tmp_path, lambda x: x * 2, keeps_once, normal(20)).status == "equal"


def converges(step):
    def run(matrix):
        vector = np.ones(len(matrix))
        while True:
            other = step(matrix @ vector)
            if np.abs(other - vector).max() < 1e-12:
                return other
            vector = other

    return run


def test_a_loop_that_new_values_would_keep_running_gets_the_given_ones(tmp_path):
    def matrix():
        rng = np.random.default_rng(0)
        return np.diag([9.0, -5.0, 3.0, 1.0]) + np.triu(rng.random((4, 4)), 1)

    base, head = converges(lambda w: w / np.linalg.norm(w)), converges(lambda w: w / np.sqrt(w @ w))
    found = rewritten(tmp_path, base, head, matrix)
    assert found.status in ("equal", "close")
    assert found.reason.startswith("compared with fewer new input values")


def test_no_value_is_written_into_a_file_of_the_user(tmp_path):
    file = tmp_path / "weights.bin"
    normal(1000)().tofile(file)
    before, seen = file.read_bytes(), set()

    def total(x, _):
        seen.add(file.read_bytes())
        return float(x.sum())

    def call():
        return Call(total, (np.memmap(file, dtype=np.float32, mode="r+"), normal(5)()), {})

    assert compared(tmp_path, call, call).status == "equal"
    assert seen == {file.read_bytes()} == {before}
    mapped = torch.from_file(str(file), shared=True, size=1000)
    assert rewritten(tmp_path, torch.sum, torch.sum, lambda: mapped).status == "equal"
    assert file.read_bytes() == before


def test_where_new_values_are_refused_indices_are_given_ones_again(tmp_path):
    def sorted_only(index, x):
        if index.sum() != 6:
            raise ValueError("another graph")
        return x[index]

    found = rewritten(tmp_path, sorted_only, sorted_only, lambda: torch.tensor([0, 1, 5]), features(6))
    assert found.status == "equal"
    assert rewritten(tmp_path, sorted_only, sorted_only, features(3), level=NONE_NEW).status == "not compared"
