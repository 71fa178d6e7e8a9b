import json

from gnnbench.engine.store.parts import FORMAT_VERSION
from gnnbench.suite.plugin.fixtures import _identity
from gnnbench.suite.spec import Spec


def test_identity_and_graph_survive_json(make_case, small_graph):
    case = make_case(hidden=16)
    read = json.loads(json.dumps(_identity(case)))
    assert Spec(**read["spec"]) == case.spec
    assert read["version"] == FORMAT_VERSION
    assert read["graph"] == {
        "name": "small",
        "synthetic": True,
        "nodes": 60,
        "entries": small_graph.num_edges,
        "features": 24,
        "classes": 4,
        "content_hash": small_graph.content_hash,
    }
