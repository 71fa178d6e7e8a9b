"""Rules that derive findings with a remedy from a profile; they use counts, not times."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

SMALL_NS = 10_000
"""A GPU kernel shorter than this takes about as long as its launch."""
HUNDRED = 100
"""Number of small kernels or reads in a call from which they dominate its time."""
_MOST_NAMED = 3
_NORMALISATIONS = (
    ("normalisation", ("gcn_norm",), "normalises the graph"),
    ("degree-normalisation", ("degrees", "pow"), "computes the nodes' degrees and a power of them"),
)
"""Of PyG and of DGL: the rule, the ranges that a layer opens, and what it does there."""
_CONSTANT = {
    "normalisation": "If the graph and its weights do not change: use GCNConv(..., cached=True), or call "
    "gcn_norm once and pass its result to GCNConv(..., normalize=False).",
    "degree-normalisation": "If the graph does not change: call EdgeWeightNorm('both') once, and pass its "
    "result as edge_weight to GraphConv(..., norm='none').",
}
"""The remedies."""

Sections = Mapping[str, Any]
"""What `kinds.take` returns."""
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Finding:
    """One conclusion from a profile."""

    rule: str
    text: str
    evidence: str
    """The counts, with ranges and callers."""
    remedy: str


def find(sections: Sections) -> tuple[Finding, ...]:
    """Return the findings of all rules about a profile."""
    rules = (normalisation, host_reads, sorts, copies, small_kernels, gather_scatter)
    return tuple(finding for rule in rules for finding in rule(sections))


def normalisation(sections: Sections) -> Iterator[Finding]:
    """Each call recomputes a layer's normalisation, which depends on the graph only."""
    counts = sections["counts"]
    for rule, names, does in _NORMALISATIONS:
        rows = [row for row in counts["ranges"] if row["path"][-1] in names]
        rows = [row for row in rows if row["path"][-2][0].isupper()]  # inside a layer
        calls = _summed(rows, lambda row: row["path"][-1])
        if len(calls) == len(names):
            layers = " and ".join(dict.fromkeys(row["path"][-2] for row in rows))
            inside = [row for row in counts["operators"] if not set(names).isdisjoint(row["path"])]
            parts, whole = (sum(row["count"] for row in each) for each in (inside, counts["operators"]))
            often = ", ".join(f"{name} {_times(calls[name])}" for name in names)
            evidence = f"{often}: {parts} of {whole} operators"
            yield Finding(rule, f"{layers}: each call {does} again.", evidence, _CONSTANT[rule])


def host_reads(sections: Sections) -> Iterator[Finding]:
    """The host reads a tensor of the GPU: it waits, and the GPU's queue runs empty."""
    counts = sections["counts"]
    callers = _callers(
        row
        for row in (*counts["host_reads"], *counts["mask_reads"])
        if "optimizer.step" not in row["path"]  # Adam keeps its count of steps on the host
        and not row["name"].startswith("cpu→")  # the finding `copies` has these
    )
    if not callers:
        return
    most, reads = callers.most_common(1)[0]
    text = f"The host reads tensors {_times(callers.total())} in each call; on a GPU it waits each time."
    remedy = (
        "Read once, after the loop: avoid .item(), print and `if` on a tensor inside it; use torch.where "
        "instead of a mask. For a library: precompute what depends only on the graph, and pass the sizes "
        "that it would read. allow_zero_in_degree=True saves a check in DGL's layers."
    )
    if reads >= HUNDRED:
        text = f"The host reads tensors element by element, {callers.total()} times in each call."
        caller = most.partition(" in ")[0]
        remedy = f"In {caller}, use whole tensors: torch.stack or an index instead of a list of elements."
    yield Finding("host-reads", text, _named(callers), remedy)


def sorts(sections: Sections) -> Iterator[Finding]:
    """Each call sorts, usually the graph."""
    if rows := sections["counts"]["sorts"]:
        callers = _callers(rows)
        names = ", ".join(sorted({row["name"] for row in rows}))
        yield Finding(
            "sorts",
            f"Each call sorts {_times(callers.total())} ({names}).",
            _named(callers),
            "If this sorts the graph: build its SparseTensor or CSR matrix once, before the loop.",
        )


def copies(sections: Sections) -> Iterator[Finding]:
    """Each call copies tensors between the host and a GPU."""
    if rows := sections["counts"]["copies"]:
        moved = sum(row["count"] for row in sections["counts"]["copied_bytes"])
        directions = _summed(rows, lambda row: row["name"])
        yield Finding(
            "copies",
            f"Each call copies {moved:,} bytes between devices: {_named(directions)}.",
            _named(_callers(rows)),
            "Copy constant data once, before the loop; create other tensors on their device (device=...); "
            "copy the rest from pinned memory with non_blocking=True.",
        )


def small_kernels(sections: Sections) -> Iterator[Finding]:
    """Many kernels are so short that the GPU waits for their launches."""
    kernels = sections.get("kernels", {"rows": (), "repeats": 1})
    calls = {row["name"]: round(row["calls"] / kernels["repeats"]) for row in kernels["rows"]}
    short = [row["name"] for row in kernels["rows"] if row["total_ns"] < SMALL_NS * row["calls"]]
    small = Counter({name: calls[name] for name in short})
    if small.total() >= HUNDRED:
        yield Finding(
            "small-kernels",
            f"{small.total()} of the {sum(calls.values())} kernels of each call take less than "
            f"{SMALL_NS // 1000} µs on average, about as long as a launch: the GPU waits for the host.",
            _named(small),
            "Launch fewer kernels: use fused operations, larger batches, torch.compile, or a CUDA graph "
            "(torch.compile(mode='reduce-overhead')).",
        )


def gather_scatter(sections: Sections) -> Iterator[Finding]:
    """Node rows are copied to edges and reduced; a sparse product does this in one pass."""
    gathers, scatters = (  # in the backward pass, gathers become scatters and vice versa
        [row for row in sections["counts"][kind] if "backward" not in row["path"]]
        for kind in ("gathers", "scatters")
    )
    back = {(row["to_rows"], row["from_rows"], row["columns"]): row["name"] for row in scatters}
    pairs: Counter[str] = Counter()
    for row in gathers:
        nodes, edges = row["from_rows"], row["to_rows"]
        if reduced := back.get((nodes, edges, row["columns"])):
            by = f"{row['name']} and {reduced} in {'/'.join(row['path'])}"
            pairs[f"from {nodes:,} rows to {edges:,} and back by {by}"] += row["count"]
    if pairs:
        yield Finding(
            "gather-scatter",
            f"A call copies nodes' rows to their edges and reduces the copies, {_times(pairs.total())}.",
            _named(pairs),
            "If a message is the row itself, or the row times a number: a sparse product needs no copies. "
            "Give PyG's layers a SparseTensor or CSR adj_t; or call torch.sparse.mm or DGL's update_all.",
        )


def _summed(rows: Iterable[Row], key: Callable[[Row], str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in rows:
        counts[key(row)] += row["count"]
    return counts


def _callers(rows: Iterable[Row]) -> Counter[str]:
    """Return the counts by `CALLER in RANGE`, the innermost range around all of its calls.

    The caller includes the line if all of its calls are in one line.
    """
    grouped: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        place, _, function = row["caller"].partition(" ")
        grouped.setdefault((place.partition(":")[0], function), []).append(row)
    callers: Counter[str] = Counter()
    for (file, function), group in grouped.items():
        lines = {row["caller"] for row in group}
        caller = lines.pop() if len(lines) == 1 else f"{file} {function}"
        path = os.path.commonprefix([row["path"] for row in group])  # noqa: RUF071 - of lists
        callers[f"{caller} in {'/'.join(path)}"] += sum(row["count"] for row in group)
    return callers


def _named(counts: Counter[str]) -> str:
    named = [f"{count} {name}" for name, count in counts.most_common(_MOST_NAMED)]
    more = len(counts) - len(named)
    return "; ".join([*named, f"and {more} more"] if more else named)


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
