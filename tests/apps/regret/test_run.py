from pathlib import Path

import pytest

from gnnbench.apps.regret import run
from gnnbench.apps.regret.families import family_of
from gnnbench.apps.regret.result import Point
from gnnbench.apps.regret.run import Grid
from gnnbench.engine.measure.simulated_clock import FakeMachine, Truth
from gnnbench.suite.graphs.catalog import DatasetName
from gnnbench.suite.graphs.load import load
from gnnbench.suite.spec import FORWARD, FORWARD_BACKWARD


def grid(*operations, datasets=("rmat:5",), hidden=(8,), threads=(1,)):
    families = [family_of(name) for name in operations]
    names = tuple(map(DatasetName.parse, datasets))
    directions = (FORWARD, FORWARD_BACKWARD)
    return Grid(families, directions, names, hidden, ("float32",), ("int64",), threads, "cpu")


def test_a_grid_is_every_combination_in_the_order_of_references():
    places = grid("scatter_max", datasets=("rmat:5", "hub:6@2"), hidden=(8, 16), threads=(1, 2)).places()
    found = [(dataset.id, place.hidden, place.direction, place.threads) for _, dataset, place in places]
    assert len(set(found)) == len(found) == 2**4
    assert found[:5] == [
        ("rmat:5", 8, FORWARD, 1),
        ("rmat:5", 8, FORWARD, 2),
        ("rmat:5", 8, FORWARD_BACKWARD, 1),
        ("rmat:5", 8, FORWARD_BACKWARD, 2),
        ("rmat:5", 16, FORWARD, 1),
    ]
    assert all(place.dataset == dataset.id for _, dataset, place in places)


def test_an_operation_is_measured_in_its_directions_and_at_one_width_if_it_has_no_features():
    places = [place for _, _, place in grid("degree", "to_csr", "coalesce", hidden=(8, 16)).places()]
    assert [(place.operation, place.direction, place.hidden) for place in places] == [
        ("degree", FORWARD, 8),
        ("to_csr", FORWARD, 8),
        ("coalesce", FORWARD, 8),
        ("coalesce", FORWARD_BACKWARD, 8),
    ]


def clock_of(_devices):
    return FakeMachine(0, {"all": Truth(1e-3)}).clock("all")


def measured(of, seconds=0.0, steps=None):
    said = [] if steps is None else steps
    return run.measure(of, seconds, 0.03, None, Path(), clock_of, said.append)


def test_every_point_is_measured_one_after_another_and_a_graph_is_loaded_once(monkeypatch):
    steps, loaded = [], []

    def counted(name, *rest):
        loaded.append(name.id)
        return load(name, *rest)

    monkeypatch.setattr(run, "load", counted)
    found = measured(grid("degree", "scatter_sum", datasets=("rmat:5", "uniform:5@2")), steps=steps)
    first = next(found)
    assert (first.place.operation, first.place.dataset, steps) == (
        "degree",
        "rmat:5",
        ["point 1 of 6: degree forward on rmat:5"],
    )
    points = [first, *found]
    assert steps[-1] == "point 6 of 6: scatter_sum forward_backward on uniform:5@2"
    assert loaded == ["rmat:5", "uniform:5@2"]
    assert all(point.fastest and point.nodes == 32 for point in points)
    assert {point.place.dataset: point.entries for point in points}["uniform:5@2"] < 128


def test_each_point_gets_an_equal_part_of_the_time_that_is_left(monkeypatch):
    now, parts = iter([100.0, 100.0, 100.0, 130.0, 500.0]), []

    def measure(_family, place, _graph, _kept, _clock_of, _effect, seconds):
        parts.append(seconds)
        return Point(place, 1, 1)

    monkeypatch.setattr(run.point, "measure", measure)
    monkeypatch.setattr(run.RealTime, "seconds", staticmethod(lambda: next(now)))
    list(measured(grid("scatter_max", hidden=(8, 16)), seconds=40.0))
    assert parts == [pytest.approx(10.0), pytest.approx(40 / 3), pytest.approx(5.0), 0.0]
