"""The slower benchmarks of a saved result, and the entries that accept them."""

from collections.abc import Sequence
from pathlib import Path

from ..ground import json_io, units
from ..ground.errors import UsageError, unknown_name
from ..judge.accepted import Accepted, Entry
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
    """Read a saved result, or the result that is part of a run file."""
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
    """Return an entry for each benchmark in `names`, or if this is empty, for each that is worse.

    `results`: whether different outputs are also accepted.
    """
    whole = _read(path)
    rows = {row.fullname: row for row in whole.rows}
    for name in names:
        if name not in rows:
            raise UsageError(f"{path}: {unknown_name('benchmark', name, rows)}")
    worse = [row for row in whole.rows if row.is_worse]
    selection = [rows[name] for name in dict.fromkeys(names)] or [
        row for row in worse if results or not row.has_other_result
    ]
    if not selection:
        outputs = units.count(len(worse), "different output")
        hint = f"; --result accepts {outputs}" if worse else ""
        raise UsageError(
            f"{path}: no benchmark is slower or needs more memory, so there is nothing to accept{hint}"
        )
    _check(path, whole.base, whole.head)
    new = []
    for row in selection:
        name, judgement, memory = row.fullname, row.judgement, row.memory
        if not row.is_worse:
            raise UsageError(
                f"{path}: {name} is {judgement.verdict}, not slower ({judgement.reason}), and needs "
                "no memory beyond its limit; leave it out"
            )
        if row.has_other_result and not results:
            raise UsageError(f"{path}: {name} has {judgement.reason}; give --result to accept that")
        if earlier := in_force(accepted, whole.base, whole.head, name):
            reason = f"{earlier[-1].place} already accepts a change of {name}"
            json_io.refuse(path, reason, "remove that entry, and compare again")
        ratios = judgement.ratio or 1.0, judgement.low or 1.0, judgement.high or 1.0
        more_bytes = memory.head_bytes - memory.base_bytes if memory and memory.fails else 0
        slower = judgement.verdict == "slower"
        new.append(
            Entry(name, reason, *(ratios if slower else (1.0, 1.0, 1.0)), more_bytes, row.has_other_result)
        )
    return new


def _check(path: Path, base: Side, head: Side) -> None:
    """Refuse a result that does not show which change of the project was measured."""
    for name, side in (("base", base), ("head", head)):
        if not side.commits:
            json_io.refuse(path, f"the commit of the {name} is unknown", "compare commits of a repository")
    if base.commits == head.commits and not head.dirty:
        why = f"both sides are commit {base.commits[0][:_SHORT_COMMIT]}, so no change made it slower"
        json_io.refuse(path, why, "compare two commits")
