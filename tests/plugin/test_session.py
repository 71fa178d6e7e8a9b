from dataclasses import replace

import pytest

from gnnbench.options import Options
from gnnbench.plugin.session import Run, arguments_without, asks_for, stop
from gnnbench.workloads.graphs import locate
from gnnbench.workloads.operations import OPERATIONS
from gnnbench.workloads.spec import Spec

SPEC = Spec("spmm_sum", "forward", "torch", "float32", "int64", "rmat:5", 128, "cpu")


@pytest.fixture(autouse=True)
def _offline(monkeypatch, tmp_path):
    monkeypatch.delenv("GNNBENCH_DATA", raising=False)
    monkeypatch.setenv("GNNBENCH_CACHE", str(tmp_path))
    monkeypatch.setattr(locate, "is_reachable", lambda _url: False)


def run(**given):
    return Run(Options.parse(device="cpu", **given))


def test_a_benchmark_of_a_record_is_asked_for_on_its_operation_s_own_graphs(monkeypatch):
    assert asks_for(run(), None)
    assert not asks_for(run(), SPEC)
    assert asks_for(run(dataset=["rmat:5"]), SPEC)
    assert asks_for(run(), replace(SPEC, dataset="cora:synthetic", hidden=256))
    monkeypatch.setitem(OPERATIONS, "spmm_sum", replace(OPERATIONS["spmm_sum"], graphs=("rmat:5",)))
    assert asks_for(run(), SPEC)
    assert not asks_for(run(), replace(SPEC, dataset="cora:synthetic", hidden=256))
    assert not asks_for(run(dataset=["rmat:6"]), SPEC)
    assert asks_for(run(dataset=["rmat:5"]), replace(SPEC, operation="removed"))


def test_the_base_gets_no_option_that_its_gnnbench_may_not_know(pytester):
    words = ("--benchmark-compare", "--gnn-time=4min", "--gnn-budget", "9", "--gnn-device=cpu", "-q", "file")
    found = arguments_without(pytester.parseconfigure(*words), "time", words=["file"])
    assert [word for word in found if "basetemp" not in word][-2:] == ["--gnn-device=cpu", "-q"]
    assert not any(word in ("9", "file") or "gnn-budget" in word for word in found)


def test_a_mistake_that_is_found_late_stops_the_session_but_only_a_test_of_a_worker(pytester):
    config = pytester.parseconfig()
    with pytest.raises(pytest.exit.Exception, match="gnnbench: wrong") as stopped:
        stop("wrong", config)
    assert stopped.value.returncode == pytest.ExitCode.USAGE_ERROR
    config.workerinput = {}
    with pytest.raises(pytest.fail.Exception, match="gnnbench: wrong"):
        stop("wrong", config)
