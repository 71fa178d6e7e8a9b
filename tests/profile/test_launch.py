"""What the process that profiles selects."""

from types import SimpleNamespace

import pytest

from gnnbench.profile import launch


class Parent(list):
    """Is told what goes on, and lets it go on."""

    send = list.append

    def receive(self):
        return {"goes_on": True}


@pytest.mark.parametrize(
    ("given", "arguments", "expected"),
    [
        ({}, (), ["gat", "gat_cached", "aggregate"]),
        ({"select": "gat"}, (), ["gat"]),
        ({"select": "gat or aggregate"}, (), ["gat", "gat_cached", "aggregate"]),
        ({"select": "gat or aggregate"}, ("-k", "cached"), ["gat_cached"]),
        ({"select": "gat", "only": ["test_suite.py::test_any[aggregate]"]}, (), ["aggregate"]),
    ],
    ids=["all", "operation", "expression", "both expressions", "only"],
)
def test_an_operation_is_meant_before_an_expression(pytester, given, arguments, expected):
    pytester.makepyfile(
        test_suite="import pytest\n\n\n"
        "@pytest.mark.parametrize('operation', ['gat', 'gat_cached', 'aggregate'])\n"
        "def test_any(benchmark, operation):\n    benchmark(int)\n\n\n"
        "def test_plain():\n    pass\n"
    )
    terms = {"select": None, "only": [], "kinds": ["phases"], "repeats": 1, "folder": str(pytester.path)}
    parent = Parent()
    telling = launch._Telling(parent, {**terms, **given})
    found = pytester.inline_run("--collect-only", *arguments, plugins=[telling])
    assert found.ret == 0
    assert parent[0] == {"collected": expected, "notes": []}


def item(name, **params):
    parts = {"name": name, "originalname": name.partition("[")[0]}
    return SimpleNamespace(**parts, **({"callspec": SimpleNamespace(params=params)} if params else {}))


def cell(operation, *, platform="pyg", **others):
    params = {"operation": operation, "direction": "forward", "platform": platform, **others}
    return item(f"test_any[{'-'.join(params.values())}]", **params)


GAT, CACHED, SAMPLED = cell("gat"), cell("gat_cached"), cell("sampled_gat")
AGGREGATE, PLAIN = cell("aggregate"), item("test_gat_layer")
ALL = (AGGREGATE, GAT, CACHED, SAMPLED, PLAIN)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gat", [GAT]),
        ("gat_cached", [CACHED]),
        ("sampled", [SAMPLED]),
        ("ga", []),
        ("aggregate", [AGGREGATE]),
        ("gat_layer", [PLAIN]),
        ("gat and pyg", []),
    ],
)
def test_an_operation_is_named_as_a_whole_or_by_its_first_words(name, expected):
    assert launch.named(ALL, name) == expected


def test_without_an_operation_of_that_name_those_that_begin_with_it_are_meant():
    assert launch.named([AGGREGATE, CACHED, SAMPLED, PLAIN], "gat") == [CACHED, PLAIN]


def test_titles_say_what_tells_benchmarks_apart():
    assert launch.titles([GAT, cell("gat", platform="dgl"), PLAIN]) == [
        "gat forward pyg",
        "gat forward dgl",
        "test_gat_layer",
    ]
    graphs = [cell("gat", dtype="float32", graph=name) for name in ("cora", "rmat:5")]
    assert launch.titles(graphs) == ["gat forward pyg cora", "gat forward pyg rmat:5"]
