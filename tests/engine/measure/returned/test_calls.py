"""Calls whose results are compared: what they get, what is kept, and that all is as before afterwards."""

import functools
import json
import pickle
from array import array
from dataclasses import dataclass
from enum import Enum, IntFlag
from unittest import mock

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric import EdgeIndex
from torch_geometric.data import Batch, Data

from gnnbench.engine.ground.outputs import OutputParts, TooMuchError
from gnnbench.engine.ground.packages import missing
from gnnbench.engine.measure.benchmark_fixture import Pedantic
from gnnbench.engine.measure.clock import Call
from gnnbench.engine.measure.fingerprint.digest import plain
from gnnbench.engine.measure.returned import effects
from gnnbench.engine.measure.returned.calls import (
    AGAIN,
    GIVEN,
    GIVEN_MOVED,
    NEW,
    NEW_MOVED,
    ComparedCalls,
)
from gnnbench.engine.measure.returned.portable import TEXT, to_portable
from gnnbench.engine.measure.returned.reachable import Reachable
from gnnbench.suite.libraries import import_dgl


def made(function, *args):
    found = ComparedCalls(Pedantic(function, args, {}), {})
    found.make_first()
    return found


def test_new_values_are_written_in_place_and_the_given_ones_come_back():
    seen, x, index = [], torch.rand(8, 3), torch.tensor([0, 3, 3, 4])
    given = x.clone()

    def run(x, index):
        seen.append((x.data_ptr(), x.clone(), index.clone()))
        return x.sum() + index.sum()

    found = made(run, x, index)
    first, new, again, copied = seen
    assert {one[0] for one in (first, new, again)} == {x.data_ptr()} != {copied[0]}
    assert torch.equal(copied[1], new[1])
    assert torch.equal(first[1], given)
    assert torch.equal(new[1], again[1])
    assert not torch.equal(new[1], given)
    assert ((new[1] > 0) & (new[1] <= given.max())).all()
    assert torch.equal(first[2], index)
    assert new[2].tolist() == again[2].tolist() == [0, 1, 1, 4]
    assert torch.equal(x, given)
    for number in (GIVEN_MOVED, NEW_MOVED):
        found.make(number)
    away = (seen[4][1] - given).abs() / given
    assert 0 < away.max() < 3e-7
    assert torch.equal(x, given)


def test_inputs_are_found_in_arguments_closures_partials_modules_and_globals_of_the_test():
    x, y, z = np.ones(3), torch.ones(3), np.full(3, 2.0)
    layer = torch.nn.Linear(2, 2)
    module = {"GLOBAL": z, "json": json}
    exec("def run(x): return GLOBAL", module)
    reach = Reachable(Call(functools.partial(lambda *_: y, [x]), (layer,), {"more": {"a": x}}), {})
    assert reach.arrays.keys() == {"argument 1.weight", "argument 1.bias", "argument more['a']", "y"}
    assert Reachable(Call(module["run"], (x,), {}), module).arrays.keys() == {"argument 1", "GLOBAL"}
    assert Reachable(Call(module["run"], (x,), {}), {}).arrays.keys() == {"argument 1"}


def test_parts_of_objects_and_indices_of_sparse_matrices_keep_their_values():
    class Model:
        def __init__(self):
            self.weight = np.ones(3)

    sparse = torch.eye(3).to_sparse_csr()
    reach = Reachable(Call(lambda *_: 0, (Model(), sparse, np.arange(3), torch.tensor(2.0)), {}), {})
    assert reach.writable.keys() == {"argument 2.part 2", "argument 3"}
    assert "argument 1.weight" in reach.arrays


def test_arguments_that_a_call_changes_and_gradients_are_results():
    x, weight = torch.rand(4), torch.rand(4, requires_grad=True)

    def run(x, weight):
        x.add_(1)
        (x * weight).sum().backward()
        return x * weight

    found = made(run, x, weight).effects[GIVEN].parts
    expected = {"output", "argument 1 after the call", "gradient of argument 2"}
    assert found.keys() == {*expected, "gradient of argument 2 by the output"}
    assert weight.grad is None
    assert x.max() < 1


def test_the_state_of_an_optimizer_is_restored():
    model, x = torch.nn.Linear(6, 3), torch.rand(9, 6)
    adam = torch.optim.Adam(model.parameters(), lr=0.01)

    def step(model, adam, x):
        adam.zero_grad()
        model(x).square().sum().backward()
        adam.step()

    calls = made(step, model, adam, x).effects
    assert any("exp_avg" in place for place in calls[AGAIN].parts)
    for place, part in calls[AGAIN].parts.items():
        assert calls[NEW].parts[place].signature == part.signature


def test_parts_are_saved_as_plain_arrays(tmp_path):
    found = made(lambda x: {"a": x.bfloat16(), "b": "text"}, torch.rand(3))
    first, text, nothing = (found.save(GIVEN, f"output['{name}']", tmp_path) for name in "abc")
    moved = found.save(NEW_MOVED, "output['a']", tmp_path)
    assert (text, nothing) == ({"text": "'text'"}, None)
    assert np.load(tmp_path / first["file"], allow_pickle=False).dtype == np.float32
    assert np.load(tmp_path / moved["file"], allow_pickle=False).shape == (3,)
    assert found.effects[GIVEN].parts["output['a']"].kind == "bfloat16"


@dataclass
class Pair:
    left: object
    right: object


class Access(IntFlag):
    READ = 1


Color = Enum("Color", "RED BLUE")
DGL = None if missing(["dgl"]) else import_dgl()
FRAME = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})


def batch_of(*sizes):
    return Batch.from_data_list([Data(x=torch.ones(2, 1), z=torch.ones(size)) for size in sizes])


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (1, 2),
        ("a", "b"),
        ([1, (2.0,)], [1, (3.0,)]),
        (list(range(99)), [*range(98), 0]),
        ([0.5] * 99, [0.5] * 98 + [1.5]),
        ({"x": np.arange(3)}, {"x": np.arange(4)}),
        (np.float32(1), np.float64(1)),
        (np.array(["a"]), np.array(["b"])),
        (array("d", [1, 2]), array("d", [1, 3])),
        (np.array(["2026-01-01"], "M8[D]"), np.array(["2026-01-02"], "M8[D]")),
        (torch.eye(3).to_sparse(), torch.eye(3).to_sparse() * 2),
        (torch.ones(2, dtype=torch.bfloat16), torch.ones(2, dtype=torch.float16)),
        (torch.ones(2, dtype=torch.complex64), torch.ones(2)),
        (Pair(1, "a"), Pair(1, "b")),
        (FRAME, FRAME.assign(b=[0.5, 2.5])),
        (FRAME["a"], FRAME["a"].rename("b")),
        (FRAME, FRAME[["b", "a"]]),
        (FRAME.set_axis(["a", "a"], axis=1), FRAME.assign(a=3).set_axis(["a", "a"], axis=1)),
        (FRAME.groupby("a").agg({"b": ["mean", "sum"]}), FRAME.groupby("a").agg({"b": ["mean", "max"]})),
        (nx.Graph(), nx.Graph(name="b")),
        (batch_of(1, 2), batch_of(2, 1)),
        *([(DGL.graph(([0], [1])), DGL.graph(([0], [1]), num_nodes=3))] if DGL else []),
        ({1, 2}, {1, 3}),
        ({"k" * 80 + "1": 1, "k" * 80 + "2": 2}, {"k" * 80 + "1": 3, "k" * 80 + "2": 2}),
        ({(1, 2): 1, frozenset((1, 2)): 3}, {(1, 2): 2, frozenset((1, 2)): 3}),
        ({Access(8): 1, Access(0): 2}, {Access(8): 7, Access(0): 2}),
        (Color.RED, Color.BLUE),
        (None, ()),
    ],
    ids=lambda value: type(value).__name__,
)
def test_equal_values_have_equal_signatures_and_others_do_not(value, other):
    def signatures(of):
        opened, left = OutputParts(of, plain=plain), {}
        found = {place: one.signature for place, one in to_portable(opened.parts, left).items()}
        assert not left
        assert not opened.uncomparable
        return found, {place: type(part) for place, part in opened.opened.items()}

    assert signatures(value) == signatures(pickle.loads(pickle.dumps(value)))
    assert signatures(value) != signatures(other)


def test_what_has_no_portable_form_is_named():
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    opened = OutputParts([object(), nested, np.array([object()])], plain=plain)
    to_portable(opened.parts, opened.uncomparable)
    assert opened.uncomparable.keys() == {"[0]", "[1]", "[2]"}


def test_tensors_without_dimensions_and_those_of_subclasses_are_restored_and_read():
    index = EdgeIndex(torch.tensor([[0, 1], [1, 0]]), sparse_size=(2, 2))
    step = torch.tensor(3.0)

    def run(index, step):
        step += 1
        return index, step

    found = made(run, index, step).effects[GIVEN]
    assert not found.failure
    parts = {"output[0]", "output[1]", "output type", "argument 2 after the call"}
    assert found.parts.keys() == parts
    assert step == 3


def test_an_output_that_cannot_be_read_is_no_failure_of_the_call():
    class Broken:
        shape = ()

        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("lost")

    with pytest.raises(RuntimeError, match="lost"):
        made(lambda _: Broken(), np.arange(3.0) / 2)


def test_lists_of_many_numbers_are_one_part_and_outputs_of_very_many_are_refused():
    found = made(lambda x: {"many": x.tolist()}, np.arange(1e5) / 3).effects[GIVEN]
    assert [place for place, part in found.parts.items() if part.kind != TEXT] == ["output['many']"]
    assert found.parts["output['many']"].kind == "float64"
    with pytest.raises(TooMuchError, match="the output has more than 10,000 parts"):
        made(lambda _: [{"a": one} for one in range(20_000)], np.arange(3.0))


def test_calls_are_compared_while_a_test_replaces_open():
    with mock.patch("builtins.open", mock.mock_open(read_data="text")):
        assert made(lambda x: x * 2, np.arange(3.0)).effects[GIVEN].parts


def test_what_is_too_large_is_not_copied(monkeypatch):
    ran = []
    monkeypatch.setattr(effects, "_MOST_BYTES", 1 << 20)
    made(lambda _: ran.append(1), np.ones(1 << 17))
    made(len, torch.eye(3).to_sparse())
    with pytest.raises(TooMuchError, match="too large to compare: inputs of more than 1 MiB"):
        made(ran.append, np.ones((1 << 17) + 1))
    count = len(ran)
    with pytest.raises(TooMuchError, match="too large to compare: the output of more than 1 MiB"):
        made(lambda: ran.append(1) or np.ones((1 << 17) + 1))
    assert len(ran) == count + 1
