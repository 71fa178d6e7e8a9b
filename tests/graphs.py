"""Fixtures: graphs, and what kernels get of them."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gnnbench.engine.ground.packages import missing
from gnnbench.suite.case import Case
from gnnbench.suite.cells import not_installed
from gnnbench.suite.graphs.catalog import DATASETS, DatasetName
from gnnbench.suite.graphs.graph import Graph
from gnnbench.suite.graphs.load import load
from gnnbench.suite.graphs.published import Relation, raw_folder
from gnnbench.suite.operations import OPERATIONS
from gnnbench.suite.platforms import PLATFORMS
from gnnbench.suite.spec import Spec

needs_dgl = pytest.mark.skipif(bool(missing(["dgl"])), reason=str(missing(["dgl"])))


@pytest.fixture(autouse=True)
def _platform_is_installed(request: pytest.FixtureRequest) -> None:
    """Skip a test whose `platform`, or its call of `operation`, needs a package that was left out."""
    callspec = getattr(request.node, "callspec", None)
    platform = PLATFORMS.get(callspec.params.get("platform")) if callspec else None
    if platform is None:
        return
    operation = OPERATIONS.get(str(callspec.params.get("operation")))
    reason = not_installed(operation, platform.name, "cpu") if operation else missing(platform.packages)
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def small_graph() -> Graph:
    """Sixty nodes, a hub, an isolated node, labels and splits."""
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, 59, (2, 150))
    source[:30] = 7
    return _of_sixty_nodes("small", rng, source, target, np.split(rng.permutation(60), [20, 40]))


def _of_sixty_nodes(name, rng, source, target, split, **types):
    x, y = rng.random((60, 24), dtype=np.float32), rng.integers(0, 4, 60)
    return Graph.build(name, source, target, x, y, 4, *split, synthetic=True, **types)


@pytest.fixture(scope="session")
def cora(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    root = Path(os.environ.get("GNNBENCH_DATA") or "/nonexistent")
    if raw_folder(DATASETS["cora"], root) is None:
        pytest.skip("the real Cora is needed: set GNNBENCH_DATA to a folder with Planetoid/Cora/raw")
    return load(DatasetName.parse("cora"), root, tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def typed_graph() -> Graph:
    """Three types of nodes and eight relations: one has no edges, and two share some pairs of nodes."""
    rng = np.random.default_rng(2)
    sizes = {"paper": 40, "author": 15, "topic": 5}
    first = {"paper": 0, "author": 40, "topic": 55}
    counts = {
        Relation("paper", "cites", "paper"): 90,
        Relation("paper", "extends", "paper"): 30,
        Relation("author", "writes", "paper"): 40,
        Relation("paper", "has", "topic"): 60,
    }
    cites, *others = counts
    relations = (
        cites,  # its own reverse
        *(each for relation in others for each in (relation, relation.reverse)),
        Relation("topic", "contains", "topic"),
    )
    edges = []
    for relation, count in counts.items():
        source, target = (rng.integers(0, sizes[end], count) for end in (relation.source, relation.target))
        target[: count // 4] = 3
        position = np.full(count, relations.index(relation))
        edges.append(np.stack((source + first[relation.source], target + first[relation.target], position)))
    edges[1][:2, :20] = edges[0][:2, :20]
    source, target, edge_type = np.concatenate(edges, axis=1)
    split = np.split(rng.permutation(40), [20, 30])
    types = {"edge_type": edge_type, "relations": relations, "type_sizes": sizes}
    return _of_sixty_nodes("typed", rng, source, target, split, **types)


@pytest.fixture(scope="session")
def molecules() -> Graph:
    """Sixteen molecules, 371 atoms."""
    return load(DatasetName.parse("molecules:4"), None, Path())


@pytest.fixture(scope="session")
def make_case(small_graph: Graph, typed_graph: Graph, molecules: Graph) -> Callable[..., Case]:
    """Make a case, on the CPU, in float32 and forward where nothing else is asked for.

    Its graph is the small one, the one with types for an operation that needs relations, or molecules for one
    that needs several graphs. Where its platform is not installed, the test is skipped.
    """

    def make(
        operation: str = "spmm_sum",
        platform: str = "torch",
        direction: str = "forward",
        dtype: str = "float32",
        index_dtype: str = "int64",
        hidden: int = 8,
        graph: Graph | None = None,
    ) -> Case:
        known = OPERATIONS.get(operation)
        if known and platform in known.calls and (reason := not_installed(known, platform, "cpu")):
            pytest.skip(reason)
        if graph is None:
            graph = typed_graph if known and known.relational else small_graph
            graph = molecules if known and known.batched else graph
        return Case(
            Spec(operation, direction, platform, dtype, index_dtype, graph.name, hidden, "cpu"), graph
        )

    return make
