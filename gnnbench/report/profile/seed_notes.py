"""Profile figures published in 2021 for PyG and DGL: 100 epochs of a three-layer GCN."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple


class Published(NamedTuple):
    """A row of the published figures."""

    event: str
    """The printed name."""
    name: str
    """Our range's name, or an operator, `aten::...`."""
    calls: int | None
    """Calls per epoch; None if not published."""
    milliseconds: float | None
    """Time per call."""
    share: float | None
    """Fraction of the epoch: published, or computed from count, time and the four phases."""


class Notes(NamedTuple):
    """The published figures of a library on a dataset."""

    library: str
    platform: str
    """Our equivalent: PyG used a SparseTensor on ogbn-arxiv and edge_index on Cora."""
    rows: tuple[Published, ...]


def _phases(forward: float, loss: float, backward: float, step: float) -> Iterator[Published]:
    whole = forward + loss + backward + step
    for name, value in (
        ("forward", forward),
        ("loss", loss),
        ("backward", backward),
        ("optimizer.step", step),
    ):
        yield Published(name, name, 1, value, value / whole)


def _inside(epoch: float, rows: Sequence[tuple[str, str, float]]) -> Iterator[Published]:
    """Yield the rows of what each of the three layers does once."""
    for event, name, value in rows:
        yield Published(event, name, 3, value, 3 * value / epoch)


SOURCE = "github.com/jh0shin/Graph-Neural-Network, 2021"
ITEM, SORT = "aten::_local_scalar_dense", "aten::sort"
_SGEMM = Published("volta_sgemm_128x64", "x·W", None, None, 0.4)
SEED: Mapping[str, tuple[Notes, ...]] = {
    "ogbn-arxiv": (
        Notes(
            "PyG",
            "sparse",
            (
                *_phases(60.0, 1.9, 26.9, 1.0),
                *_inside(
                    89.8,
                    [
                        ("gcn_norm", "gcn_norm", 7.7),
                        ("propagate", "propagate", 12.5),
                        ("message_and_aggregate", "message_and_aggregate", 12.4),
                        ("bias", "bias", 0.6),
                    ],
                ),
                Published("mul", "mul", None, 0.8, None),
                Published("set_diag", "set_diag", 3, None, None),
                Published("remove_diag", "remove_diag", 3, None, None),
                Published("argsort", SORT, 3, 1900 / 300, 1.9 / 8.7),
                Published(".item()", ITEM, 60, 4600 / 6000, 4.6 / 8.7),
            ),
        ),
        Notes(
            "DGL",
            "dgl",
            (
                *_phases(22.9, 1.9, 14.3, 0.9),
                *_inside(
                    40.0,
                    [
                        ("update_all + sum", "update_all", 4.5),
                        ("matmul", "x·W", 0.8),
                        ("bias", "bias", 0.4),
                    ],
                ),
                Published("mul", "mul", None, 0.5, None),
                Published("activation", "activation", None, 0.4, None),
                Published("graphconv forward", "GraphConv", 3, None, None),
                Published("in_degrees", "degrees", 6, None, None),
                Published("_gspmm", "spmm", 3, None, None),
                Published(".item()", ITEM, 6, None, None),
            ),
        ),
    ),
    "cora": (
        Notes(
            "PyG",
            "pyg",
            (
                Published("gcn_norm", "gcn_norm", 3, 1740 / 300, 1.74 / 4.04),
                Published("add_remaining_self_loops", "add_remaining_self_loops", 3, 1250 / 300, 1.25 / 4.04),
                Published("run_backward", "backward", 1, 790 / 100, 0.79 / 4.04),
                _SGEMM,
            ),
        ),
        Notes(
            "DGL",
            "dgl",
            (
                Published("graphconv forward", "GraphConv", 3, 2060 / 300, 2.06 / 4.09),
                Published("run_backward", "backward", 1, 870 / 100, 0.87 / 4.09),
                Published("in_degrees", "degrees", 6, None, None),
                Published(".item()", ITEM, 6, None, None),
                _SGEMM,
            ),
        ),
    ),
}
"""Dataset: figures of 100 epochs, from phase timers and cProfile."""
