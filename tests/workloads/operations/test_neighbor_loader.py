"""Loaders of real runs end their workers, which draw different neighbours."""

import os
import signal
import subprocess
import time
from dataclasses import replace

import psutil
import pytest
import torch

from gnnbench.workloads.operations import OPERATIONS, neighbor_loader
from tests.suite import ROOT, environment, pytest_on_cpu
from tests.workloads.cells import measured

EACH_PLATFORM = pytest.mark.parametrize("platform", OPERATIONS["neighbor_loader_2_workers"].calls)


@EACH_PLATFORM
def test_an_interrupted_benchmark_leaves_no_process_behind(platform, make_case):
    before = set(psutil.Process().children())
    workers = []

    def interrupted(workload):
        (loading,) = workload.inputs
        loading.take(1)
        workers.extend(set(psutil.Process().children()) - before)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measured(make_case("neighbor_loader_2_workers", platform), interrupted)
    assert len(workers) == 2
    assert not [one for one in workers if one.is_running()]


def group(process):
    try:
        return os.getpgid(process.pid)
    except ProcessLookupError:
        return None


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("platform", "operation", "kill"),
    [
        pytest.param("pyg", "neighbor_loader_2_workers", os.kill, id="kill -INT"),
        pytest.param("dgl", "neighbor_loader_first_2_workers", os.killpg, id="Ctrl-C"),
    ],
)
def test_an_interrupted_run_leaves_no_process_behind(platform, operation, kill):
    """Ctrl-C in a terminal interrupts the workers too."""
    words = ("benchmarks/test_neighbor_loader.py", "-k", f"{operation} and {platform}", "--gnn-all")
    command = pytest_on_cpu(*words, "--gnn-dataset", "rmat:10", "--benchmark-max-time", "600", "-q")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen(command, cwd=ROOT, env=environment(), start_new_session=True, **pipes)
    deadline, workers = time.monotonic() + 240, []
    while process.poll() is None and time.monotonic() < deadline and len(workers) < 2:
        workers = psutil.Process(process.pid).children(recursive=True)
        time.sleep(0.01)
    if len(workers) == 2:
        kill(process.pid, signal.SIGINT)
    else:
        process.kill()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, out
    assert "KeyboardInterrupt" in out
    assert not psutil.wait_procs(workers, timeout=10)[1]
    assert not [one for one in psutil.process_iter() if group(one) == process.pid]


@EACH_PLATFORM
def test_workers_of_one_loader_draw_different_neighbors(platform, make_case, small_graph, monkeypatch):
    """DGL's would draw the same ones, if they were not seeded."""
    leaves = 400
    hub = torch.stack((torch.arange(1, leaves + 1), torch.zeros(leaves, dtype=torch.int64)))
    x, y = torch.ones(leaves + 1, 1), torch.zeros(leaves + 1, dtype=torch.int64)
    monkeypatch.setattr(neighbor_loader, "nodes", lambda _graph: torch.zeros(8, dtype=torch.int64))
    monkeypatch.setattr(neighbor_loader, "size", lambda _graph: 1)
    graph = replace(small_graph, edge_index=hub, x=x, y=y)
    case = make_case("neighbor_loader_2_workers", platform, graph=graph)
    of = {"pyg": lambda batch: batch.n_id, "dgl": lambda batch: batch[0]}[platform]

    def draws():
        with neighbor_loader.loading(case) as loading:
            batches = neighbor_loader.take(loading)
        return len({frozenset(of(batch).tolist()) for batch in batches})

    assert draws() == neighbor_loader.BATCHES
    if platform == "dgl":
        monkeypatch.setattr(neighbor_loader, "seed_worker", lambda _worker: None)
        assert draws() == neighbor_loader.BATCHES / 2
