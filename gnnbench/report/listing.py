"""The tables of `gnnbench list`: data sets, platforms and operations."""

from pathlib import Path

from rich.table import Table

from ..packages import missing
from ..workloads.graphs.catalog import DATASETS
from ..workloads.graphs.locate import place
from ..workloads.operations import OPERATIONS
from ..workloads.platforms import PLATFORMS


def tables(data_root: Path | None, cache: Path) -> list[Table]:
    """Return all tables of `gnnbench list`.

    Args:
        data_root: folder of real data sets; None: there is none.
        cache: folder of downloads.
    """
    return [_datasets(data_root, cache), _platforms(), _operations(), _calls()]


def _datasets(data_root: Path | None, cache: Path) -> Table:
    table = _table("Data sets (--gnn-dataset)")
    table.add_column("name", no_wrap=True)
    for column in ("nodes", "edges", "features", "classes"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("here", no_wrap=True)
    table.add_column("from", no_wrap=True)
    for dataset in DATASETS.values():
        table.add_row(
            dataset.id,
            *(f"{count:,}" for count in (dataset.nodes, dataset.edges, dataset.features, dataset.classes)),
            {"data root": "yes", "cache": "cache"}.get(place(dataset, data_root, cache) or "", "no"),
            dataset.family,
        )
    table.caption = (
        "planetoid: Yang et al. 2016, through PyG's Planetoid; ogb: Hu et al. 2020, through ogb's loaders. "
        "NAME:synthetic is a data set's synthetic stand-in, NAME:synthetic@0.1 one of a tenth of its size; "
        "rmat:SCALE is a random graph with 2**SCALE nodes; a path that ends in .mtx is a Matrix Market file. "
        "The number of edges is as published: Planetoid counts both directions, the others one."
    )
    return table


def _platforms() -> Table:
    table = _table("Platforms (--gnn-platform)")
    for column in ("name", "what", "here"):
        table.add_column(column)
    for platform in PLATFORMS.values():
        table.add_row(platform.name, platform.title, missing(platform.packages) or "yes")
    return table


def _operations() -> Table:
    table = _table("Operations")
    table.add_column("name", no_wrap=True)
    for name in PLATFORMS:
        table.add_column(name)
    for operation in OPERATIONS.values():
        table.add_row(operation.name, *("yes" if name in operation.calls else "–" for name in PLATFORMS))
    return table


def _calls() -> Table:
    table = _table("The timed call, or why there is none (–)")
    table.add_column("operation", no_wrap=True)
    table.add_column("platforms", no_wrap=True)
    table.add_column("", ratio=1)
    for operation in OPERATIONS.values():
        calls = {platform: call.text for platform, call in operation.calls.items()}
        for texts, mark in ((calls, ""), (operation.absent, "– ")):
            for text in dict.fromkeys(texts.values()):
                names = ", ".join(name for name, other in texts.items() if other == text)
                table.add_row(operation.name, names, mark + text)
    return table


def _table(title: str) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        caption_justify="left",
        caption_style="",
        box=None,
        pad_edge=False,
        expand=True,
    )
