"""Make a view from a run, alone or compared with others."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from typing import Any

from .. import codec, json_io
from ..codec import Level
from ..compare.comparison import Compared
from ..compare.repeat import Repeat
from ..compare.result import of_runs
from ..compare.verdict import Judgement, Thresholds
from ..results.accepted import Accepted
from ..results.benchmark import Benchmark
from ..results.left_out import by_file
from ..results.run_file import RunFile
from ..settings import Settings
from ..workloads.spec import Spec
from . import causes, measured
from .causes import Told
from .names import clean, cleaned, cleaned_memory, spec_of, titles
from .sources import Source
from .view import BenchmarkView, JudgedBy, View, environment_facts

Judged = tuple[dict[str, Compared], JudgedBy | None, list[Told], Sequence[str]]
"""The verdicts by fullname, by what they were judged, their causes, and lines on what is accepted."""


def view(head: Source, base: tuple[Source, ...], thresholds: Thresholds, accepted: Accepted) -> View:
    """Return the view of a run, with verdicts against the base, or else with its saved verdicts.

    Args:
        head: the run.
        base: runs of the older side; may be empty.
        thresholds: of the verdicts against the base.
        accepted: the accepted slowdowns, for the same.

    Raises:
        KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError: the content departs from
            docs/formats.md.
    """
    run = _run(head)
    entries = _usable(run)
    before = [_usable(_run(one)) for one in base]
    cut = {one.fullname: clean(one.error) for one in run.part.incomplete}
    rows, judged, told, lines = _against(run, base, thresholds, accepted) if base else _saved(run)
    names = list(dict.fromkeys([*run.benchmarks, *rows, *cut]))
    specs = [_spec(run.benchmarks.get(name), name) for name in names]
    labels, common = titles(names, specs)
    benchmarks = []
    for name, spec, (title, context) in zip(names, specs, labels, strict=True):
        one = BenchmarkView(name, title, context, spec, error=cut.get(name, ""))
        if found := entries.get(name):
            time = measured.time_of(found)
            one = replace(
                one,
                seconds=time.seconds if time else None,
                measured=time,
                work=measured.work_of(found.part.counters),
                limit=found.part.limit,
                processes=measured.processes_of(found, "head"),
            )
        if row := rows.get(name):
            one = replace(
                one,
                judgement=cleaned(row.judgement),
                allowed=row.allowed,
                memory=cleaned_memory(row.memory),
                notes=(*one.notes, *map(clean, row.notes)),
            )
        older = [measured.processes_of(run[name], "base") for run in before if name in run]
        benchmarks.append(replace(one, processes=(*chain(*older), *one.processes)))
    facts = (*_taken(head.content), *environment_facts(run.environment or {}))
    left_out = by_file((one.path, one.left_out) for one in map(_run, (head, *base)))
    source, said = clean(head.path.name), tuple(map(clean, (*lines, *left_out)))
    shown = causes.views(told)
    return View("run", source, common, tuple(benchmarks), judged, shown, facts=facts, notes=said)


def _run(source: Source) -> RunFile:
    assert isinstance(source.checked, RunFile)
    return source.checked


def _usable(run: RunFile) -> dict[str, Benchmark]:
    """Return the benchmarks whose times can be used."""
    return {name: one for name, one in run.benchmarks.items() if not one.fault}


def _against(run: RunFile, base: tuple[Source, ...], thresholds: Thresholds, accepted: Accepted) -> Judged:
    result = of_runs(list(map(_run, base)), [run], thresholds, accepted)
    found = result.comparison
    told = causes.told(found.rows, lambda _: result.repeat, whole=run.shard is None)
    rows = {row.fullname: row for row in found.rows}
    return rows, JudgedBy(thresholds, result.base.title, shared=found.shared), told, result.notes


def _saved(run: RunFile) -> Judged:
    """Return the verdicts of `--benchmark-compare` that were saved with a run."""
    found = {name: saved for name, one in run.benchmarks.items() if (saved := one.part.comparison)}
    if not found:
        return {}, None, [], []
    rows = {name: _compared(name, one) for name, one in found.items()}
    compared = run.part.compared
    in_turns = {name for name, one in found.items() if one.get("in_turns")}
    told = causes.told(
        rows.values(), lambda names: _repeat(compared or {}, in_turns.issuperset(names)), whole=False
    )
    records = sorted({clean(one["against"]) for one in found.values() if one.get("against") is not None})
    base = f"record {', '.join(records)}" if records else "other runs"
    if not compared:
        return rows, JudgedBy(None, base), told, []
    effect, family, own = (
        codec.decode(compared[name], Level) for name in ("effect", "family_level", "own_level")
    )
    thresholds = Thresholds(effect, family, own, rules=Settings.from_json(run.part.settings))
    shared = None if compared["shared"] is None else cleaned(Judgement.from_json(compared["shared"]))
    return rows, JudgedBy(thresholds, base, shared=shared), told, []


def _compared(name: str, saved: Mapping[str, Any]) -> Compared:
    try:
        return Compared.from_json(saved, name)
    except json_io.DAMAGE as error:
        why = f"damaged: its verdict: {json_io.damage(error)}"
        return Compared(name, Judgement("incomparable", why), None)


def _repeat(compared: Mapping[str, Any], in_turns: bool) -> Repeat | None:
    """Return how benchmarks were timed in turns; None: they were not, or with one of several bases."""
    turns = compared.get("turns", ())
    saved = turns[0].get("repeat") if in_turns and len(turns) == 1 else None
    return codec.decode(saved, Repeat) if saved else None


def _spec(found: Benchmark | None, name: str) -> Spec | None:
    saved = found and found.part.spec
    if not saved:
        return spec_of(name)
    texts = {key: clean(value) for key, value in asdict(saved).items() if key != "hidden"}
    return Spec(**texts, hidden=saved.hidden)


def _taken(content: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    when = content.get("datetime")
    return (("measured", clean(when)[:19].replace("T", " ")),) if when else ()
