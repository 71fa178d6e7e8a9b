"""Times of a benchmark's layouts, thinned to as many as are drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import units
from .measured import Side
from .view import BenchmarkView

MOST_POINTS = 600
"""Most layouts of one benchmark that are drawn."""
_DIGITS = 1000.0
"""Times are rounded to 1 / this of the benchmark's time: 0.1 %."""
_WORDS = {"base": "older", "head": "this"}


@dataclass(frozen=True)
class Thinned:
    """Times of layouts by process, as multiples of `step`."""

    step: float
    """Rounding step, in `unit`."""
    unit: str
    sides: tuple[Side, ...]
    """Side of each process."""
    counts: tuple[int, ...]
    """Number of layouts that each process measured."""
    quantiles: tuple[tuple[int, ...], ...]
    """Minimum, p10, median, p90 and maximum over all layouts of each process."""
    times: tuple[tuple[int, ...], ...]
    """Times of each process in the order of measurement; if there are too many, evenly spaced ones."""

    def names(self) -> list[str]:
        """Return the labels of the processes: `older 1`, `older 2`, `this run`."""
        found = []
        for number, side in enumerate(self.sides):
            several = self.sides.count(side) > 1
            place = self.sides[: number + 1].count(side)
            found.append(f"{_WORDS[side]} {place}" if several or side == "base" else "this run")
        return found

    def rows(self) -> list[dict[str, Any]]:
        """Return the layouts as rows of the chart."""
        return [
            {
                "process": name,
                "side": side,
                "order": order / max(len(times) - 1, 1),
                "time": steps * self.step,
            }
            for name, side, times in zip(self.names(), self.sides, self.times, strict=True)
            for order, steps in enumerate(times)
        ]

    def interval(self, benchmark: BenchmarkView) -> list[dict[str, float]]:
        """Return the benchmark's time and interval as a row of the chart, in `unit`."""
        found = benchmark.time
        if found is None:
            return []
        divisor = units.scale(found.seconds)[0]
        low, high = (
            found.seconds if bound is None else bound for bound in (found.low_seconds, found.high_seconds)
        )
        return [{"low": low / divisor, "high": high / divisor, "time": found.seconds / divisor}]


def thinned(benchmark: BenchmarkView, most: int) -> Thinned:
    """Return the layouts of a benchmark.

    Args:
        benchmark: a benchmark with processes.
        most: most layouts per process.
    """
    blocks = [np.array(process.blocks_ns) / 1e9 for process in benchmark.processes]
    middle = benchmark.seconds or float(np.median(np.concatenate(blocks)))
    divisor, unit = units.scale(middle)
    step = float(f"{middle / divisor / _DIGITS:.3g}")
    return Thinned(
        step,
        unit,
        tuple(process.side for process in benchmark.processes),
        tuple(map(len, blocks)),
        tuple(_whole(_quantiles(one), step * divisor) for one in blocks),
        tuple(_whole(_spaced(one, most), step * divisor) for one in blocks),
    )


def _quantiles(values: "np.typing.NDArray[np.float64]") -> "np.typing.NDArray[np.float64]":
    """Return `Thinned.quantiles`; ten times as fast as numpy.quantile."""
    places = np.array((0, 0.1, 0.5, 0.9, 1)) * (len(values) - 1)
    return np.interp(places, np.arange(len(values)), np.sort(values))


def _spaced(values: "np.typing.NDArray[np.float64]", most: int) -> "np.typing.NDArray[np.float64]":
    if len(values) <= most:
        return values
    return values[np.linspace(0, len(values) - 1, max(most, 1)).astype(int)]


def _whole(values: Sequence[float] | Any, step: float) -> tuple[int, ...]:
    return tuple(np.rint(np.asarray(values) / step).astype(int).tolist())
