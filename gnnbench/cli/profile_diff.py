"""`gnnbench profile SELECT --diff A B`: profiles two variants alternately and shows what differs."""

import os
import statistics
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from .. import units
from ..compare.ab.estimate import judged
from ..compare.ab.evidence import Evidence
from ..compare.ab.visit import Visit
from ..compare.instructions import InstructionChange
from ..compare.verdict import Judgement, Thresholds
from ..files import cache_folder
from ..measure.instructions.counting import Instructions
from ..options import EFFECT
from ..profile import diff
from ..profile.process import ProfiledSide
from ..profile.turns import TREES, Turns, turns
from ..report.profile.report import Profile
from ..variants import variant
from ..variants.prepare import Prepared, prepared
from .profile_session import Session

PAIRS = 5
"""Pairs of processes, one of each side. Several are needed, as processes of the same code differ."""
MOST_CALLS = 50
SECONDS = 1.0
"""From the second pair on, a process makes as many calls of a benchmark as fit in this time, at most
`MOST_CALLS`."""
LEAST_SHARE = 0.01
"""Ranges that take a smaller fraction of a call are not compared."""
_NAMES = ("before", "after")
_HASH_SEED = "PYTHONHASHSEED"

Pair = Sequence[Mapping[str, Profile]]
"""The profiles by benchmark, for each of the two sides."""
Times = Mapping["Range", Sequence[Turns]]
"""The times of each range, from each pair of processes that has it."""


class Range(NamedTuple):
    """A range of a benchmark."""

    benchmark: str
    """Node id of the test."""
    path: diff.Path


def run(session: Session, texts: Sequence[str]) -> int:
    """Profile two variants, print their differences, and return the exit code."""
    variants = [variant.parse(text) for text in texts]
    with ExitStack() as stack:
        made = [
            stack.enter_context(prepared(one, Path.cwd(), cache=cache_folder(), say=session.say))
            for one in variants
        ]
        pairs = _pairs(session, made)
    before, after = pairs[0]
    both = [name for name in before if name in after]
    times = _times(pairs, both)
    judgements = _judged(times)
    for name in both:
        print(f"\n{before[name].record['id']}")
        for side, one in zip(_NAMES, made, strict=True):
            print(f"{side + ':':7} {_described(one)}")
        records = [side[name].record for side in (before, after)]
        print(diff.table(diff.diff(*records)))
        if line := instructions_changed(*records):
            print(line)
        if judgements:
            print(_table(name, times, judgements))
        print(f"saved in {before[name].folder}\n     and {after[name].folder}")
    if judgements:
        print(f"\n{_note(judgements)}")
    return session.status(both)


def instructions_changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return how the instructions of two records differ, and in which functions; empty: one has none."""
    sections = [record["sections"].get("instructions") for record in (before, after)]
    if not all(sections):
        return ""
    ways = [f"{one['counter']} ({one['capability']})" for one in sections]
    if ways[0] != ways[1]:
        return f"instructions: not compared, as they were counted by {' and '.join(ways)}"
    change = InstructionChange.between(*(Instructions.from_json(one["counted"]) for one in sections))
    return textwrap.fill(f"instructions: {change.sentence()}", 80, break_on_hyphens=False)


def _pairs(session: Session, made: Sequence[Prepared]) -> list[Pair]:
    """Profile in a first pair of processes, then time the ranges of shared benchmarks in more pairs."""
    seed = {_HASH_SEED: os.environ.get(_HASH_SEED, "0")}  # the same order of sets on both sides
    sides = [
        ProfiledSide(name, one.trees, {**seed, **one.environment})
        for name, one in zip(_NAMES, made, strict=True)
    ]
    pairs: list[Pair] = [session.profile(sides, session.wanted)]
    before, after = pairs[0]
    for side, one, other in ((_NAMES[0], before, after), (_NAMES[1], after, before)):
        for name in (name for name in one if name not in other):
            session.say(f"{name}: profiled on one side only: {side}")
    both = [name for name in before if name in after]
    kind = _kind(pairs[0])
    if not both or not kind:
        return pairs
    repeats = max(session.wanted.repeats, _calls(pairs[0], kind))
    wanted = replace(session.wanted, kinds=[kind], repeats=repeats, only=both)
    for number in range(1, PAIRS):
        session.say(f"timing both alternately: pair {number + 1} of {PAIRS}")
        with TemporaryDirectory() as folder:
            pairs.append(session.profile(sides, replace(wanted, folder=Path(folder)), quiet=True))
    return pairs


def _kind(pair: Pair) -> str | None:
    """Return the first kind of profile with times that all have; None if there is none."""
    sections = [profile.record["sections"] for side in pair for profile in side.values()]
    return next((kind for kind in TREES if all(kind in one for one in sections)), None)


def _calls(pair: Pair, kind: str) -> int:
    rows = [profile.record["sections"][kind]["rows"] for side in pair for profile in side.values()]
    call_seconds = statistics.mean(min(row[0]["total_ns"]) for row in rows) / 1e9
    return min(MOST_CALLS, int(SECONDS / call_seconds))


def _times(pairs: Sequence[Pair], names: Sequence[str]) -> Times:
    kind = _kind(pairs[0])
    found: dict[Range, list[Turns]] = {}
    for before, after in pairs if kind else ():
        for name in (name for name in names if name in before and name in after):
            sections = (side[name].record["sections"][kind] for side in (before, after))
            for path, times in turns(*sections).items():
                found.setdefault(Range(name, path), []).append(times)
    return {
        range_: times for range_, times in found.items() if max(one.share for one in times) >= LEAST_SHARE
    }


def _judged(times: Times) -> dict[Range, Judgement]:
    """Compare every range by the rules of `gnnbench ab`, with a correction for the number of ranges."""
    keys = {range_: str(number) for number, range_ in enumerate(times)}
    evidence = Evidence(list(keys.values()))
    for number in range(PAIRS):
        evidence.add(
            {keys[range_]: _visit(one[number]) for range_, one in times.items() if number < len(one)}
        )
    estimates = evidence.estimates() if times else {}
    thresholds = Thresholds(EFFECT)
    return {range_: judged(estimates[key], thresholds, len(keys)) for range_, key in keys.items()}


def _visit(times: Turns) -> Visit:
    return Visit(times.before_ns, times.after_ns, len(times.before_ns), 0.0)


def _table(name: str, times: Times, judgements: Mapping[Range, Judgement]) -> str:
    changed = [
        (range_, found)
        for range_, found in judgements.items()
        if range_.benchmark == name and found.verdict in ("slower", "faster")
    ]
    if not changed:
        return "times: no range differs by more than its interval"
    lines = [diff.line(f"{'Time':<8} {'Before':>9} {'After':>9} {'Ratio':>6} {'Interval':>10}  ", "What")]
    for range_, found in changed:
        before = _middle(ns for one in times[range_] for ns in one.before_ns)
        after = _middle(ns for one in times[range_] for ns in one.after_ns)
        ratio, interval = units.ratio(found.ratio, changed=True), units.interval(found.low, found.high)
        start = f"{found.verdict:<8} {before:>9} {after:>9} {ratio:>6} {interval:>10}  "
        lines.append(diff.line(start, diff.place(range_.path[:-1], range_.path[-1])))
    return "\n".join(lines)


def _middle(times_ns: Iterable[int]) -> str:
    return units.seconds(statistics.median(times_ns) / 1e9)


def _note(judgements: Mapping[Range, Judgement]) -> str:
    thresholds = Thresholds(EFFECT)
    detectable = [
        found.minimum_detectable_effect
        for found in judgements.values()
        if found.minimum_detectable_effect is not None
    ]
    text = (
        f"Times: without inner ranges, from {PAIRS} pairs of processes whose calls alternated. "
        f"{units.count(len(judgements), 'range')} of at least {units.fraction(LEAST_SHARE)} of a call "
        f"compared, with simultaneous {units.level(thresholds.family_level)} intervals."
    )
    if detectable:
        smallest = units.fraction(statistics.median(detectable))
        text += f" Median of the minimum detectable effects: {smallest}."
    return textwrap.fill(text, 80)


def _described(made: Prepared) -> str:
    facts = [made.commit[:10]] if made.commit else []
    facts += ["uncommitted changes"] if made.dirty else []
    facts += [f"{folder} {commit[:10]}" for folder, commit in made.checkouts.items()]
    facts += [f"{name} {version}" for name, version in made.versions.items()]
    return f"{made.text} ({', '.join(facts)})" if facts else made.text
