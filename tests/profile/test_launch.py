"""What the process that profiles selects, and how it calls it."""

import pytest

from gnnbench.engine.process.variants.import_roots import Trees
from gnnbench.engine.profile import launch
from tests.compare.ab.workers import TERMS

SUITE = """
import pytest


@pytest.mark.parametrize("graph", ["cora", "rmat:5"])
@pytest.mark.parametrize("operation", ["gat", "gat_cached", "sampled_gat"])
@pytest.mark.parametrize(("direction", "platform"), [("forward", "pyg")])
def test_any(benchmark, operation, direction, platform, graph):
    benchmark(int)


def test_gat_layer(benchmark):
    benchmark(int)


def test_plain():
    pass
"""
GAT, CACHED, SAMPLED = (
    [f"{name} forward pyg {graph}" for graph in ("cora", "rmat:5")]
    for name in ("gat", "gat_cached", "sampled_gat")
)
OTHER = ["test_gat_layer"]


class Parent(list):
    """Is told what goes on, and asks for no test."""

    send = list.append

    def receive(self):
        return {"command": "quit"}


@pytest.mark.parametrize(
    ("given", "arguments", "expected"),
    [
        ({}, (), [*GAT, *CACHED, *SAMPLED, *OTHER]),
        ({"select": "gat"}, (), GAT),
        ({"select": "sampled"}, (), SAMPLED),
        ({"select": "gat_layer"}, (), OTHER),
        ({"select": "cached or layer"}, (), [*CACHED, *OTHER]),
        ({"select": "cached or layer"}, ("-k", "pyg"), CACHED),
        (
            {"select": "gat"},
            ("--deselect", "test_suite.py::test_any[forward-pyg-gat-cora]"),
            ["gat forward pyg"],
        ),
    ],
)
def test_an_operation_is_meant_before_its_first_words_and_these_before_an_expression(
    pytester, given, arguments, expected
):
    """Titles say what tells benchmarks apart."""
    pytester.makepyfile(test_suite=SUITE)
    terms = {"select": None, "kinds": ["phases"], "repeats": 1, "folder": str(pytester.path)}
    parent = Parent()
    worker = launch.ProfilingWorker({**TERMS, **terms, **given}, parent, Trees([]))
    pytester.inline_run(*arguments, plugins=[worker])
    assert parent[0].items() >= {"titles": expected, "notes": []}.items()
    assert parent[1] == {"answer": "finished", "status": 0}
