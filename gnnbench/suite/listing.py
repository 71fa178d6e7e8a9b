"""`gnnbench list [OPERATION...]`: lists data sets, platforms and operations; says which are installed."""

import argparse
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from ..engine.cli import streams
from ..engine.cli.common import NOTHING_SLOWER, declare
from ..engine.ground.errors import unknown_name
from ..engine.ground.packages import missing
from ..engine.show.document import Column, Document, Shown, Table
from ..engine.show.lines import Note
from .graphs.catalog import DATASETS
from .graphs.published import raw_folder
from .limits import OF_PLATFORM
from .operation import Operation
from .operations import OPERATIONS
from .options import OPTIONS
from .platforms import COMPARED, PLATFORMS

_PLATFORM_WIDTH = max(map(len, PLATFORMS))
_DATA_SET_COLUMNS = (
    Column("name"),
    *(Column(name, "number") for name in ("nodes", "edges", "features", "classes")),
    *(Column(name, "text") for name in ("here", "from")),
)
_DATA_SETS = (
    "planetoid: Yang et al. 2016, through PyG's Planetoid; ogb: Hu et al. 2020, through ogb's readers; "
    "entities: Ristoski et al. 2016. aifb has 90 relations, and ogbn-mag-hetero has 4 types of nodes and 7 "
    "relations; both have synthetic stand-ins. "
    "NAME:synthetic is a data set's synthetic stand-in, and NAME:synthetic@0.1 one of a tenth of its size. "
    "rmat:SCALE and uniform:SCALE are random graphs with 2**SCALE nodes; in hub:SCALE, one of the nodes has "
    "a tenth of the edges. rmat:14@4 has 4 edges per node. molecules:SCALE has 2**SCALE molecules, as in "
    "ZINC. A path that ends in .mtx is a Matrix Market file. "
    "Numbers of edges are as published: Planetoid counts each edge in both directions, the others once."
)


def document(data_root: Path | None) -> Document:
    """Return all data sets and platforms, and a line for each operation."""
    reasons = {name: missing(platform.packages) for name, platform in PLATFORMS.items()}
    platforms = [(name, PLATFORMS[name].title, "no" if reason else "yes") for name, reason in reasons.items()]
    titles = [Column(name, "text") for name in ("name", "what", "here")]
    columns = [Column("", "shown") for _ in ("name", *COMPARED)]
    return [
        Table("Data sets (--gnn-dataset)", _DATA_SET_COLUMNS, list(_datasets(data_root))),
        Note(_DATA_SETS),
        Table("Platforms (--gnn-platform)", titles, platforms),
        *(Note(f"{name}: {reason}") for name, reason in reasons.items() if reason),
        Table("Operations and their platforms", columns, list(_operations())),
        Note("gnnbench list OPERATION shows the calls on all platforms, and why a platform has none."),
    ]


def operation(name: str) -> Iterator[str]:
    """Yield lines about the operation with this name, or about all operations that begin with it."""
    exact = OPERATIONS.get(name)
    matches = [exact] if exact else [row for row in OPERATIONS.values() if row.name.startswith(f"{name}_")]
    if not matches:
        raise unknown_name("operation", name, OPERATIONS)
    for match in matches:
        yield from _description(match)


def _description(row: Operation) -> Iterator[str]:
    graphs = f"; graphs: {', '.join(row.graphs)}" if row.graphs else ""
    selection = "; core: pull requests run it" if row.core else ""
    if not row.default:
        selection = "; not default: --gnn-all runs it"
    elif not (row.core or row.example):
        selection = "; not default: its file's name, -k or --gnn-all runs it"
    yield f"{row.name} ({row.group}): {', '.join(row.directions)}{selection}{graphs}"
    for platform in (name for name in PLATFORMS if name in row.calls or name in row.absent):
        call = row.calls.get(platform)
        text = call.text if call else f"– {row.absent[platform]}"
        yield f"  {platform:{_PLATFORM_WIDTH}} {text}"
        if call and call.one_of:
            yield f"  {'':{_PLATFORM_WIDTH}} needs {' or '.join(call.one_of)}"
        for limit in (*call.limits, *OF_PLATFORM.get(platform, ())) if call else ():
            types = *sorted(limit.where), *([f"{limit.degree} neighbours"] if limit.degree else [])
            yield f"  {'':{_PLATFORM_WIDTH}} not with {' and '.join(types)}: {limit.reason}"


def _datasets(data_root: Path | None) -> Iterator[tuple[str, ...]]:
    for dataset in DATASETS.values():
        counts = (f"{count:,}" for count in (dataset.nodes, dataset.edges, dataset.features, dataset.classes))
        yield dataset.id, *counts, "yes" if raw_folder(dataset, data_root) else "no", dataset.family


def _operations() -> Iterator[tuple[object, ...]]:
    """Yield a row for each operation, below the heading of its group."""
    group = attrgetter("group")
    for heading, rows in groupby(sorted(OPERATIONS.values(), key=group), group):
        yield Shown(heading, style="heading"), *[None] * len(COMPARED)
        for row in rows:
            # `compiled` is in the column of `sparse`, as no operation has both; `pyg_lib` has no column.
            columns = {name.replace("compiled", "sparse"): name for name in row.calls}
            yield f"  {row.name}", *map(columns.get, COMPARED)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    declare(parser, (), (OPTIONS["data"],))
    parser.add_argument(
        "operations",
        nargs="*",
        metavar="OPERATION",
        help="show the calls of an operation, or of all whose names begin with it (spmm), their "
        "limits, and why a platform has none",
    )


def run(options: argparse.Namespace) -> int:
    """Print the lists, or the named operations, and return the exit code."""
    if options.operations:
        for line in [line for name in options.operations for line in operation(name)]:
            streams.say(line, indent=" " * 9)
    else:
        streams.show(document(options.data))
    return NOTHING_SLOWER
