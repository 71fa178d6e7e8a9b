"""Make a view from a run, alone or compared with others."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .. import json_io, units
from ..compare import runs as comparison
from ..compare.acceptance import Acceptance
from ..compare.comparison import Compared, Work
from ..compare.ignored import ignored
from ..compare.memory import MemoryChange
from ..compare.repeat import Repeat, of_runs
from ..compare.result_file import allowed_of
from ..compare.revision import Revision
from ..compare.verdict import Judgement, Thresholds
from ..measure import extra_info
from ..results import benchmark
from ..results.left_out import by_file
from ..results.run_file import RunFile
from ..settings import Settings
from ..workloads.spec import Spec
from . import causes, measured
from .causes import Told
from .facts import environment_facts
from .names import clean, cleaned, cleaned_memory, spec_of, titles
from .sources import Source
from .view import BenchmarkView, JudgedBy, ProcessBlocks, View

Entries = Mapping[str, Mapping[str, Any]]
"""Records of benchmarks, by fullname."""


def view(head: Source, base: tuple[Source, ...], thresholds: Thresholds, acceptance: Acceptance) -> View:
    """Return the view of a run, with verdicts against the base, or else with its saved verdicts.

    Args:
        head: the run.
        base: runs of the older side; may be empty.
        thresholds: of the verdicts against the base.
        acceptance: the accepted slowdowns, for the same.

    Raises:
        KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError: the content departs from
            docs/formats.md.
    """
    entries = _entries(head)
    before = [_entries(one) for one in base]
    ours = extra_info.part(head.content)
    cut = {entry["fullname"]: clean(entry.get("error")) for entry in ours.get("incomplete") or ()}
    rows, judged, told = _against(head, base, thresholds, acceptance) if base else _saved(entries, ours)
    names = list(dict.fromkeys([*_run(head).benchmarks, *rows, *cut]))
    specs = [_spec(entries.get(name), name) for name in names]
    labels, common = titles(names, specs)
    benchmarks = []
    for name, spec, (title, context) in zip(names, specs, labels, strict=True):
        one = BenchmarkView(name, title, context, spec, error=cut.get(name, ""))
        if name in entries:
            one = _measured(one, entries[name])
        if row := rows.get(name):
            one = replace(
                one,
                judgement=cleaned(row.judgement),
                allowed=row.allowed,
                memory=cleaned_memory(row.memory),
                notes=(*one.notes, *map(clean, row.notes)),
            )
        there = [blocks for run in before if name in run for blocks in _processes(run[name])]
        benchmarks.append(replace(one, processes=(*there, *one.processes)))
    facts = (*_taken(head.content), *environment_facts(ours.get("environment") or {}))
    left_out = by_file((one.path, one.left_out) for one in map(_run, (head, *base)))
    source, said = clean(head.path.name), tuple(map(clean, (*acceptance.lines(), *left_out)))
    shown = causes.views(told)
    return View("run", source, common, tuple(benchmarks), judged, shown, facts=facts, notes=said)


def _run(source: Source) -> RunFile:
    assert isinstance(source.checked, RunFile)
    return source.checked


def _entries(source: Source) -> Entries:
    """Return the records of the benchmarks whose times can be used."""
    found = _run(source).benchmarks
    return {name: one for name, one in benchmark.entries(source.content).items() if not found[name].fault}


def _against(
    head: Source, base: tuple[Source, ...], thresholds: Thresholds, acceptance: Acceptance
) -> tuple[dict[str, Compared], JudgedBy, list[Told]]:
    runs, run = list(map(_run, base)), _run(head)
    sides = Revision.of_runs(runs), Revision.of_runs([run])
    found = acceptance.judge(comparison.compare(runs, [run], thresholds), thresholds, lambda _: sides)
    found = ignored(found, thresholds.rules)
    judged = JudgedBy(thresholds, units.count(len(runs), "run"), shared=found.shared)
    repeat = of_runs(runs[0], run, ())
    told = causes.told(found.rows, lambda _: repeat, whole=run.shard is None)
    return {row.fullname: row for row in found.rows}, judged, told


def _saved(
    entries: Entries, ours: Mapping[str, Any]
) -> tuple[dict[str, Compared], JudgedBy | None, list[Told]]:
    """Return the verdicts of `--benchmark-compare` that were saved with a run."""
    found = {
        name: saved
        for name, entry in entries.items()
        if (saved := json_io.fields(measured.ours(entry).get("comparison")))
    }
    if not found:
        return {}, None, []
    rows = {name: _compared(name, one) for name, one in found.items()}
    compared = ours.get("compared")
    in_turns = {name for name, one in found.items() if one.get("in_turns")}
    told = causes.told(
        rows.values(), lambda names: _repeat(compared or {}, in_turns.issuperset(names)), whole=False
    )
    records = sorted({clean(one["against"]) for one in found.values() if one.get("against") is not None})
    base = f"record {', '.join(records)}" if records else "other runs"
    if not compared:
        return rows, JudgedBy(None, base), told
    thresholds = Thresholds(
        json_io.positive(compared["effect"]),
        measured.level(compared["family_level"]),
        measured.level(compared["own_level"]),
        rules=Settings.from_json(ours.get("settings")),
    )
    shared = None if compared["shared"] is None else cleaned(Judgement.from_json(compared["shared"]))
    return rows, JudgedBy(thresholds, base, shared=shared), told


def _compared(name: str, saved: Mapping[str, Any]) -> Compared:
    try:
        return Compared(
            name,
            Judgement.from_json(saved),
            None,
            notes=tuple(saved["notes"]),
            work=Work.from_json(saved),
            memory=MemoryChange.from_json(saved.get("memory")),
            allowed=allowed_of(saved),
        )
    except json_io.DAMAGE as error:
        why = f"damaged: its verdict: {json_io.damage(error)}"
        return Compared(name, Judgement("incomparable", why), None)


def _repeat(compared: Mapping[str, Any], in_turns: bool) -> Repeat | None:
    """Return how benchmarks were timed in turns; None: they were not, or with one of several bases."""
    turns = compared.get("turns", ())
    return Repeat.from_json(turns[0].get("repeat")) if in_turns and len(turns) == 1 else None


def _measured(one: BenchmarkView, entry: Mapping[str, Any]) -> BenchmarkView:
    try:
        time = measured.time_of(entry)
        return replace(
            one,
            seconds=time.seconds if time else None,
            measured=time,
            work=measured.work_of(entry),
            limit=measured.limit_of(entry),
            processes=measured.processes_of(entry, "head"),
        )
    except json_io.DAMAGE as error:
        return replace(one, notes=(f"damaged: {clean(json_io.damage(error))}",))


def _processes(entry: Mapping[str, Any]) -> tuple[ProcessBlocks, ...]:
    """Return the base's blocks, which only a chart shows; none, if they are damaged."""
    try:
        return measured.processes_of(entry, "base")
    except json_io.DAMAGE:
        return ()


def _spec(entry: Mapping[str, Any] | None, name: str) -> Spec | None:
    saved = measured.ours(entry or {}).get("spec")
    if not saved:
        return spec_of(name)
    texts = {key: clean(value) for key, value in saved.items() if key != "hidden"}
    return Spec(**texts, hidden=int(json_io.finite(saved["hidden"])))


def _taken(content: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    when = content.get("datetime")
    return (("measured", clean(when)[:19].replace("T", " ")),) if when else ()
