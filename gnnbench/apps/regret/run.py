"""Measures each point of a grid, within a time budget for all points."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from ...engine.ground.cpu import RealTime
from ...engine.measure.clock import Clock
from ...suite.graphs.catalog import DatasetName
from ...suite.graphs.load import load
from ...suite.kept_reference import KeptReference
from ...suite.operations import OPERATIONS
from . import point
from .families import Family
from .result import Place, Point

if TYPE_CHECKING:
    from ...suite.graphs.graph import Graph


@dataclass(frozen=True)
class Grid:
    """The points to measure: every combination of these values."""

    families: Sequence[Family]
    directions: Sequence[str]
    datasets: Sequence[DatasetName]
    hidden: Sequence[int]
    dtypes: Sequence[str]
    index_dtypes: Sequence[str]
    threads: Sequence[int]
    device: str

    def places(self) -> list[tuple[Family, DatasetName, Place]]:
        """Return family, graph and place of each point; points that share a reference output are adjacent."""
        places = []
        for family, dataset, dtype, index_dtype in product(
            self.families, self.datasets, self.dtypes, self.index_dtypes
        ):
            first = OPERATIONS[family.operations[0]]
            directions = [name for name in self.directions if name in first.directions]
            for hidden in self.hidden if family.has_features else self.hidden[:1]:
                for direction, threads in product(directions, self.threads):
                    more = dtype, index_dtype, threads, self.device
                    places.append((family, dataset, Place(first.name, direction, dataset.id, hidden, *more)))
        return places


def measure(
    grid: Grid,
    seconds: float,
    effect: float,
    data_root: Path | None,
    cache: Path,
    clock_of: Callable[[Sequence[str]], Clock],
    say: Callable[[str], None],
) -> Iterator[Point]:
    """Measure and yield each point; each gets an equal share of the remaining time. `say` shows progress."""
    places = grid.places()
    end_seconds = RealTime.seconds() + seconds
    reference = KeptReference()
    loaded: dict[str, Graph] = {}
    for number, (family, dataset, place) in enumerate(places):
        remaining_seconds = max(end_seconds - RealTime.seconds(), 0.0)
        point_seconds = remaining_seconds / (len(places) - number)
        say(f"point {number + 1} of {len(places)}: {place.operation} {place.direction} on {dataset.id}")
        if dataset.id not in loaded:
            loaded[dataset.id] = load(dataset, data_root, cache)
        yield point.measure(family, place, loaded[dataset.id], reference, clock_of, effect, point_seconds)
