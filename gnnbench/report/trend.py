"""The tables of `gnnbench trend`, and its words, which the page has too."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from .. import units
from ..compare.trend.history import History, HistoryRun
from ..compare.trend.result import JudgedSeries, TrendResult, together
from ..compare.trend.steps import SHORTEST_SERIES, Step
from .document import Column, Document, Heading, Note, Shown, Table, tables
from .names import short, specs_in

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII = "_.-:=+*#"
"""Heights for encodings without blocks."""
_HISTORY = 18
"""Characters of a sparkline."""
_SHORT = 7
"""Characters of a commit."""
_TOGETHER = 3
"""Most common steps that get a note."""
_NAMED, _NAMED_MEMORY = 2, 4
"""Most benchmarks that the headline names, and a line on memory."""


def document(result: TrendResult, encoding: str) -> Document:
    """Return the tables of each environment, the newest steps first, and its notes.

    Args:
        result: the result.
        encoding: encoding of the output; decides whether sparklines use blocks.
    """
    heights = BLOCKS if BLOCKS.encode(encoding, "ignore") else ASCII
    columns = [
        Column("history", "shown", partial(_drawn, 2 * result.effect, heights)),
        Column("change", "shown", _moved),
        Column("where", "shown", _where),
    ]
    blocks: list[Heading | Table | Note] = []
    for history in result.histories:
        changed = sorted((one for one in result.of(history) if one.steps), key=lambda one: -one.steps[-1].at)
        rows = {one.series.benchmark: one for one in changed}
        blocks += [Heading(history.environment), Note(span(history)), *tables(specs_in(rows), columns, rows)]
        blocks += map(Note, notes(result, history))
    return blocks


def _drawn(least: float, heights: str, one: JudgedSeries) -> Shown:
    """Return the history of a benchmark, and the level before and after the last step."""
    line = sparkline(one.series.logs, _HISTORY, least, heights)
    return Shown(f"{line}\n{level(one.steps[-1])}")


def _moved(one: JudgedSeries) -> Shown:
    step = one.steps[-1]
    return Shown(f"{moved(step)}\n{units.interval(step.low, step.high)}", style=word(step))


def _where(one: JudgedSeries) -> Shown:
    *earlier, step = one.steps
    lines = [place(step), "..".join(commits(one.history, step.previous, step.last))]
    lines += [units.count(len(earlier), "earlier change")] if earlier else []
    return Shown("\n".join(lines))


def sparkline(values: NDArray[np.float64], width: int, least: float, heights: str) -> str:
    """Draw a series as one line of characters, from its lowest to its highest value.

    Args:
        values: [n].
        width: most characters; with more runs, each shows the median of several.
        least: least range of the full height, so that noise looks flat.
        heights: characters, the lowest first.
    """
    parts = [float(np.median(part)) for part in np.array_split(values, min(width, len(values)))]
    middle, span = (min(parts) + max(parts)) / 2, max(max(parts) - min(parts), least)
    steps = (int((part - middle + span / 2) / span * len(heights)) for part in parts)
    return "".join(heights[min(max(step, 0), len(heights) - 1)] for step in steps)


def word(step: Step) -> str:
    """Return the direction of a step."""
    return "slower" if step.slower else "faster"


def moved(step: Step) -> str:
    """Write the direction and the ratio: `slower 1.20x`."""
    return f"{word(step)} {units.ratio(step.ratio, '', changed=True)}"


def level(step: Step) -> str:
    """Write the level before and after: `1.05 to 1.09 ms`."""
    before, after = (units.seconds(one / 1e9) for one in (step.before_ns, step.after_ns))
    number, unit = before.split()
    return f"{number if after.endswith(f' {unit}') else before} to {after}"


def place(step: Step) -> str:
    """Write the run of a step, from 1, and its 95 % range."""
    around = "" if step.first == step.last else f" ({step.first + 1}-{step.last + 1})"
    return f"run {step.at + 1}{around}"


def commit(run: HistoryRun) -> str:
    """Return the short hash of a run's commit, with `+` if files differed; the date if it has no commit."""
    short = run.commit[:_SHORT] if run.commit else run.date[:10]
    return f"{short}+" if run.dirty else short


def commits(history: History, previous: int, last: int) -> list[str]:
    """Return the commits of the runs between which a change is: two or one."""
    return list(dict.fromkeys(commit(history.runs[number]) for number in (previous, last)))


def span(history: History) -> str:
    """Write the number of runs, their dates and their order."""
    dates = [history.date(run)[:10] for run in range(len(history.runs))]
    number = units.count(len(dates), "run")
    return f"{number} from {min(dates)} to {max(dates)}, ordered by {history.ordered_by}"


def notes(result: TrendResult, history: History) -> list[str]:
    """Return the notes on a history."""
    mine = [one for one in result.of(history) if one.long_enough]
    quiet = [one for one in mine if not one.steps]
    small = sum(bool(one.small) for one in quiet)
    found = [f"without a change: {len(quiet)} of {units.count(len(mine), 'benchmark')}"]
    if small:
        found[0] += f", {small} of them with a change smaller than {units.fraction(result.effect)}"
    for run, count, of in together(mine)[:_TOGETHER]:
        where = f"run {run + 1}, {commit(history.runs[run])}"
        found.append(f"{where}: {count} of {of} benchmarks changed together, probably the machine")
    counted = {
        f"not examined, fewer than {SHORTEST_SERIES} runs": len(history.series) - len(mine),
        "benchmarks not timed in the 30 days before the newest run": sum(
            not result.current(one) for one in mine
        ),
        "earlier series excluded, as code, graph or method of measurement differ": history.superseded,
        "times excluded, other programs used too much CPU time": history.contended,
        "old runs excluded": history.older,
    }
    counts = (f"{what}: {count}" for what, count in counted.items() if count)
    return [*found, *_memory(result.of(history)), *counts]


def _memory(judged: Sequence[JudgedSeries]) -> list[str]:
    """Return a line for each run at which peaks changed, of the last change of each benchmark."""
    changed = [one for one in judged if one.memory]
    names = short(specs_in(one.series.benchmark for one in changed))
    lines: dict[str, list[str]] = {}
    for one in sorted(changed, key=lambda one: one.memory[-1].at, reverse=True):
        step = one.memory[-1]
        peaks = " to ".join(map(units.size, (step.change.base_bytes, step.change.head_bytes)))
        between = "..".join(commits(one.history, step.previous, step.at))
        where = f"run {step.at + 1}, {between}: {step.change.verdict}"
        lines.setdefault(where, []).append(f"{names[one.series.benchmark]} {peaks}")
    return [f"{where}: {units.listed(found, _NAMED_MEMORY)}" for where, found in lines.items()]


def headline(result: TrendResult) -> str:
    """Return the main result on one line: what changed, and what is slower now."""
    count = len(result.heavier)
    heavier = f"; {count} need{'s' if count == 1 else ''} more memory now" if count else ""
    if not result.judged:
        return f"No benchmark has the {SHORTEST_SERIES} runs that are needed{heavier}"
    of = units.count(len(result.judged), "benchmark")
    changed = [one for one in result.judged if one.steps]
    if not changed:
        text = f"None of {of} changed" if len(result.judged) > 1 else "The one benchmark did not change"
        return f"{text}{heavier}"
    slower = {id(one) for one in result.slower}
    changed.sort(key=lambda one: one.history.date(one.steps[-1].at), reverse=True)
    changed.sort(key=lambda one: id(one) not in slower)
    names = short(specs_in(one.series.benchmark for one in changed))
    named = [f"{names[one.series.benchmark]} {moved(one.steps[-1])}" for one in changed]
    now = {0: "none is slower now", 1: "1 is slower now"}.get(len(slower), f"{len(slower)} are slower now")
    return f"{len(changed)} of {of} changed: {units.listed(named, _NAMED)}; {now}{heavier}"
