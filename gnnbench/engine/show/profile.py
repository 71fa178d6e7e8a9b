"""Profiles as documents: tables, platforms side by side, findings, and the saved files."""

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import add
from pathlib import Path
from typing import Any

from ..ground import units
from ..profile import KINDS, kinds, trace
from ..profile.record import FILE
from ..store.suite import installed
from .document import Column, Document, Heading, Table
from .lines import Note
from .names import clean

_LAYER = "layer"
"""Common row name for the platforms' convolutions, whose class names differ."""
_SHOWN, _LONGEST = 25, 56
"""Functions in a table, and the characters of a name."""
_PARTS = {
    "kernel": "kernel: the GPU computes",
    "memcpy": "memcpy: the GPU copies or fills memory",
    "runtime": "runtime: the GPU is idle, the host in CUDA calls",
    "cpu": "CPU: the host in PyTorch operators",
    "other": "other: Python, and libraries outside PyTorch",
    "total": "the whole step",
}
_NVTX = (
    "NVTX ranges need a GPU (--device cuda). On a CPU, torch.profiler shows them.",
    "NVTX ranges: run this under `nsys profile` to see them. Times are the host's; it does not wait.",
)

Profile = tuple[Path, Mapping[str, Any]]
"""A folder as it is displayed, and the content of its profile.json."""
Section = Mapping[str, Any]


def documents(profiles: Sequence[Profile]) -> Iterator[Document]:
    """Yield one for each benchmark; first, a table for benchmarks that differ only in the platform."""
    groups: dict[object, list[tuple[str, Profile]]] = {}
    for profile in profiles:
        spec = profile[1]["spec"]
        labels = installed().labels(spec) if spec else None
        work, platform = (labels.work, labels.platform) if labels else (profile[1]["id"], "")
        groups.setdefault(work, []).append((platform, profile))
    for group in groups.values():
        together = []
        for kind in ("phases", "layers") if len(group) > 1 else ():
            sections = [(platform, content["sections"].get(kind)) for platform, (_, content) in group]
            if all(section for _, section in sections):
                together.append(kind)
                yield side_by_side(kind, sections)
        for _, (folder, content) in group:
            yield list(_document(folder, content, without=together))


def _document(folder: Path, content: Section, without: Sequence[str]) -> Iterator[Heading | Table | Note]:
    yield Heading(content["id"])
    for kind, section in content["sections"].items():
        if kind in KINDS and kind not in without:
            yield from shown(kind, section)
    yield Heading("findings" if content["findings"] else "findings: none")
    for finding in content["findings"]:
        for begin, field in (("- ", "text"), ("  ", "evidence"), ("  → ", "remedy")):
            yield Note(f"{begin}{finding[field]}")
    others = sorted(path.name for path in folder.iterdir() if path.name != FILE)
    yield Heading(f"saved in {folder}: {', '.join([FILE, *others])}")


def shown(kind: str, section: Section) -> Iterator[Table | Note]:
    """Yield the tables of a kind, and notes."""
    show = {"functions": _functions, "kernels": _kernels, "trace": _trace}.get(kind, _tree)
    yield from show(f"{kind}: {KINDS[kind]}", section)
    if "cold_ns" in section:
        yield Note(f"The first call, {_time(section['cold_ns'])}, was not profiled.")
    if kind == "ranges":
        yield Note(_NVTX[section["nvtx"]])


def side_by_side(kind: str, sections: Sequence[tuple[str, Section]]) -> Document:
    """Return the median times of platforms in one table, with ratios to the first platform."""
    first, *others = tables = [_medians(section["rows"]) for _, section in sections]
    phases = list(dict.fromkeys(phase for table in tables for phase, _ in table))
    keys = sorted(dict.fromkeys(chain(*tables)), key=lambda key: (not key[0], phases.index(key[0])))
    rows = []
    for key in keys:
        base, values = first.get(key), [table.get(key) for table in others]
        cells = ((_time(value), units.ratio(value / base) if value and base else "") for value in values)
        rows.append((key[1], _time(base), *chain(*cells)))
    (platform, _), *further = sections
    named = ((name, row["path"][-1]) for name, section in sections for row in section["rows"])
    layers = dict.fromkeys(f"{layer} ({name})" for name, layer in named if layer[0].isupper())
    colds = [f"{name} {_time(section['rows'][0]['cold_ns'])}" for name, section in sections]
    titles = ("Event", platform, *chain(*((name, "") for name, _ in further)))
    return [
        _table(f"{kind}: {KINDS[kind]}", titles, rows),
        Note(f"Medians; ratios to {platform}. Indented: inside a phase, perhaps inside one another."),
        *([Note(f"{_LAYER}: {', '.join(layers)}.")] if layers else []),
        Note(f"First calls, not included: {', '.join(colds)}."),
    ]


def _medians(rows: Sequence[Section]) -> dict[tuple[str, str], float]:
    """Return median times by phase and name, summed over all places; names inside a phase are indented."""
    root, *inner = rows
    times: dict[tuple[str, str], list[int]] = {}
    for row in inner:
        _, phase, *inside = row["path"]
        name = f"  {_LAYER if inside[-1][0].isupper() else inside[-1]}" if inside else phase
        if any(row["total_ns"]):
            before = times.get((phase, name), [0] * len(row["total_ns"]))
            times[phase, name] = list(map(add, before, row["total_ns"]))
    times |= {("", "the rest"): root["self_ns"], ("", "the whole"): root["total_ns"]}
    return {key: statistics.median(each) for key, each in times.items()}


def _tree(heading: str, section: Section) -> Iterator[Table | Note]:
    """Yield a tree of ranges; outermost ranges do not overlap, nor do the times in the column `Self`."""
    root, *inner = section["rows"]
    named = [("  " * (len(row["path"]) - 2) + row["path"][-1], row) for row in inner]
    rest, rows = {**root, "total_ns": root["self_ns"], "cold_ns": None}, []
    for name, row in (*named, ("the rest", rest), ("the whole", {**root, "self_ns": root["total_ns"]})):
        total_ns, count = sum(row["total_ns"]), sum(row["calls"])
        average = (_time(total_ns / count), units.fraction(_spread(row["total_ns"]))) if count else ("", "")
        shares = [units.fraction(ns / sum(root["total_ns"])) for ns in (total_ns, sum(row["self_ns"]))]
        rows.append((name, count, *average, *shares, _time(row["cold_ns"])))
    yield _table(heading, ("Event", "Count", "Average time", "IQR", "Frac.", "Self", "First"), rows)
    yield Note("Count: over all repeats, without the first call. Self: without the rows indented below.")


def _functions(heading: str, section: Section) -> Iterator[Table | Note]:
    """Yield the first 25 functions, by cumulative time."""
    total_ns, repeats, rows = section["total_ns"], section["repeats"], []
    for row in section["rows"][:_SHOWN]:
        name = clean(f"{row['function'].strip('<>')} {row['place']}".strip(), _LONGEST)
        share = units.fraction(row["self_ns"] / total_ns)
        rows.append((name, row["calls"], _time(row["self_ns"]), share, _time(row["cumulative_ns"])))
    yield _table(heading, ("Function", "Count", "Self", "Frac.", "Cumulative"), rows)
    yield Note(f"Sums over {repeats} profiled calls of {_time(total_ns / repeats)}. Frac. is of self time.")
    more = len(section["rows"]) - len(rows)
    yield Note(f"{more} more functions, and other orders: python -m pstats {kinds.FUNCTIONS}")


def _kernels(heading: str, section: Section) -> Iterator[Table | Note]:
    """Yield tables of kernels, of copies and of synchronisations."""
    titles = {"rows": heading, "copies": "copies and fills", "synchronizations": "waits for the GPU"}
    for kind, title in titles.items():
        whole_ns, rows = sum(row["total_ns"] for row in section[kind]), []
        for row in section[kind]:
            size = f"{units.size(row['bytes'])} " if "bytes" in row else ""
            name = clean(f"{size}{row['name'].removeprefix('void ')}", _LONGEST)
            times = map(_time, (row["total_ns"] / row["calls"], row["min_ns"], row["max_ns"]))
            share = units.fraction(row["total_ns"] / whole_ns)
            rows.append((name, share, _time(row["total_ns"]), row["calls"], *times))
        if rows:
            yield _table(title, ("Name", "Time %", "Time", "Calls", "Avg", "Min", "Max"), rows)
    yield Note(f"Sums over {section['repeats']} profiled calls.")


def _trace(heading: str, section: Section) -> Iterator[Table | Note]:
    """Yield the breakdown of the steps' time, with how to open the trace."""
    steps = section["steps"]
    sums_ns = {words: sum(step[f"{part}_ns"] for step in steps) for part, words in _PARTS.items()}
    whole_ns = sums_ns[_PARTS["total"]]
    parts = [(words, ns) for words, ns in sums_ns.items() if ns]
    rows = [(words, len(steps), _time(ns / len(steps)), units.fraction(ns / whole_ns)) for words, ns in parts]
    yield _table(heading, ("Event", "Count", "Average time", "Frac."), rows)
    yield Note(f"Open {trace.FILE} at https://ui.perfetto.dev, or its folder in TensorBoard.")


def _table(heading: str, titles: Iterable[str], rows: Sequence[Sequence[Any]]) -> Table:
    name, *others = titles
    return Table(heading, [Column(name), *(Column(title, "count") for title in others)], rows)


def _spread(values: Sequence[int]) -> float:
    """Return the interquartile range over the median; 0 if the median is 0."""
    if len(values) == 1:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / middle if middle else 0.0


def _time(value_ns: float | None) -> str:
    return "" if value_ns is None else units.seconds(value_ns / 1e9)
