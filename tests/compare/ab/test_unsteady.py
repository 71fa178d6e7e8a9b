"""What two processes of the base return differently is no difference of the head, in real processes."""

import subprocess

import numpy as np
import pytest

from gnnbench.engine.judge.trial import Trial
from gnnbench.engine.process.outputs import unsteady_places
from gnnbench.engine.process.variants import child
from tests.compare.ab.workers import clean, prepared, workers, write

PACKAGE = """
import os
import uuid

class Node:
    pass

NODES = [Node() for _ in range(50)]

def path(folder, n):
    return str(folder / "x.txt")

def text(place, n):
    return {"place": place, "n": n + 1}

def process(n):
    return {"pid": os.getpid(), "text": f"<{id(NODES):#x}>", "n": n + 1}

def keys(n):
    return {"by": {node: number for number, node in enumerate(NODES)}, "n": n + 1}

def drawn(n):
    return {"id": str(uuid.uuid4()), uuid.uuid1().hex: n, "n": n + 1}

def order(n):
    return {"first": [NODES.index(node) for node in {*NODES}], "n": n + 1}

def alone(n):
    return os.getpid()
"""
SUITE = """
import pytest
import thing

NAMES = ("process", "keys", "drawn", "order", "alone")

@pytest.mark.parametrize("name", ["path", "text"])
def test_folder(benchmark, name, tmp_path):
    given = str(tmp_path) if name == "text" else tmp_path
    benchmark(getattr(thing, name), given, 3)

@pytest.mark.parametrize("name", NAMES)
def test_plain(benchmark, name):
    benchmark(getattr(thing, name), 3)
"""


@pytest.fixture(scope="module", params=["n + 1", "n + 2"])
def found(request, tmp_path_factory):
    """Return how the results agree of a head that computes this."""
    folder = tmp_path_factory.mktemp("unsteady")
    for side, text in (("base", PACKAGE), ("head", PACKAGE.replace("n + 1", request.param))):
        (folder / side).mkdir()
        # Everything is changed, so that everything is compared.
        changed = text.replace("return", "done = True\n    return") if side == "head" else text
        (folder / side / "thing.py").write_text(changed)
    write(folder, SUITE)
    with pytest.MonkeyPatch.context() as patch:
        clean(patch)
        patch.setattr(child, "subprocess", subprocess)  # in forks, addresses are the same
        sides = (prepared(side, folder / side) for side in ("base", "head"))
        with workers(folder, *sides, results=True, time_all=False) as pair:
            results = {}
            for name in pair.suite.names:
                results[name.rpartition("[")[2].strip("]")] = pair.inspect(Trial(name)).results
            processes = len(pair.children)
    assert processes == 3, "one process of the base more, for all benchmarks"
    return request.param == "n + 1", results


@pytest.mark.parametrize("name", ["text", "process", "keys", "drawn", "order"])
def test_beside_what_differs_between_two_processes_the_rest_is_compared(found, name):
    is_right, results = found
    one = results[name]
    if is_right:
        assert one.status == "equal"
        left = "left out, as two processes of the base differ there: "
        assert name == "keys" or one.reservation.startswith(left)
    else:
        assert (one.status, one.reason) == (
            "differ",
            "output['n'] is 5 instead of 4; 100% of its numbers differ",
        )


@pytest.mark.parametrize("name", ["path", "alone"])
def test_where_nothing_is_left_nothing_is_compared(found, name):
    one = found[1][name]
    assert (one.status, one.reason) == (
        "not compared",
        "left out, as two processes of the base differ there: output",
    )


def answered(number, parts):
    call = {"parts": parts, "failure": ""}
    inputs = {"argument 1": ["text", [], str(number)], "argument 2": ["int64", [], str(number)]}
    return {"answer": "returned", "inputs": inputs, "elements": 4, "calls": [call]}


def test_what_only_rounding_changes_is_steady_and_names_are_left_out_where_they_differ():
    numbers = {"output['a']": ["float64", [2], "1"], "output['b']": ["int64", [], "1"]}
    names = {"output['by'][<Node 1>]": ["int64", [], "1"], "output['by']['x']": ["int64", [], "1"]}
    base = answered(1, {**numbers, **names})
    again = answered(
        2,
        {
            "output['a']": ["float64", [2], "2"],
            "output['b']": ["int64", [], "2"],
            "output['by'][<Node 2>]": ["int64", [], "1"],
            "output['by']['x']": ["int64", [], "1"],
        },
    )
    values = {"output['a']": (np.ones(2), np.ones(2) + 1e-16), "output['b']": (np.array(1), np.array(2))}
    found = unsteady_places(base, again, lambda side, _, place: values[place][side])
    assert found.places == {"argument 1", "output['b']"}
    assert found.prefixes == ("output['by'][",)
    assert found.has("output['by'][<Node 3>]")
    assert not found.has("output['by']['x']")
    assert not found.has("output['c']")
