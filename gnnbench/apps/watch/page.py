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
from . import shown
from .state import TIMES, State, Step, kinds

_DRAWN = 60
"""Most benchmarks in the timeline; those that changed come first."""


def html(state: State) -> str:
    """Return the page."""
    changes = state.changes()
    names = _drawn(state)
    labels = short(labels_in(name for step in state.steps for name in _rows(step)))
    words = f"{len(changes)} changes in {len(state.neighbours)} steps"
    pairs = [pair for change in changes for pair in change.pairs.values()]
    return page.render(
        "watch.html",
        state=state,
        changes=changes,
        columns=filled(shown.COLUMNS, pairs),
        labels=labels,
        figure=for_page(partial(draw, state.neighbours, names, labels), words) if names else "",
        not_drawn=len(labels) - len(names),
        steps=_together(state.steps),
        undecided=[(step, ids) for step in reversed(state.steps) if (ids := shown.undecided(step))],
        environments=shown.environments(state),
        package=__package__,
        watch=shown,
    )


def _together(steps: Sequence[Step]) -> list[tuple[Step, Step, int]]:
    """Return first, last and number of steps, newest first; steps without changed files are grouped."""
    numbered = enumerate(steps)
    groups = groupby(numbered, lambda item: "same files" if item[1].same_files else item[0])
    rows = [[step for _, step in group] for _, group in groups]
    return [(row[0], row[-1], len(row)) for row in reversed(rows)]


def _rows(step: Step) -> dict[str, Any]:
    return {row.fullname: row for row in (step.first.rows if step.first else ())}


def _drawn(state: State) -> list[str]:
    """Return the benchmarks that ran different code in some step, confirmed changes first."""
    scores: dict[str, int] = {}
    for step in state.neighbours:
        for name, row in _rows(step).items():
            if not row.judgement.same_code:
                scores[name] = scores.get(name, 0) + 1 + 1000 * (name in step.confirmed())
    return sorted(scores, key=lambda name: (-scores[name], name))[:_DRAWN]


def draw(steps: Sequence[Step], names: Sequence[str], labels: dict[str, str], style: Style) -> Spec:
    """Return the timeline: a row for each benchmark, a mark where its code changed."""
    rows = Rows([labels[name] for name in names], ["" for _ in names], style)
    marks = [
        {
            "row": place,
            "step": number,
            **verdict_fields(replace(row.judgement, verdict=_verdict(step, name))),
        }
        for number, step in enumerate(steps, 1)
        for place, name in enumerate(names)
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
    """Return the verdict on a benchmark; undecided if a second run did not confirm the change."""
    word: str = _rows(step)[name].judgement.verdict
    pair = step.confirmed().get(name)
    confirmed = pair is not None and word in kinds(pair[1])
    return word if confirmed or word not in TIMES else "undecided"
