import json

import pytest

from gnnbench.engine.store.parts import FORMAT_VERSION
from gnnbench.suite import roofline
from gnnbench.suite.plugin.fixtures import _identity
from gnnbench.suite.roofline import Rates
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


def test_a_limit_is_a_fraction_of_the_least_time(make_case):
    asked = []

    def rates(dtype):
        asked.append(dtype)
        return Rates(copy_bytes_per_second=1e9, flops_per_second=1e12)

    found = roofline.limit(make_case("spmm_sum"), 1.0, rates)
    assert found.fraction == pytest.approx(found.least.bytes / 1e9)
    assert found.note == ""
    assert roofline.limit(make_case("spmm_sum"), 1e-9, rates).note
    assert asked == ["float32"] * 2
    assert roofline.limit(make_case("of my own"), 1.0, rates) is None
    assert roofline.limit(make_case("conv", "pyg", dtype="autocast"), 1.0, rates) is None
    assert len(asked) == 2, "nothing is measured that is not used"
