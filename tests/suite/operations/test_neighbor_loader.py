"""Loaders of real runs end their workers, which draw different neighbours."""

from dataclasses import replace

import pytest
import torch

from gnnbench.suite.operations import OPERATIONS, neighbor_loader

EACH_PLATFORM = pytest.mark.parametrize("platform", OPERATIONS["neighbor_loader_2_workers"].calls)


@EACH_PLATFORM
def test_workers_of_one_loader_draw_different_neighbors(platform, make_case, small_graph, monkeypatch):
    """DGL's would draw the same ones, if they were not seeded."""
    leaves = 400
    hub = torch.stack((torch.arange(1, leaves + 1), torch.zeros(leaves, dtype=torch.int64)))
    x, y = torch.ones(leaves + 1, 1), torch.zeros(leaves + 1, dtype=torch.int64)
    monkeypatch.setattr(neighbor_loader, "batches_of", lambda _count: torch.zeros(8, dtype=torch.int64))
    graph = replace(small_graph, edge_index=hub, x=x, y=y)
    case = make_case("neighbor_loader_2_workers", platform, graph=graph)
    of = {"pyg": lambda batch: batch.n_id, "dgl": lambda batch: batch[0]}[platform]

    def draws():
        with neighbor_loader.loading(case) as loading:
            batches = neighbor_loader.take(loading)
        return len({frozenset(of(batch).tolist()) for batch in batches})

    assert draws() == neighbor_loader.BATCHES
    if platform == "dgl":
        monkeypatch.setattr("gnnbench.suite.operations.epoch_sage_batches.seed_worker", lambda _worker: None)
        assert draws() == neighbor_loader.BATCHES / 2
