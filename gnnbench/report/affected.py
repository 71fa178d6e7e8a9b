"""What a change affects, as text: `gnnbench affected`."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..compare.ab.affected import AffectedResult, Inspected
from ..measure.fingerprint.difference import Difference
from .names import spec_of
from .table import SHORT_DIRECTION, heading, shared_place

_FEWEST_CHARACTERS = 24
"""Width of the column of functions, at least."""


def write(found: AffectedResult, out: Callable[[str], Any], width: int, *, colour: bool) -> None:
    """Write a line for each affected benchmark, in a table for each heading."""
    text = io.StringIO()
    console = Console(file=text, width=width, force_terminal=colour, highlight=False)
    groups: dict[str, dict[str, Inspected]] = {}
    for name, one in found.benchmarks.items():
        if one.status != "same":
            spec = spec_of(name)
            groups.setdefault(heading(spec) if spec else "", {})[name] = one
    for title, group in groups.items():
        place = "" if title else shared_place(list(group))
        console.print(f"\n[bold]{escape(title or place)}[/bold]")
        console.print(_table(group, place, width))
    if groups:
        console.print()
    out(text.getvalue())


def _table(group: Mapping[str, Inspected], place: str, width: int) -> Table:
    rows = [(_labels(name, place), one) for name, one in group.items()]
    columns = ("benchmark",) if len(rows[0][0]) == 1 else ("operation", "dir", "on")
    widths = [max(map(len, cells)) for cells in zip(columns, *(labels for labels, _ in rows), strict=True)]
    left = max(width - sum(widths) - len(widths), _FEWEST_CHARACTERS)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=len(columns) > 1)
    table.add_column("changed", overflow="fold", min_width=_FEWEST_CHARACTERS)
    for labels, one in rows:
        difference = one.inspections.difference
        changed = _fitted(*difference.main(), left) if difference else f"not compared: {one.unknown}"
        table.add_row(*map(escape, (*labels, changed)))
    return table


def _labels(name: str, place: str) -> tuple[str, ...]:
    spec = spec_of(name)
    if spec:
        return spec.operation, SHORT_DIRECTION[spec.direction], spec.platform
    return (name.removeprefix(place),)


def _fitted(label: str, names: Sequence[str], width: int) -> str:
    """Return as many names as fit in a line, at least one, and the number of the others."""
    for shown in range(len(names), 0, -1):
        more = f" and {len(names) - shown} more" if shown < len(names) else ""
        listed = f"{', '.join(names[:shown])}{more}"
        text = f"{label} ({listed})" if label else listed
        if len(text) <= width:
            break
    return text


def summary(found: AffectedResult) -> str:
    """Count: `12 of 43 benchmarks run changed code, 31 run the same code`."""
    changed, same, unknown = (len(found.named(status)) for status in ("changed", "same", "unknown"))
    text = f"{changed} of {len(found.benchmarks)} benchmarks run changed code, {same} run the same code"
    if not unknown:
        return text
    return f"{text}, {unknown} could not be compared and count{'s' if unknown == 1 else ''} as affected"


def explanation(name: str, one: Inspected) -> Iterator[str]:
    """Return the lines about one benchmark: everything that differs between the sides."""
    yield name
    if one.unknown:
        yield f"could not be compared, and counts as affected: {one.unknown}"
    elif one.inspections.same_code:
        yield "runs the same code on both sides"
    if difference := one.inspections.difference:
        yield from _functions(difference)
        for title, names in (
            ("values that they may read", difference.values),
            ("native libraries", difference.libraries),
            ("what they do", difference.work),
            ("settings", difference.settings),
        ):
            yield from _names(title, {name: name for name in names}, difference)
    if changes := one.inspections.counters:
        yield "\ncounters"
        yield from (f"  {change.name}: {change.base:,} → {change.head:,}" for change in changes)


def _functions(difference: Difference) -> Iterator[str]:
    """Return the functions by module."""
    modules: dict[str, dict[str, str]] = {}
    for function in difference.functions:
        module, _, name = function.partition(":")
        modules.setdefault(module, {})[function] = name
    for module, names in sorted(modules.items()):
        yield from _names(f"functions of {module}", names, difference)


def _names(title: str, names: Mapping[str, str], difference: Difference) -> Iterator[str]:
    """Return a title and its names, each with the side that alone has it.

    Args:
        title: the title.
        names: what to show, by name in the difference.
        difference: has the names of one side only.
    """
    if names:
        yield f"\n{title}"
    for name, shown in names.items():
        side = "base" if name in difference.base_only else "head" if name in difference.head_only else ""
        yield f"  {shown}{f'  (only {side})' if side else ''}"
