import sys

from gnnbench.engine.ground.packages import INSTALL
from gnnbench.engine.show.console import Terminal
from gnnbench.suite import listing


def render(data_root=None):
    return Terminal(100).write(listing.document(data_root))


def rows(text, name):
    return [line.split() for line in text.splitlines() if line.split()[:1] == [name]]


def test_says_where_a_data_set_is(tmp_path):
    raw = tmp_path / "Planetoid/CiteSeer/raw"
    raw.mkdir(parents=True)
    for part in ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"):
        (raw / f"ind.citeseer.{part}").touch()
    text = render(tmp_path)
    assert rows(text, "citeseer")[0][1:] == ["3,327", "9,104", "3,703", "6", "yes", "planetoid"]
    assert rows(text, "cora")[0][-2:] == ["no", "planetoid"]


def test_says_how_to_get_a_missing_platform(monkeypatch):
    assert rows(render(), "pyg")[0][-1] == "yes"
    monkeypatch.setitem(sys.modules, "dgl", None)
    assert f"\ndgl: dgl is not installed: {INSTALL['dgl']}\n" in render()
