"""The kind `memory`: memory that each range holds at its peak.

It uses the allocations and frees that torch's profiler records, see `measure/memory.py`; they are exact and
the same in each call.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import units
from ..measure.conditions import collector_paused
from . import text
from .subject import ROOT, Subject
from .targets import LAYERS

if TYPE_CHECKING:
    from ..measure.memory import Allocation

_USER_SCOPE = 7
"""at::RecordScope::USER_SCOPE, the scope of record_function."""
_COLUMNS = {"Range": -40, "Count": 5, "At begin": 10, "Peak": 10, "At end": 10}


class Span(NamedTuple):
    """An interval during which a range was open."""

    name: str
    start_ns: int
    end_ns: int


def take(subject: Subject, folder: Path) -> dict[str, Any]:  # noqa: ARG001
    """Call twice and examine the second call; nothing is written.

    Returns:
        The fields of `by_range`; `missing`, a line for each range that the library lacks.
    """
    from ..measure.memory import changes, record
    from .ranges import Ranges

    ranges = Ranges(LAYERS, subject.device)

    def call() -> None:
        with subject.ready() as one, ranges.range(ROOT):
            one()

    with collector_paused(), ranges:
        call()  # to fill caches
        recorded = record(call)
    spans = [
        Span(event.name(), event.start_ns(), event.end_ns())
        for event in recorded.events()
        if event.scope() == _USER_SCOPE and not event.name().startswith("Optimizer.")  # torch's duplicate
    ]
    found = by_range(spans, list(changes(recorded, subject.device)))
    return {**found, "missing": list(ranges.missing)}


def by_range(spans: Sequence[Span], changes: "Sequence[Allocation]") -> dict[str, Any]:
    """Compute the memory held in each range.

    Args:
        spans: nested ranges; only those within ROOT are used.
        changes: allocations and frees, in order of time.

    Returns:
        `rows`, depth first in order of first appearance: `path`, and for each of its calls `begin_bytes`,
        `peak_bytes` and `end_bytes`: memory held at its begin, at most, and at its end, relative to the begin
        of ROOT. `peak_path`: the innermost range that was open when the overall peak was first reached.
    """
    spans = sorted(spans, key=lambda span: (span.start_ns, -span.end_ns))
    whole = next(span for span in spans if span.name == ROOT)
    spans = [span for span in spans if whole.start_ns <= span.start_ns < whole.end_ns]
    times = [change.at_ns for change in changes]
    held = list(accumulate((change.size for change in changes), initial=0))  # before each change, and last
    first = bisect_left(times, whole.start_ns)
    peak = max(range(first, bisect_left(times, whole.end_ns) + 1), key=held.__getitem__)
    peak_ns = whole.start_ns if peak == first else times[peak - 1]
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    peak_path: tuple[str, ...] = ()
    around: list[Span] = []
    for span in spans:
        while around and around[-1].end_ns <= span.start_ns:
            around.pop()
        around.append(span)
        path = tuple(outer.name for outer in around)
        begin, end = bisect_left(times, span.start_ns), bisect_left(times, span.end_ns)
        row = rows.setdefault(
            path, {"path": list(path), "begin_bytes": [], "peak_bytes": [], "end_bytes": []}
        )
        row["begin_bytes"].append(held[begin] - held[first])
        row["peak_bytes"].append(max(held[begin : end + 1]) - held[first])
        row["end_bytes"].append(held[end] - held[first])
        if span.start_ns <= peak_ns < span.end_ns:
            peak_path = path
    place = {path: index for index, path in enumerate(rows)}
    order = sorted(rows, key=lambda path: [place[path[: depth + 1]] for depth in range(len(path))])
    return {"rows": [rows[path] for path in order], "peak_path": list(peak_path)}


def table(section: Mapping[str, Any]) -> str:
    """Return the tree of ranges as a table; of each range, the call with the highest peak."""
    rows = section["rows"]
    cells = []
    for row in rows:
        peaks = row["peak_bytes"]
        highest = peaks.index(max(peaks))
        sizes = (units.size(row[f"{when}_bytes"][highest]) for when in ("begin", "peak", "end"))
        cells.append(("  " * (len(row["path"]) - 1) + row["path"][-1], f"{len(peaks)}", *sizes))
    note = (
        f"The peak, {units.size(max(rows[0]['peak_bytes']))}, was first reached in "
        f"{' > '.join(section['peak_path'])}. Sizes are relative to the begin of the call; a range with "
        "several calls shows the call with the highest peak."
    )
    return text.page(text.table(_COLUMNS, cells), note, *section["missing"])
