from types import SimpleNamespace

import pytest

from gnnbench.profile import selection


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
    assert selection.named(ALL, name) == expected


def test_without_an_operation_of_that_name_those_that_begin_with_it_are_meant():
    assert selection.named([AGGREGATE, CACHED, SAMPLED, PLAIN], "gat") == [CACHED, PLAIN]


def test_titles_say_what_tells_benchmarks_apart():
    assert selection.titles([GAT, cell("gat", platform="dgl"), PLAIN]) == [
        "gat forward pyg",
        "gat forward dgl",
        "test_gat_layer",
    ]
    graphs = [cell("gat", dtype="float32", graph=name) for name in ("cora", "rmat:5")]
    assert selection.titles(graphs) == ["gat forward pyg cora", "gat forward pyg rmat:5"]
