"""The page of `gnnbench bisect`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .. import units
from ..compare.ab.inspections import Inspections
from ..compare.bisect.result import BisectResult, Finding
from ..compare.bisect.session import Bisected
from . import bisect, page
from .names import clean, spec_of, titles

_KINDS = {
    "functions": "functions",
    "values": "values that they may read",
    "captured": "functions that captured other values",
    "compiled": "compiled modules",
    "libraries": "native libraries",
    "work": "what they do",
    "settings": "settings",
}


@dataclass(frozen=True)
class FindingView:
    """A place where benchmarks changed, as the page shows it."""

    fragment: str
    heading: list[str]
    rows: list[tuple[str, str, str, str]]
    """Label of the benchmark, slower or faster, ratio, interval."""
    changed: list[tuple[str, list[str]]]
    """What differs: a title, and names."""
    command: str


@dataclass(frozen=True)
class StageView:
    """What was found on one line."""

    findings: list[FindingView]


def html(found: BisectResult) -> str:
    """Return the page: one file that loads nothing else."""
    first = found.stages[0]
    labels = _labels(first)
    stages = [
        StageView([_finding(stage, one, labels) for one in found.findings(stage)]) for stage in found.stages
    ]
    ends = [
        (
            labels[name],
            one.judgement.verdict,
            units.ratio(one.judgement.ratio, changed=one.judgement.changed),
            units.interval(one.judgement.low, one.judgement.high),
            one.judgement.reason,
        )
        for name, one in first.decisions.items()
    ]
    return page.render(
        "bisect.html",
        result=found,
        headline=clean(_headline(found, stages)),
        summary=bisect.summary(found),
        stages=stages,
        ends=ends,
        notes=[note for stage in found.stages for note in bisect.notes(stage)],
        clean=clean,
    )


def _headline(found: BisectResult, stages: list[StageView]) -> str:
    """Return the main result: the largest change of what was found last."""
    for stage in reversed(stages):
        if stage.findings:
            one = stage.findings[0]
            label, word, ratio, _ = one.rows[0]
            others = units.count(len(one.rows) - 1, "other benchmark")
            more = f" and {others} changed" if len(one.rows) > 1 else ""
            return f"{label} became {word}, {ratio}{more}: {one.heading[0].removesuffix(':')}"
    return bisect.summary(found).partition(";")[0]


def _labels(stage: Bisected) -> Mapping[str, str]:
    names = list(stage.decisions)
    found, _ = titles(names, list(map(spec_of, names)))
    return {name: f"{title} {context}".strip() for name, (title, context) in zip(names, found, strict=True)}


def _finding(stage: Bisected, one: Finding, labels: Mapping[str, str]) -> FindingView:
    heading = list(bisect.heading(stage, one))
    rows = [
        (labels[name], "slower" if span.ratio > 1 else "faster", *bisect.cells(span))
        for name, span in one.spans.items()
    ]
    return FindingView(page.fragment(*heading), heading, rows, list(_changed(one.inspections)), one.command)


def _changed(inspections: Mapping[str, Inspections]) -> Iterator[tuple[str, list[str]]]:
    """Yield what differs in any of the benchmarks, by kind."""
    counters = [one for each in inspections.values() for one in each.counters]
    lines = list(dict.fromkeys(f"{one.name}: {one.base:,} → {one.head:,}" for one in counters))
    if lines:
        yield units.count(len(lines), "changed counter"), lines
    differences = [each.difference for each in inspections.values() if each.difference]
    for kind, title in _KINDS.items():
        names: dict[str, None] = {}
        for one in differences:
            for name in getattr(one, kind):
                side = one.side_of(name)
                names[f"{name}  (only {'before' if side == 'base' else 'after'})" if side else name] = None
        if names:
            yield f"{title}: {len(names)} differ", list(names)
