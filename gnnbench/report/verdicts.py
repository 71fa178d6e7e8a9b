"""Verdicts as tables and text."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from rich.table import Table

from .. import units
from ..compare.comparison import Compared, Comparison
from ..compare.verdict import Judgement, Thresholds
from . import labels, memory
from .causes import Told, notes_of
from .console import Printout
from .headline import headline
from .labels import Labels
from .table import grouped

_COLOURS = {
    "slower": "red",
    "accepted": "cyan",
    "faster": "green",
    "same": "",
    "undecided": "yellow",
    "incomparable": "yellow",
    "ignored": "dim",
}
_SELDOM = ("accepted", "ignored")
"""Verdicts that are counted only if there are any."""
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


def write(
    found: Comparison,
    out: Callable[[str], Any],
    width: int | None,
    *,
    colour: bool,
    causes: Sequence[Told] = (),
) -> None:
    """Write a table for each heading, the line on benchmarks that run the same code, notes, and causes.

    Args:
        found: the verdicts.
        out: writes a text.
        width: characters per line; None: the output is not a terminal.
        colour: whether the output shows colours.
        causes: of slower benchmarks.
    """
    shown, same_code = divided(found.rows)
    rows = {row.fullname: row for row in shown}
    printout = Printout(width, colour=colour)
    for group in labels.groups(labels.specs_of(shown)):
        printout.show()
        printout.show(group.heading())
        printout.show(_table(group, rows))
    names = labels.short(labels.specs_of(shown))
    of_causes = (line for one in causes for line in one.lines(names))
    for line in filter(None, (same_code, *notes(found, causes), *of_causes)):
        printout.say(line)
    out(printout.text)


def _table(group: Labels, rows: Mapping[str, Compared]) -> Table:
    table = group.table()
    for name in ("time", "ratio", "interval"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    shows_effect = any(sees(rows[name].judgement) for name in group.cells)
    if shows_effect:
        table.add_column("sees", justify="right", no_wrap=True)
    shows_memory = any(memory.cell(rows[name].memory) for name in group.cells)
    if shows_memory:
        table.add_column("memory", justify="right", no_wrap=True)
    for name in group.cells:
        row = rows[name]
        time, ratio, interval, verdict = cells(row)
        numbers = [time, ratio, interval, styled(verdict)]
        if shows_effect:
            numbers.append(sees(row.judgement))
        if shows_memory:
            numbers.append(memory.styled(row.memory))
        table.add_row(*group.row(name), *numbers)
    return table


def styled(verdict: str) -> str:
    """Return a verdict in its colour, in rich's markup."""
    style = _COLOURS[verdict]
    return f"[{style}]{verdict}[/{style}]" if style else verdict


def cells(row: Compared) -> tuple[str, str, str, str]:
    """Return a row's time, ratio, interval and verdict as text."""
    found = row.judgement
    return (
        "" if row.seconds is None else units.seconds(row.seconds),
        units.ratio(found.ratio, changed=found.changed),
        units.interval(found.low, found.high),
        found.verdict,
    )


def sees(found: Judgement) -> str:
    """Write the minimum detectable effect of an undecided benchmark: `4.1%`, `over 1000%`; else nothing."""
    effect = found.minimum_detectable_effect
    if effect is None or found.verdict != "undecided":
        return ""
    return units.fraction(effect) if effect <= _MOST_SEEN else f"over {units.fraction(_MOST_SEEN)}"


def notes(found: Comparison, causes: Sequence[Told] = ()) -> list[str]:
    """Return the notes on rows (why there is no verdict, what else changed), and on all together.

    Args:
        found: the verdicts.
        causes: those that are shown too; what they say is left out.
    """
    rows, _ = divided(found.rows)
    names = labels.short(labels.specs_of(rows))
    remarks = []
    for row in rows:
        judgement = row.judgement
        said = (*reasons(judgement), *memory.notes(row.memory), *notes_of(row, causes))
        remarks.append((names[row.fullname], said))
    return [*grouped(remarks), *remarks_on_all(found)]


def reasons(judgement: Judgement) -> list[str]:
    """Return why there is no verdict by time, or why it is ignored; nothing if the numbers say all."""
    if judgement.verdict == "ignored":
        return [f"ignored: {judgement.reason}"]
    excludes_one = (judgement.low or 0.0) > 1 or (judgement.high or 1.0) < 1
    unclear = judgement.verdict == "undecided" and excludes_one
    return [judgement.reason] if unclear or not judgement.judged else []


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


def effect(thresholds: Thresholds, names: Iterable[str]) -> str:
    """Write the minimum effect of interest: `3.0%`, or `3.0% (10% by rule 2 of pyproject.toml)`."""
    rules = thresholds.rules
    found = dict.fromkeys(rule for name in names if (rule := rules.rule("effect", name)))
    own = [f"{units.fraction(rule.effect or 0.0)} by {rules.place(rule)}" for rule in found]
    return units.fraction(thresholds.effect) + (f" ({', '.join(own)})" if own else "")


def count(rows: Sequence[Compared]) -> str:
    """Count the verdicts: `1 slower, 0 faster, 40 same, 3 undecided, 0 incomparable; 2 more memory`."""
    found: Counter[str] = Counter(row.judgement.verdict for row in rows)
    times = ", ".join(
        f"{found[verdict]} {verdict}" for verdict in ORDER if found[verdict] or verdict not in _SELDOM
    )
    return "; ".join(filter(None, (times, memory.counted(rows))))


def result(found: Comparison) -> str:
    """Return the last lines in a terminal: what fails or is known, and the verdicts, counted."""
    said = f"{headline(found.rows, found.shared).said}\n" if found.rows else ""
    return said + count(found.rows)


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
        ratio = units.ratio(found.ratio, "less", 3, changed=found.changed)
        text += f": {ratio} the baseline's time ({units.interval(found.low, found.high, 3)})"
    if row.seconds is not None and found.ratio:
        text += f", {units.seconds(row.seconds)} now"
        text += "" if drifted else f", {units.seconds(row.seconds / found.ratio)} in the baseline"
    pairs = units.count(found.head_processes, "pair")
    processes = f"{found.base_processes} in the baseline, {found.head_processes} now"
    text += f"; {found.reason}; {f'{pairs} of processes' if in_turns else f'processes: {processes}'}"
    if effect := sees(found):
        text += f"; minimum detectable effect: {effect}"
    of_memory = memory.notes(row.memory)
    # The verdict that fails comes first.
    first = (*of_memory, text) if row.needs_more_memory and found.verdict != "slower" else (text, *of_memory)
    return "; ".join((*first, *row.notes))
