"""Rules that find avoidable work in the counts of a profile, and say how to avoid it."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

SMALL_NS = 10_000
"""A GPU kernel that takes less time than this is small: its launch takes about as long."""
HUNDRED = 100
"""From this number on, small kernels or reads dominate the time of a call."""
_RECOMPUTED = {
    "normalisation": (
        ("gcn_norm",),
        "normalises the graph",
        "If the graph is constant: use cached=True, or call gcn_norm once, and pass normalize=False.",
    ),
    "degree-normalisation": (
        ("degrees", "pow"),
        "computes the nodes' degrees and a power of them",
        "If the graph is constant: pass what EdgeWeightNorm('both') returns as edge_weight, and norm='none'.",
    ),
}
"""Work that depends only on the graph, by rule: names of a layer's ranges, what the layer does, remedy."""
Sections = Mapping[str, Any]
"""What `kinds.profile` returns."""
Row = Mapping[str, Any]
"""A row of `counts`, or of another section."""


@dataclass(frozen=True)
class Finding:
    """One conclusion from a profile."""

    rule: str
    text: str
    evidence: str
    """The counts, with ranges and callers."""
    remedy: str


def find(sections: Sections) -> tuple[Finding, ...]:
    """Return what all rules find in a profile. Empty if torch was not imported, so nothing was counted."""
    rules = (recomputation, host_reads, sorts, copies, small_kernels)
    return tuple(finding for rule in rules if "counts" in sections for finding in rule(sections))


def recomputation(sections: Sections) -> Iterator[Finding]:
    """Find layers of PyG or DGL that compute again in each call what depends only on the graph."""
    for rule, (names, action, remedy) in _RECOMPUTED.items():
        rows = [row for row in sections["counts"]["ranges"] if row["path"][-1] in names]
        rows = [row for row in rows if row["path"][-2][0].isupper()]  # in a layer, whose name is capitalised
        calls = _summed(rows, lambda row: row["path"][-1])
        if len(calls) == len(names):
            operators = sections["counts"]["operators"]
            count = sum(row["count"] for row in operators if not set(names).isdisjoint(row["path"]))
            calls_of_names = ", ".join(f"{name} {_times(calls[name])}" for name in names)
            total = sum(row["count"] for row in operators)
            evidence = f"{calls_of_names}, with {count} of the {total} operators of a call"
            layers = " and ".join(dict.fromkeys(row["path"][-2] for row in rows))
            yield Finding(rule, f"{layers}: each call {action} again.", evidence, remedy)


def host_reads(sections: Sections) -> Iterator[Finding]:
    """Find reads of GPU tensors by the host. At each read the host waits, and the GPU's queue runs empty."""
    counts = sections["counts"]
    callers = _callers(
        row
        for row in (*counts["host_reads"], *counts["mask_reads"])
        if "optimizer.step" not in row["path"]  # Adam keeps its count of steps on the host
        and not row["name"].startswith("cpu→")  # the rule `copies` reports these
    )
    if not callers:
        return
    reader, reads = callers.most_common(1)[0]
    text = f"The host reads tensors {_times(callers.total())} in each call; on a GPU it waits each time."
    remedy = (
        "Read once, after the loop: avoid .item(), print and `if` on a tensor inside it; use torch.where "
        "instead of a mask. For a library: precompute what depends only on the graph, and pass the sizes "
        "that it would read. allow_zero_in_degree=True saves a check in DGL's layers."
    )
    if reads >= HUNDRED:
        text = f"The host reads tensors element by element, {callers.total()} times in each call."
        caller = reader.partition(" in ")[0]
        remedy = f"In {caller}, use whole tensors: torch.stack or an index instead of a list of elements."
    yield Finding("host-reads", text, _most_frequent(callers), remedy)


def sorts(sections: Sections) -> Iterator[Finding]:
    """Find sorts in each call; usually they sort the graph."""
    if rows := sections["counts"]["sorts"]:
        callers = _callers(rows)
        names = ", ".join(sorted({row["name"] for row in rows}))
        yield Finding(
            "sorts",
            f"Each call sorts {_times(callers.total())} ({names}).",
            _most_frequent(callers),
            "If this sorts the graph: build its SparseTensor or CSR matrix once, before the loop.",
        )


def copies(sections: Sections) -> Iterator[Finding]:
    """Find copies of tensors between the host and a GPU."""
    if rows := sections["counts"]["copies"]:
        byte_count = sum(row["count"] for row in sections["counts"]["copied_bytes"])
        directions = _summed(rows, lambda row: row["name"])
        yield Finding(
            "copies",
            f"Each call copies {byte_count:,} bytes between devices: {_most_frequent(directions)}.",
            _most_frequent(_callers(rows)),
            "Copy constant data once, before the loop; create other tensors on their device (device=...); "
            "copy the rest from pinned memory with non_blocking=True.",
        )


def small_kernels(sections: Sections) -> Iterator[Finding]:
    """Find many kernels that are so short that the GPU waits for their launches."""
    kernels = sections.get("kernels", {"rows": (), "repeats": 1})
    calls = {row["name"]: round(row["calls"] / kernels["repeats"]) for row in kernels["rows"]}
    small = [row["name"] for row in kernels["rows"] if row["total_ns"] < SMALL_NS * row["calls"]]
    counts = Counter({name: calls[name] for name in small})
    if counts.total() >= HUNDRED:
        yield Finding(
            "small-kernels",
            f"{counts.total()} of the {sum(calls.values())} kernels of each call take less than "
            f"{SMALL_NS // 1000} µs on average, about as long as a launch: the GPU waits for the host.",
            _most_frequent(counts),
            "Launch fewer kernels: use fused operations, larger batches, torch.compile, or a CUDA graph "
            "(torch.compile(mode='reduce-overhead')).",
        )


def _summed(rows: Iterable[Row], key: Callable[[Row], str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in rows:
        counts[key(row)] += row["count"]
    return counts


def _callers(rows: Iterable[Row]) -> Counter[str]:
    """Return counts by `CALLER in RANGE`, where RANGE is the innermost range with all calls by CALLER."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        place, _, function = row["caller"].partition(" ")
        groups.setdefault((place.partition(":")[0], function), []).append(row)
    callers: Counter[str] = Counter()
    for (file, function), group in groups.items():
        lines = {row["caller"] for row in group}
        caller = lines.pop() if len(lines) == 1 else f"{file} {function}"  # no number for several lines
        path = os.path.commonprefix([row["path"] for row in group])  # noqa: RUF071 - of lists
        callers[f"{caller} in {'/'.join(path)}"] += sum(row["count"] for row in group)
    return callers


def _most_frequent(counts: Counter[str]) -> str:
    """Return the three largest counts as text: `5 train.py:12 step in call; 2 ...; and 4 more`."""
    texts = [f"{count} {name}" for name, count in counts.most_common(3)]
    remainder = len(counts) - len(texts)
    return "; ".join([*texts, f"and {remainder} more"] if remainder else texts)


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
