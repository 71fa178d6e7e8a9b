import sys

import pytest

from gnnbench.engine.show.console import Terminal
from gnnbench.suite import listing
from gnnbench.suite.operations import OPERATIONS


@pytest.fixture
def render(monkeypatch):
    def render(data_root=None):
        monkeypatch.setenv("COLUMNS", "100")
        return Terminal().write(listing.document(data_root))

    return render


def rows(text, name):
    return [line.split() for line in text.splitlines() if line.split()[:1] == [name]]


def test_an_operation_s_calls_limits_and_reasons_are_whole():
    for operation in OPERATIONS.values():
        text = "\n".join(listing.operation(operation.name))
        for call in operation.calls.values():
            assert call.text in text
            assert all(limit.reason in text for limit in call.limits)
        assert all(reason in text for reason in operation.absent.values())
        assert all(direction in text for direction in operation.directions)


def test_says_where_a_data_set_is(render, tmp_path):
    raw = tmp_path / "Planetoid/CiteSeer/raw"
    raw.mkdir(parents=True)
    for part in ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"):
        (raw / f"ind.citeseer.{part}").touch()
    text = render(tmp_path)
    assert rows(text, "citeseer")[0][1:] == ["3,327", "9,104", "3,703", "6", "yes", "planetoid"]
    assert rows(text, "cora")[0][-2:] == ["no", "planetoid"]


def test_says_how_to_get_a_missing_platform(monkeypatch, render):
    assert rows(render(), "pyg")[0][-1] == "yes"
    monkeypatch.setitem(sys.modules, "dgl", None)
    assert "\ndgl: dgl is not installed: pip install 'gnnbench[dgl]'\n" in render()
