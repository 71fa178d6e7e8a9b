"""The kinds `phases`, `layers` and `ranges`: the time of a call as a tree of ranges."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..ground import units
from . import text
from .kinds import ROOT, Subject, clock_of
from .targets import LAYERS, PHASES

_COLUMNS = {"Event": -30, "Count": 5, "Average time": 13, "IQR": 5, "Frac.": 6, "Self": 6, "First": 8}
_WITH_NVTX = "NVTX ranges: run this under `nsys profile` to see them. Times are the host's; it does not wait."
_WITHOUT_NVTX = "NVTX ranges need a GPU (--device cuda). On a CPU, torch.profiler shows them."


@dataclass(frozen=True)
class Tree:
    """A kind of profile: the functions that become ranges."""

    targets: Mapping[str, str]
    waits: bool = True
    """Whether the host waits for the GPU at the ends of ranges; if not, the times are the host's."""

    def take(self, subject: Subject, folder: Path) -> dict[str, Any]:  # noqa: ARG002
        """Time a call, see `measure`; no file is written."""
        return measure(subject, self.targets, clock_of(subject.device if self.waits else "cpu"))

    def table(self, section: Mapping[str, Any]) -> str:
        """Return the tree; outermost ranges do not overlap, nor do the times in the column `Self`."""
        legend = (
            "Count: over all repeats, without the first call. IQR: of the repeats' times, relative to the "
            "median. Self: without the rows indented below."
        )
        plain_ns = section["plain_ns"]
        cost = (
            f"A call took {overhead(section):.3f} times as long with ranges as without "
            f"({text.nanoseconds(statistics.median(plain_ns))}; medians of {len(plain_ns)})."
        )
        notes = [legend, cost, *section["missing"]]
        if not self.waits:
            notes.append(_WITH_NVTX if section["nvtx"] else _WITHOUT_NVTX)
        return text.page(text.table(_COLUMNS, _cells(section["rows"])), *notes)


phases = Tree(PHASES)
layers = Tree(LAYERS)
ranges = Tree(LAYERS, waits=False)
"""For an external profiler: on CUDA they are NVTX ranges, which Nsight Systems shows."""


def measure(subject: Subject, targets: Mapping[str, str], clock: Callable[[], int]) -> dict[str, Any]:
    """Time a call with ranges: a first call, then calls with and without ranges in turns.

    Returns:
        `rows`, depth first, the whole call first: `path`, `cold_ns` of the first call, and of each repeat
        `calls`, `total_ns`, and `self_ns` without the ranges inside. `plain_ns`: times without ranges.
        `missing`: a line for each range that the library lacks.
    """
    from .ranges import Ranges

    made = Ranges(targets, subject.device, clock=clock)

    def ranged() -> Mapping[tuple[str, ...], tuple[int, int, int]]:
        with subject.ready() as call:
            made.switch(on=True)
            with made.range(ROOT):
                call()
            made.switch(on=False)
        return made.times()

    with made:
        cold = ranged()
    repeats, plain_ns = [], []
    with made:  # search again: the first call may have imported libraries
        made.switch(on=False)
        for number in range(subject.repeats):
            if number % 2:  # alternate the order, so that cache effects affect both alike
                plain_ns.append(subject.timed_ns(clock))
            repeats.append(ranged())
            if not number % 2:
                plain_ns.append(subject.timed_ns(clock))
    rows = []
    for path in repeats[-1]:  # which has every path
        times = zip(*(found.get(path, (0, 0, 0)) for found in repeats), strict=True)
        calls, total_ns, self_ns = map(list, times)
        cold_ns = cold.get(path, (0, 0, 0))[1]
        row = {"path": list(path), "calls": calls, "cold_ns": cold_ns, "total_ns": total_ns}
        rows.append({**row, "self_ns": self_ns})
    nvtx = subject.device == "cuda"
    return {"rows": rows, "plain_ns": plain_ns, "missing": list(made.missing), "nvtx": nvtx}


def overhead(section: Mapping[str, Any]) -> float:
    """Return the ratio of the median times with and without ranges."""
    return statistics.median(section["rows"][0]["total_ns"]) / statistics.median(section["plain_ns"])


def _cells(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    root, *inner = rows
    whole_ns = sum(root["total_ns"])
    named = [("  " * (len(row["path"]) - 2) + row["path"][-1], row) for row in inner]
    rest = {**root, "total_ns": root["self_ns"], "cold_ns": None}
    whole = {**root, "self_ns": root["total_ns"]}
    for name, row in (*named, ("the rest", rest), ("the whole", whole)):
        total_ns, count = sum(row["total_ns"]), sum(row["calls"])
        yield (
            name,
            f"{count}",
            text.nanoseconds(total_ns / count) if count else "",
            units.fraction(_spread(row["total_ns"])) if count else "",
            units.fraction(total_ns / whole_ns),
            units.fraction(sum(row["self_ns"]) / whole_ns),
            "" if row["cold_ns"] is None else text.nanoseconds(row["cold_ns"]),
        )


def _spread(values: Sequence[int]) -> float:
    """Return the interquartile range over the median; 0 if the median is 0."""
    if len(values) == 1:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / middle if middle else 0.0
