"""The slower benchmarks of a saved result, and the entries that accept them."""

from collections.abc import Sequence
from pathlib import Path

from ..ground import json_io
from ..ground.errors import UsageError, unknown_name
from ..judge.accepted import Accepted, Entry
from ..judge.allowed import Allowed
from ..judge.verdict import Judgement
from ..store import run_file
from . import result
from .result import Result, Side
from .settle import in_force

_REMEDY = (
    "give a result of gnnbench ab --json or of gnnbench compare --json, or a run file of "
    "pytest --benchmark-compare"
)
_SHORT_COMMIT = 10


def _read(path: Path) -> Result:
    """Read a saved result, of any kind that has one."""
    content = json_io.read(path, _REMEDY)
    if result.kind(content) != "run":
        return result.parse(path, content)
    whole = run_file.parse(path, content).part.compared
    if not whole:
        json_io.refuse(path, "a run file without verdicts: it was not compared", _REMEDY)
    return result.parse(path, whole)


def entries(
    path: Path,
    names: Sequence[str],
    accepted: Accepted,
    reason: str,
    *,
    results: bool = False,
) -> list[Entry]:
    """Return an entry for each benchmark: what is beyond those in force for the same base and head.

    `names`: ids of benchmarks in it; if empty, all that are worse, at most one of them by a different output.
    """
    whole = _read(path)
    rows, sides = {row.fullname: row for row in whole.rows}, (whole.base, whole.head)
    for name in names:
        if name not in rows:
            raise UsageError(f"{path}: {unknown_name('benchmark', name, rows)}")
    others = [name for name, row in rows.items() if row.has_other_result]
    if results and not names and len(others) > 1:
        what = f"{len(others)} benchmarks have a different output; name those that are meant to"
        raise UsageError(f"{path}: {what}: {', '.join(others)}")
    names = list(dict.fromkeys(names)) or [
        name for name, row in rows.items() if row.is_worse and (results or not row.has_other_result)
    ]
    if not names:
        more = f"; {len(others)} with a different output: --result" if others else ""
        raise UsageError(
            f"{path}: no benchmark is slower or needs more memory, so there is nothing to accept{more}"
        )
    new = []
    for name in names:
        row = rows[name]
        if not row.is_worse:
            raise UsageError(
                f"{path}: {name} is {row.judgement.verdict}, not slower ({row.judgement.reason}), and needs "
                "no memory beyond its limit; leave it out"
            )
        if row.has_other_result and not results:
            raise UsageError(f"{path}: {name} has {row.judgement.reason}; give --result to accept that")
        _check(path, *sides)
        before = in_force(accepted, *sides, name)
        is_other = row.has_other_result and not any(entry.result for entry in before)
        ratios, more_bytes, memory = _beyond(row.judgement, before), 0, row.memory
        if memory and memory.fails:
            accepted_bytes = sum(entry.more_bytes for entry in before)
            more_bytes = max(memory.head_bytes - memory.base_bytes - accepted_bytes, 0)
        if not (ratios or more_bytes or is_other):
            within = f"{name} is within what {before[-1].place} accepts"
            json_io.refuse(path, within, "leave it out, or remove that entry first")
        new.append(Entry(name, reason, *(ratios or (1.0, 1.0, 1.0)), more_bytes, is_other))
    return new


def _beyond(judgement: Judgement, before: Sequence[Entry]) -> tuple[float, float, float] | None:
    """Return the ratio of an entry and its interval: what is beyond those before it. None if nothing is."""
    if judgement.verdict != "slower":
        return None
    assert judgement.ratio
    assert judgement.low
    assert judgement.high
    limit = Allowed.of(before)
    if limit is None:
        return judgement.ratio, judgement.low, judgement.high
    ratio, low, high = limit.beyond(judgement)
    return (ratio, low, high) if low > 1 else None


def _check(path: Path, base: Side, head: Side) -> None:
    """Refuse a result that does not show which change of the project it is about."""
    for name, side in (("base", base), ("head", head)):
        if not side.commits:
            json_io.refuse(path, f"the commit of the {name} is unknown", "compare commits of a repository")
    if base.commits == head.commits and not head.dirty:
        why = f"both sides are commit {base.commits[0][:_SHORT_COMMIT]}, so no change made it slower"
        json_io.refuse(path, why, "compare two commits")
