"""The table at the end of a run: one row per operation and direction, platforms side by side."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rich.markup import escape
from rich.table import Table

from gnnbench import units
from gnnbench.platforms import PLATFORMS
from gnnbench.spec import BACKWARD, FORWARD, FORWARD_BACKWARD, STEP, TRAIN, Spec

SHORT_DIRECTION = {FORWARD: "fwd", FORWARD_BACKWARD: "fwd+bwd", BACKWARD: "bwd", STEP: "step", TRAIN: "train"}


@dataclass(frozen=True)
class Timing:
    """What the table shows of one benchmark."""

    spec: Spec
    median_seconds: float


def heading(spec: Spec) -> str:
    """Say what a spec shares with all others of its table: graph, width, types, device."""
    return f"{spec.dataset} · hidden {spec.hidden} · {spec.dtype} · {spec.index_dtype} · {spec.device}"


def tables(timings: Iterable[Timing]) -> dict[str, Table]:
    """Lay out median times, the fastest platform of a row in bold: a table for each heading."""
    groups: dict[str, dict[tuple[str, str], dict[str, float]]] = {}
    for timing in timings:
        spec = timing.spec
        row = (spec.operation, SHORT_DIRECTION[spec.direction])
        groups.setdefault(heading(spec), {}).setdefault(row, {})[spec.platform] = timing.median_seconds
    return {title: _table(rows) for title, rows in groups.items()}


def _table(rows: Mapping[tuple[str, str], Mapping[str, float]]) -> Table:
    platforms = [name for name in PLATFORMS if any(name in row for row in rows.values())]
    table = Table(box=None, pad_edge=False)
    table.add_column("median time", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name in platforms:
        table.add_column(name, justify="right", no_wrap=True)
    for labels, row in rows.items():
        fastest = min(row.values())
        texts = [units.seconds(row[name]) if name in row else "" for name in platforms]
        table.add_row(
            *map(escape, labels),
            *(
                f"[bold]{text}[/bold]" if len(row) > 1 and row.get(name) == fastest else text
                for name, text in zip(platforms, texts, strict=True)
            ),
        )
    return table
