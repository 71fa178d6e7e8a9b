from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest
import torch

from gnnbench.suite.graphs.graph import Graph


@pytest.fixture(scope="session")
def directed_graph(small_graph: Graph) -> Graph:
    """The small graph without a third of its entries: most edges have one direction only."""
    kept = torch.rand(small_graph.num_edges, generator=torch.Generator().manual_seed(0)) < 2 / 3
    return replace(small_graph, edge_index=small_graph.edge_index[:, kept])


@pytest.fixture
def without_back_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compile without the back end, which takes long and does not matter for graphs, breaks and results."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    yield
    torch.compiler.reset()
