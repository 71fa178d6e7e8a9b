from dataclasses import replace

import pytest

from gnnbench.suite.operations import OPERATIONS
from gnnbench.suite.plugin import session
from gnnbench.suite.spec import Spec

SPEC = Spec("spmm_sum", "forward", "torch", "float32", "int64", "rmat:5", 128, "cpu")


@pytest.fixture(autouse=True)
def _offline(monkeypatch, tmp_path):
    monkeypatch.delenv("GNNBENCH_DATA", raising=False)
    monkeypatch.setenv("GNNBENCH_CACHE", str(tmp_path))


def test_a_benchmark_of_a_record_is_asked_for_on_its_operation_s_own_graphs(monkeypatch, pytester):
    def selects(spec, *words):
        config = pytester.parseconfigure("--gnn-device=cpu", *words)
        return session.selects(config, spec.labels)

    assert not selects(SPEC)
    assert selects(SPEC, "--gnn-dataset=rmat:5")
    assert selects(replace(SPEC, dataset="cora:synthetic", hidden=256))
    monkeypatch.setitem(OPERATIONS, "spmm_sum", replace(OPERATIONS["spmm_sum"], graphs=("rmat:5",)))
    assert selects(SPEC)
    assert not selects(replace(SPEC, dataset="cora:synthetic", hidden=256))
    assert not selects(SPEC, "--gnn-dataset=rmat:6")
    assert selects(replace(SPEC, operation="removed"), "--gnn-dataset=rmat:5")
