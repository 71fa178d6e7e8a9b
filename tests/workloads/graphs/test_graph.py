import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnnbench.errors import UsageError
from gnnbench.workloads.graphs.graph import Graph

NODES = 5


def _build(
    source: list[int], target: list[int], name: str = "g", x: np.ndarray | None = None, y: int = NODES
) -> Graph:
    nodes = np.arange(NODES)
    x = np.ones((NODES, 2), dtype=np.float32) if x is None else x
    ends = (np.array(end, dtype=np.int64) for end in (source, target))
    return Graph.build(
        name, *ends, x, np.zeros(y, dtype=np.int64), 2, nodes[:2], nodes[2:3], nodes[3:], synthetic=True
    )


@given(st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=30))
def test_edges_are_simple_symmetric_and_in_row_order(edges: list[tuple[int, int]]) -> None:
    graph = _build([s for s, _ in edges], [t for _, t in edges])
    entries = [(t, s) for s, t in graph.edge_index.T.tolist()]
    assert entries == sorted({pair for s, t in edges if s != t for pair in ((s, t), (t, s))})


def test_content_decides_the_hash_and_the_name_does_not() -> None:
    assert _build([0], [1], "a").content_hash == _build([1], [0], "b").content_hash
    assert _build([0], [1]).content_hash != _build([0], [2]).content_hash


def test_arrays_that_cannot_be_written_are_copied() -> None:
    x = np.ones((NODES, 2), dtype=np.float32)
    x.flags.writeable = False
    graph = _build([0], [1], x=x)
    graph.x.zero_()
    assert x.all()
    assert graph.test_mask.tolist() == [False, False, False, True, True]
    assert graph.x.dtype == torch.float32


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"source": [0, 5], "target": [1, 1]}, "edge 1 has source node 5, outside 0..4"),
        ({"source": [0], "target": [-1]}, "edge 0 has target node -1, outside 0..4"),
        ({"source": [0], "target": [1], "y": 4}, "4 labels for 5 nodes"),
        (
            {"source": [0], "target": [1], "x": np.full((NODES, 2), np.nan, dtype=np.float32)},
            "feature 0 of node 0",
        ),
    ],
)
def test_bad_input_is_one_line(bad: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        _build(**bad)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
