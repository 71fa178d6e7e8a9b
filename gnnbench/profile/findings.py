"""What a person would conclude from a profile: rules over its record, which rest on counts, not on times."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SMALL_NS = 10_000
"""A GPU's kernel that is shorter takes about as long as its launch."""
HUNDRED = 100
"""From so many kernels or reads of one kind in a call, it is they that it waits for."""
_MOST_NAMED = 3

Sections = Mapping[str, Any]
"""Of a record."""


@dataclass(frozen=True)
class Finding:
    """One conclusion."""

    rule: str
    text: str
    """What is the case."""
    evidence: str
    """The numbers, and the ranges and callers they are from."""
    remedy: str
    """What to do about it."""


def find(record: Mapping[str, Any]) -> list[Finding]:
    """Apply all rules to a record."""
    return [finding for rule in _RULES for finding in rule(record["sections"])]


def normalisation(sections: Sections) -> Iterator[Finding]:
    """PyG: a layer computes anew what depends on the graph alone."""
    if calls := _within_layers(sections, "gcn_norm"):
        yield Finding(
            "normalisation",
            f"{' and '.join(calls)}: each call normalises the graph anew.",
            f"gcn_norm {_times(calls.total())}: {_share(sections, 'gcn_norm')}",
            "If the graph and its weights stay the same: GCNConv(..., cached=True), or call gcn_norm once "
            "and give what it returns to GCNConv(..., normalize=False).",
        )


def degree_normalisation(sections: Sections) -> Iterator[Finding]:
    """DGL: likewise, a power of the nodes' degrees."""
    if powers := _within_layers(sections, "pow")["GraphConv"]:
        degrees = _within_layers(sections, "degrees")["GraphConv"]
        yield Finding(
            "degree-normalisation",
            "GraphConv: each call computes the nodes' degrees and a power of them anew.",
            f"degrees {_times(degrees)}, pow {_times(powers)}: {_share(sections, 'degrees', 'pow')}",
            "If the graph does not change: call EdgeWeightNorm('both') once, and give what it returns as "
            "edge_weight to GraphConv(..., norm='none').",
        )


def host_reads(sections: Sections) -> Iterator[Finding]:
    """The host wants to know what a tensor holds: a GPU's queue runs empty until it does."""
    rows = [
        row
        for kind in ("host_reads", "mask_reads")
        for row in sections["counts"][kind]
        if "optimizer.step" not in row["path"]  # Adam has its count of steps on the host
    ]
    if not rows:
        return
    callers = _callers(rows)
    most, reads = callers.most_common(1)[0]
    text = f"The host reads tensors {_times(callers.total())} in each call; on a GPU it waits each time."
    remedy = (
        "Read once, after the loop: no .item(), print or `if` on a tensor in it; torch.where in place of a "
        "mask. In a library: do what depends on the graph alone once, and give it the sizes it asks for; "
        "allow_zero_in_degree=True spares DGL's layers a look for nodes without edges."
    )
    if reads >= HUNDRED:
        text = f"The host reads tensors element by element, {callers.total()} times in each call."
        caller, _, _ = most.partition(" in ")
        remedy = f"There ({caller}) work on whole tensors: torch.stack or an index, no list of elements."
    yield Finding("host-reads", text, _named(callers), remedy)


def sorts(sections: Sections) -> Iterator[Finding]:
    """A graph is put in order, again."""
    if rows := sections["counts"]["sorts"]:
        callers = _callers(rows)
        names = ", ".join(sorted({row["name"] for row in rows}))
        yield Finding(
            "sorts",
            f"Each call sorts {_times(callers.total())} ({names}).",
            _named(callers),
            "If it is the graph that is sorted: build its SparseTensor or CSR matrix once, before the loop.",
        )


def copies(sections: Sections) -> Iterator[Finding]:
    """Tensors move between the host and a GPU."""
    if rows := sections["counts"]["copies"]:
        directions: Counter[str] = Counter()
        for row in rows:
            directions[row["direction"]] += row["count"]
        moved = sum(row["bytes"] for row in rows)
        yield Finding(
            "copies",
            f"Each call copies {moved:,} bytes between devices: {_named(directions)}.",
            _named(_callers(rows)),
            "Copy what stays the same once, before the loop, and make the rest on its device (device=...); "
            "copy what is left from pinned memory with non_blocking=True.",
        )


def small_kernels(sections: Sections) -> Iterator[Finding]:
    """The GPU waits for launches."""
    if "kernels" not in sections:
        return
    rows, repeats = sections["kernels"]["rows"], sections["kernels"]["repeats"]
    small = Counter(
        {
            row["name"]: round(row["calls"] / repeats)
            for row in rows
            if row["total_ns"] < SMALL_NS * row["calls"]
        }
    )
    if small.total() >= HUNDRED:
        whole = round(sum(row["calls"] for row in rows) / repeats)
        yield Finding(
            "small-kernels",
            f"{small.total()} of the {whole} kernels of each call take less than {SMALL_NS // 1000} µs on "
            "average, about as long as their launch: the GPU waits for the host.",
            _named(small),
            "Launch fewer: fused operations, larger batches, torch.compile, or the whole as a CUDA graph "
            "(torch.compile's mode='reduce-overhead').",
        )


def gather_scatter(sections: Sections) -> Iterator[Finding]:
    """Rows are copied to edges and reduced from there, which a sparse product does in one pass."""
    reduced = {
        (row["to_rows"], row["from_rows"], row["columns"]): row["name"]
        for row in _forward(sections, "scatters")
    }
    found: Counter[str] = Counter()
    for row in _forward(sections, "gathers"):
        nodes, edges = row["from_rows"], row["to_rows"]
        if back := reduced.get((nodes, edges, row["columns"])):
            by = f"{row['name']} and {back} in {_range(row['path'])}"
            found[f"from {nodes:,} rows to {edges:,} and back by {by}"] += row["count"]
    if found:
        yield Finding(
            "gather-scatter",
            f"Each edge gets a copy of its node's row, and these are reduced, {_times(found.total())} in a "
            "call.",
            _named(found),
            "If a message is the row itself, or that times a number: a sparse product needs no copies. Give "
            "PyG's layers a SparseTensor or CSR matrix adj_t; or call torch.sparse.mm, or DGL's update_all.",
        )


_RULES: Sequence[Callable[[Sections], Iterator[Finding]]] = (
    normalisation,
    degree_normalisation,
    host_reads,
    sorts,
    copies,
    small_kernels,
    gather_scatter,
)


def _within_layers(sections: Sections, name: str) -> Counter[str]:
    """Return by layer how often ranges of a name are opened in it; the names of layers have a capital."""
    calls: Counter[str] = Counter()
    for row in sections["counts"]["ranges"]:
        *outer, last = row["path"]
        if last == name and outer[-1][0].isupper():
            calls[outer[-1]] += row["count"]
    return calls


def _share(sections: Sections, *names: str) -> str:
    """Say how many operators ranges of some names have."""
    rows = sections["counts"]["operators"]
    inside = sum(row["count"] for row in rows if not set(names).isdisjoint(row["path"]))
    return f"{inside} of {sum(row['count'] for row in rows)} operators"


def _forward(sections: Sections, kind: str) -> list[Mapping[str, Any]]:
    """Return what is not in a backward pass, where a gather becomes a scatter, and a scatter a gather."""
    return [row for row in sections["counts"][kind] if "backward" not in row["path"]]


def _callers(rows: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """Return how often by calling function, with its line where there is one, and the range around all."""
    grouped: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        place, _, function = row["caller"].partition(" ")
        grouped.setdefault((place.partition(":")[0], function), []).append(row)
    callers: Counter[str] = Counter()
    for (file, function), group in grouped.items():
        lines = {row["caller"] for row in group}
        caller = lines.pop() if len(lines) == 1 else f"{file} {function}"
        path = os.path.commonprefix([row["path"] for row in group])  # noqa: RUF071 - of lists
        callers[f"{caller} in {_range(path)}"] += sum(row["count"] for row in group)
    return callers


def _range(path: Sequence[str]) -> str:
    return "/".join(path)


def _named(counts: Counter[str]) -> str:
    """List the most frequent."""
    named = [f"{count} {name}" for name, count in counts.most_common(_MOST_NAMED)]
    more = len(counts) - len(named)
    return "; ".join([*named, f"and {more} more"] if more else named)


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
