"""Shows the profile of a benchmark: tables, findings, and the names of the saved files."""

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..ground import units
from ..profile import KINDS, kinds, trace
from ..profile.record import FILE
from .document import Column, Heading, Table
from .lines import Note
from .names import clean

_SHOWN, _LONGEST = 25, 56
"""Maximum number of functions in a table, and of characters in a name."""
_NVTX = (
    "NVTX ranges need a GPU (--device cuda). On a CPU, torch.profiler shows the ranges.",
    "To see NVTX ranges, run this under `nsys profile`. The host's times do not include waits for the GPU.",
)
"""The note on ranges on a CPU, and the one on a GPU."""

Section = Mapping[str, Any]


def document(folder: Path, content: Section) -> Iterator[Heading | Table | Note]:
    """Yield a profile as the blocks of a document. `content` is that of profile.json in `folder`."""
    yield Heading(content["id"])
    for kind, section in content["sections"].items():
        if kind in KINDS:
            yield from tables(kind, section)
    yield Heading("findings" if content["findings"] else "findings: none")
    for finding in content["findings"]:
        for begin, field in (("- ", "text"), ("  ", "evidence"), ("  → ", "remedy")):
            yield Note(f"{begin}{finding[field]}")
    files = sorted(path.name for path in folder.iterdir() if path.name != FILE)
    yield Heading(f"saved in {folder}: {', '.join([FILE, *files])}")


def tables(kind: str, section: Section) -> Iterator[Heading | Table | Note]:
    """Yield the tables of one kind of profile, then the notes on it."""
    show = {"functions": _functions, "kernels": _kernels, "trace": _trace}.get(kind, _tree)
    yield from show(f"{kind}: {KINDS[kind]}", section)
    if "cold_ns" in section:
        yield Note(f"The first call, {_time(section['cold_ns'])}, was not profiled.")
    if kind == "ranges":
        yield Note(_NVTX[section["nvtx"]])


def _tree(heading: str, section: Section) -> Iterator[Table | Note]:
    """Yield a table of ranges. Inner ranges are indented. The times of the outermost ones do not overlap."""
    root, *inner = section["rows"]
    events = [("  " * (len(row["path"]) - 2) + row["path"][-1], row) for row in inner]
    rest = {**root, "total_ns": root["self_ns"], "cold_ns": None}
    whole = {**root, "self_ns": root["total_ns"]}
    rows = []
    for name, row in (*events, ("the rest", rest), ("the whole", whole)):
        total_ns, count = sum(row["total_ns"]), sum(row["calls"])
        average = (_time(total_ns / count), units.fraction(_spread(row["total_ns"]))) if count else ("", "")
        shares = [units.fraction(ns / sum(root["total_ns"])) for ns in (total_ns, sum(row["self_ns"]))]
        rows.append((name, count, *average, *shares, _time(row["cold_ns"])))
    yield _table(heading, ("Event", "Count", "Average time", "IQR", "Frac.", "Self", "First"), rows)
    yield Note("Count: over all repeats, without the first call. Self: without the rows indented below.")


def _functions(heading: str, section: Section) -> Iterator[Table | Note]:
    """Yield a table of the 25 functions with the largest cumulative times, then notes on it."""
    total_ns, repeats, rows = section["total_ns"], section["repeats"], []
    for row in section["rows"][:_SHOWN]:
        name = clean(f"{row['function'].strip('<>')} {row['place']}".strip(), _LONGEST)
        share = units.fraction(row["self_ns"] / total_ns)
        rows.append((name, row["calls"], _time(row["self_ns"]), share, _time(row["cumulative_ns"])))
    yield _table(heading, ("Function", "Count", "Self", "Frac.", "Cumulative"), rows)
    yield Note(
        f"Sums over {repeats} profiled calls of {_time(total_ns / repeats)}. Frac. is the share of self time."
    )
    more = len(section["rows"]) - len(rows)
    yield Note(f"{more} more functions, and other orders: python -m pstats {kinds.FUNCTIONS}")


def _kernels(heading: str, section: Section) -> Iterator[Table | Note]:
    titles = {"rows": heading, "copies": "copies and fills", "synchronizations": "waits for the GPU"}
    for kind, title in titles.items():
        sum_ns, rows = sum(row["total_ns"] for row in section[kind]), []
        for row in section[kind]:
            size = f"{units.size(row['bytes'])} " if "bytes" in row else ""
            name = clean(f"{size}{row['name'].removeprefix('void ')}", _LONGEST)
            times = map(_time, (row["total_ns"] / row["calls"], row["min_ns"], row["max_ns"]))
            share = units.fraction(row["total_ns"] / sum_ns)
            rows.append((name, share, _time(row["total_ns"]), row["calls"], *times))
        if rows:
            yield _table(title, ("Name", "Time %", "Time", "Calls", "Avg", "Min", "Max"), rows)
    yield Note(f"Sums over {section['repeats']} profiled calls.")


def _trace(heading: str, _section: Section) -> Iterator[Heading | Note]:
    """Yield where to open the trace."""
    yield Heading(heading)
    yield Note(f"Open {trace.FILE} at https://ui.perfetto.dev, or its folder in TensorBoard.")


def _table(heading: str, titles: Iterable[str], rows: Sequence[Sequence[Any]]) -> Table:
    """Return a table whose first column is a name; the others are aligned right."""
    name, *others = titles
    return Table(heading, [Column(name), *(Column(title, "count") for title in others)], rows)


def _spread(values: Sequence[int]) -> float:
    """Return the interquartile range divided by the median. Returns 0 if the median is 0."""
    if len(values) == 1:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / middle if middle else 0.0


def _time(value_ns: float | None) -> str:
    return "" if value_ns is None else units.seconds(value_ns / 1e9)
