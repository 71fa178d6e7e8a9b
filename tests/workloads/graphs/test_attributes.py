import numpy as np
import pytest

from gnnbench.workloads.graphs import attributes
from gnnbench.workloads.graphs.stream import Stream


@pytest.mark.parametrize("nodes", [7, 100, 2708])
def test_classes_fall_off_like_a_harmonic_series(nodes: int) -> None:
    counts = np.bincount(attributes.labels(Stream(0), nodes, 4), minlength=4)
    expected = nodes * np.array([1 / 2, 1 / 3, 1 / 4, 1 / 5]) / (1 / 2 + 1 / 3 + 1 / 4 + 1 / 5)
    assert np.abs(counts - expected).max() <= 1


def test_dense_features_are_standard_noise_around_their_class() -> None:
    label = np.repeat(np.arange(4), 70_000 // 4)  # more rows than are made at once
    x = attributes.dense(Stream(0), label, 4, 5)
    assert (x.dtype, x.shape) == (np.float32, (70_000, 5))
    assert abs(x[label == 0].std(axis=0).mean() - 1.15) < 0.02
    assert not np.allclose(x[label == 0].mean(axis=0), x[label == 1].mean(axis=0), atol=0.01)


def test_a_balanced_split_trains_on_as_many_of_each_class() -> None:
    label = np.repeat(np.arange(3), (50, 30, 20)).astype(np.int64)
    train, val, test = attributes.balanced_split(Stream(0), label, 3, (30, 20, 40))
    assert np.bincount(label[train]).tolist() == [10, 10, 10]
    assert (len(val), len(test)) == (20, 40)
    assert len({*train, *val, *test}) == 90


def test_tasks_are_alike_within_a_community() -> None:
    community = np.repeat(np.arange(2), 500)
    y = attributes.tasks(Stream(0), community, 20)
    rate = y[:500].mean(axis=0)
    assert ((rate < 0.2) | (rate > 0.8)).all()
