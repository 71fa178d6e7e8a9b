"""The page of `gnnbench watch`: one file that loads nothing else."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

import altair as alt

from ...engine.show import page
from ...engine.show.charts import Rows, Spec, Style, for_page, rows_of, verdict_fields, verdict_marks
from ...engine.show.document import filled
from ...engine.show.names import labels_in, short
from . import texts
from .state import TIMES, State, Step, kinds

_DRAWN = 60
"""Largest number of benchmarks in the timeline; those that changed come first."""


def html(state: State) -> str:
    changes = state.changes()
    names = _timeline_names(state)
    labels = short(labels_in(name for step in state.steps for name in _rows(step)))
    alternative_text = f"{len(changes)} changes in {len(state.neighbours)} steps"
    pairs = [pair for change in changes for pair in change.pairs.values()]
    return page.render(
        "watch.html",
        state=state,
        changes=changes,
        columns=filled(texts.COLUMNS, pairs),
        labels=labels,
        figure=for_page(partial(draw, state.neighbours, names, labels), alternative_text) if names else "",
        not_drawn=len(labels) - len(names),
        steps=_groups(state.steps),
        undecided=[(step, ids) for step in reversed(state.steps) if (ids := texts.undecided(step))],
        environments=texts.environments(state),
        package=__package__,
        texts=texts,
    )


def _groups(steps: Sequence[Step]) -> list[tuple[Step, Step, int]]:
    """Group consecutive steps without changed files; return first and last step and size, newest first."""
    numbered = enumerate(steps)
    groups = groupby(numbered, lambda item: "same files" if item[1].same_files else item[0])
    lists = [[step for _, step in group] for _, group in groups]
    return [(group[0], group[-1], len(group)) for group in reversed(lists)]


def _rows(step: Step) -> dict[str, Any]:
    """Return the rows of a step's comparison, by benchmark."""
    return {row.fullname: row for row in (step.first.rows if step.first else ())}


def _timeline_names(state: State) -> list[str]:
    """Return the benchmarks whose code changed in any step; those with confirmed changes come first."""
    scores: dict[str, int] = {}
    for step in state.neighbours:
        for name, row in _rows(step).items():
            if not row.judgement.same_code:
                scores[name] = scores.get(name, 0) + 1 + 1000 * (name in step.confirmed())
    return sorted(scores, key=lambda name: (-scores[name], name))[:_DRAWN]


def draw(steps: Sequence[Step], names: Sequence[str], labels: dict[str, str], style: Style) -> Spec:
    """Return the timeline, with a row for each benchmark, and a mark at each step that changed its code."""
    rows = Rows([labels[name] for name in names], ["" for _ in names], style)
    marks = [
        {
            "row": row_number,
            "step": number,
            **verdict_fields(replace(row.judgement, verdict=_verdict(step, name))),
        }
        for number, step in enumerate(steps, 1)
        for row_number, name in enumerate(names)
        if (row := _rows(step).get(name)) and not row.judgement.same_code
    ]
    numbers = range(1, len(steps) + 1, max(len(steps) // max(style.ticks // 2, 1), 1))
    dates = {number: steps[number - 1].head.day or steps[number - 1].head.name for number in numbers}
    x = alt.X(
        "step:Q",
        title=None,
        scale=alt.Scale(domain=[0.5, len(steps) + 0.5], nice=False),
        axis=alt.Axis(values=list(dates), labelExpr=f"({dates})[datum.value]", grid=False, labelFlush=True),
    )
    return rows.chart(verdict_marks(rows_of(marks).encode(y=rows.y()), x, style))


def _verdict(step: Step, name: str) -> str:
    """Return the verdict on a benchmark's time; `undecided` if the second run did not confirm a change."""
    word: str = _rows(step)[name].judgement.verdict
    pair = step.confirmed().get(name)
    confirmed = pair is not None and word in kinds(pair[1])
    return word if confirmed or word not in TIMES else "undecided"
