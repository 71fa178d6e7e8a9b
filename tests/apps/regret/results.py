"""Saved regrets, made without timing anything."""

from dataclasses import replace

from gnnbench.apps.regret.race import Ratio
from gnnbench.apps.regret.result import Place, Point, Regrets, Way
from tests.run_files import ENVIRONMENT

CALL, OTHER, SORTED = "scatter_max on pyg", "scatter_max on torch", "sort, segment_reduce"
PLACE = Place("scatter_max", "forward", "uniform:12@1", 8, "float32", "int64", 1, "cpu")
NODES = 4096


def point(dataset="uniform:12@1", degree=2.0, error=0.01, *, left_out=None, others=None, **ratios):
    """Return a point of three ways, of which two are calls.

    Args:
        dataset: of the place.
        degree: mean number of neighbours.
        error: of all log ratios.
        left_out: reasons by way.
        others: other fields of the place.
        ratios: times of `call`, `other` and `sorted_` over that of the fastest way.
    """
    times = {
        CALL: ratios.get("call", 1.0),
        OTHER: ratios.get("other", 1.2),
        SORTED: ratios.get("sorted_", 1.5),
    }
    fastest = min(times, key=times.get)
    ways = []
    for name, value in times.items():
        way = Way(name, "index", name != SORTED, 1e-3 * value, Ratio(value, error, 9))
        if way.is_call:
            same = Ratio(value, 0.0 if name == fastest else error, 9)
            way = replace(way, regret=same, regret_same_structure=same, fastest_same_structure=fastest)
        ways.append(way)
    place = replace(PLACE, dataset=dataset, **(others or {}))
    entries = round(degree * NODES)
    return Point(place, NODES, entries, tuple(ways), fastest, True, left_out=left_out or {})


def line(*regrets, start=1, kind="uniform:12", **changes):
    """Return points of doubling degree; at each the call takes so many times as long as sorting, or less."""
    points = []
    for number, regret in enumerate(regrets):
        edges = start * 2**number
        times = {"call": max(regret, 1.0), "sorted_": max(1 / regret, 1.0), "other": 3.0}
        points.append(point(f"{kind}@{edges:g}", 2.0 * edges, **{**times, **changes}))
    return points


def regrets(*points, effect=0.03, environment=ENVIRONMENT):
    return Regrets(tuple(points), effect, environment)


def grid():
    """Return regrets on two kinds of graphs at two widths, one way left out, and a point without any way."""
    points = []
    for kind in ("uniform:12", "hub:12"):
        for hidden, factor in ((8, 1.0), (64, 1.6)):
            points += line(0.5 * factor, 0.9 * factor, 2.5 * factor, kind=kind, others={"hidden": hidden})
    points[1] = replace(points[1], is_decided=False)
    points[3] = replace(points[3], left_out={"scatter_max on sparse": "torch_scatter is not installed"})
    backward = [
        replace(one, place=replace(one.place, direction="forward_backward")) for one in line(1.3, 1.4, 1.5)
    ]
    empty = Point(replace(PLACE, dataset="rmat:12"), NODES, 9)
    return regrets(*points, *backward, empty)
