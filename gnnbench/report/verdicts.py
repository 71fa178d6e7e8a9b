"""Verdicts as tables and text."""

import io
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .. import units
from ..compare.comparison import Compared, Comparison
from ..compare.verdict import Judgement
from ..workloads.spec import Spec
from .table import SHORT_DIRECTION, grouped, heading, shared_place

_COLOURS = {"slower": "red", "faster": "green", "same": "", "undecided": "yellow", "incomparable": "yellow"}
_MOST_SEEN = 10.0
"""Largest minimum detectable effect that is shown exactly, as a fraction."""
ORDER = tuple(_COLOURS)


class _Judged(Protocol):
    @property
    def judgement(self) -> Judgement | None: ...


_AnyJudged = TypeVar("_AnyJudged", bound=_Judged)


def divided(benchmarks: Iterable[_AnyJudged]) -> tuple[list[_AnyJudged], str]:
    """Return the benchmarks that have rows, and one line on those that run the same code on both sides.

    The line is `31 same: they run the same code`; empty: there are none.
    """
    found = list(benchmarks)
    shown = [one for one in found if not (one.judgement and one.judgement.same_code)]
    count = len(found) - len(shown)
    runs = "it runs" if count == 1 else "they run"
    return shown, f"{count} same: {runs} the same code" if count else ""


def write(found: Comparison, out: Callable[[str], Any], width: int, *, colour: bool) -> None:
    """Write a table for each heading, the line on benchmarks that run the same code, and the notes."""
    rows, same_code = divided(found.rows)
    text = io.StringIO()
    console = Console(file=text, width=width, force_terminal=colour, highlight=False)
    groups: dict[str, list[Compared]] = {}
    for row in rows:
        groups.setdefault(heading(_spec(row.spec)) if row.spec else "", []).append(row)
    for title, group in groups.items():
        place = "" if title else shared_place([row.fullname for row in group])
        console.print(f"\n[bold]{escape(title or place)}[/bold]")
        console.print(_table(group, place, ours=bool(title)))
    for line in filter(None, (same_code, *notes(found))):
        console.print(textwrap.fill(line, width, subsequent_indent="  "), markup=False)
    out(text.getvalue())


def _table(rows: Sequence[Compared], place: str, *, ours: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("operation", "dir", "on") if ours else ("benchmark",):
        table.add_column(name, no_wrap=ours, overflow="fold")
    for name in ("time", "ratio", "interval"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("sees", justify="right", no_wrap=True)
    for row in rows:
        time, ratio, interval, verdict, sees = cells(row)
        style = _COLOURS[verdict]
        styled = f"[{style}]{verdict}[/{style}]" if style else verdict
        labels = (label.removeprefix(place) for label in _labels(row))
        table.add_row(*map(escape, labels), time, ratio, interval, styled, sees)
    return table


def cells(row: Compared) -> tuple[str, str, str, str, str]:
    """Return a row's time, ratio, interval, verdict and minimum detectable effect as text."""
    found = row.judgement
    return (
        "" if row.seconds is None else units.seconds(row.seconds),
        "" if found.ratio is None else f"{found.ratio:.2f}x",
        units.interval(found.low, found.high),
        found.verdict,
        "" if found.minimum_detectable_effect is None else sees(found.minimum_detectable_effect),
    )


def sees(effect: float) -> str:
    """Write a minimum detectable effect: `4.1%`, `over 1000%`."""
    return units.fraction(effect) if effect <= _MOST_SEEN else f"over {units.fraction(_MOST_SEEN)}"


def _labels(row: Compared) -> tuple[str, ...]:
    if not row.spec:
        return (row.fullname,)
    spec = _spec(row.spec)
    return spec.operation, SHORT_DIRECTION[spec.direction], spec.platform


def _spec(spec: Mapping[str, Any]) -> Spec:
    return Spec(**spec)


def notes(found: Comparison) -> list[str]:
    """Return the notes on rows (why there is no verdict, what else changed), and on all together."""
    rows, _ = divided(found.rows)
    place = shared_place([row.fullname for row in rows if not row.spec])
    remarks = []
    for row in rows:
        judgement = row.judgement
        reasons = [] if judgement.judged else [judgement.reason]
        remarks.append((_name(row).removeprefix(place), [*reasons, *row.notes]))
    return [*grouped(remarks), *remarks_on_all(found)]


def remarks_on_all(found: Comparison) -> list[str]:
    """Return the notes on all rows together."""
    lines = []
    rows = found.rows
    shrunk = sum(row.judgement.shrunk for row in rows)
    if shrunk:
        lines.append(
            f"{units.count(shrunk, 'benchmark')}: variance between processes mostly estimated from the others"
        )
    if shared := found.shared:
        lines.append(
            "a drift of the machine was removed: each ratio is relative to the benchmarks timed next to it. "
            f"All benchmarks together: {sentence(Compared('', shared, None))}"
        )
    return lines


def _name(row: Compared) -> str:
    return " ".join(_labels(row)) if row.judgement.base_processes and row.spec else row.fullname


def count(rows: Sequence[Compared]) -> str:
    """Count the verdicts: `1 slower, 0 faster, 40 same, 3 undecided, 0 incomparable`."""
    found: Counter[str] = Counter(row.judgement.verdict for row in rows)
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in ORDER)


def sentence(row: Compared, *, drifted: bool = False, in_turns: bool = False) -> str:
    """Write a benchmark's verdict and its reason on one line.

    Args:
        row: the benchmark.
        drifted: whether a drift was removed: the ratio then does not give the baseline's time.
        in_turns: whether both sides were timed in pairs of processes.
    """
    found = row.judgement
    text: str = found.verdict
    if found.low is not None and found.ratio is not None:
        text += f": {found.ratio:.3f}x the baseline's time ({found.low:.3f} to {found.high:.3f})"
    if row.seconds is not None and found.ratio:
        text += f", {units.seconds(row.seconds)} now"
        text += "" if drifted else f", {units.seconds(row.seconds / found.ratio)} in the baseline"
    pairs = units.count(found.head_processes, "pair")
    processes = f"{found.base_processes} in the baseline, {found.head_processes} now"
    text += f"; {found.reason}; {f'{pairs} of processes' if in_turns else f'processes: {processes}'}"
    if found.verdict == "undecided" and found.minimum_detectable_effect is not None:
        text += f"; minimum detectable effect: {sees(found.minimum_detectable_effect)}"
    return "; ".join((text, *row.notes))
