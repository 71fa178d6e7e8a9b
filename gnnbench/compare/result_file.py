"""Read results of `gnnbench ab --json` and `gnnbench compare --json`; tell gnnbench's formats apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .. import json_io, schema, units
from ..results import former_names
from ..results.accepted import Accepted
from ..results.run_file import RunFile
from ..settings import Settings
from . import contention, repeat, runs
from .ab import result
from .allowed import Allowed
from .comparison import Compared, Comparison, Work
from .memory import MemoryChange
from .repeat import Repeat
from .revision import Revision
from .settle import settle
from .verdict import Judgement, Thresholds

MAX_BYTES = 2**25
FORMAT_VERSION = 1
# 1: of `gnnbench compare --json`.
READABLE = {"ab": result.FORMAT_VERSION, "compare": FORMAT_VERSION}
"""Format version of each command's results."""
_REMEDY = "save it again with gnnbench ab --json or gnnbench compare --json"

Kind = Literal["run", "ab", "compare", "compare --by", "calibration", "profile"]
_BY_FIELD: Mapping[str, Kind] = {
    "calibrations": "calibration",
    "sections": "profile",
    "rows": "compare --by",
}
"""The field by which a format without benchmarks is known."""
_SHORT_COMMIT = 8


@dataclass(frozen=True)
class ResultFile:
    """The result of a command, from a file or in memory.

    The fields from `environment` on have values for `gnnbench ab` only, apart from the notes.
    """

    path: Path
    """Empty path: the result was not saved."""
    command: Literal["ab", "compare"]
    comparison: Comparison
    thresholds: Thresholds
    base: str
    """Description of the older side."""
    head: str
    environment: Mapping[str, Any] | None = None
    seconds: float | None = None
    """Duration of the comparison."""
    contention_share: float | None = None
    """The fraction of CPU time that other programs used meanwhile; None: unknown."""
    interrupted: bool = False
    shard: str | None = None
    """The shard that was timed, as in `1/4`; None: all benchmarks."""
    notes: tuple[str, ...] = ()
    """Notes on the whole result."""
    revisions: tuple[Revision, Revision] = (Revision(), Revision())
    """The commits of base and head."""
    repeat: Repeat | None = None
    """What commands need that time the benchmarks again; None: unknown."""


def kind(content: Any) -> Kind | None:
    """Return which of gnnbench's formats a parsed JSON file has, by its fields; None: another format.

    The content is not checked.
    """
    if not isinstance(content, dict):
        return None
    benchmarks = content.get("benchmarks")
    if isinstance(benchmarks, dict):
        return "compare"
    if isinstance(benchmarks, list):
        if "summary" not in content:
            return "run"
        return "ab" if "effect" in content else None  # of `gnnbench affected`
    return next((kind for field, kind in _BY_FIELD.items() if field in content), None)


def read(path: Path) -> ResultFile:
    """Read a result.

    Raises:
        UsageError: the file is missing, too large or damaged, or has another format or version.
    """
    content, _ = former_names.read(path, "result", MAX_BYTES, _REMEDY)
    return parse(path, content)


def parse(path: Path, content: Any) -> ResultFile:
    """Check a result's content.

    Args:
        path: the file, for messages.
        content: parsed JSON.

    Raises:
        UsageError: the content has another form or version.
    """
    command = kind(content)
    if command not in READABLE:
        found = f": it is {units.article(f'{command} file')}" if command else ""
        json_io.refuse(path, f"not a result of gnnbench ab or compare{found}", _REMEDY)
    schema.check(path, content, command, READABLE[command], _REMEDY)
    try:
        return _ab(path, content) if command == "ab" else _compare(path, content)
    except ValueError as error:
        json_io.refuse(path, f"damaged: {error}", _REMEDY)


def _ab(path: Path, content: Mapping[str, Any]) -> ResultFile:
    rows = []
    for one in content["benchmarks"]:
        allowed, work = Allowed.from_json(one.get("accepted")), Work.from_json(one)
        judgement = Judgement.from_json({**one, "visible": one["smallest_effect"]})
        rows.append(
            Compared(
                one["id"],
                judgement,
                _seconds(one["head_ns"]),
                notes=(*(allowed.notes(judgement) if allowed else ()), *work.notes()),
                work=work,
                allowed=allowed,
                memory=MemoryChange.from_json(one.get("memory")),
            )
        )
    level = content["level"]
    thresholds = _thresholds(content, level["simultaneous"], level["own"])
    base, head = (
        _variant(one["variant"], one["commit"], one["dirty"], one.get("checkouts", {}))
        for one in _sides(content)
    )
    share = content.get("others_share")
    return ResultFile(
        path,
        "ab",
        Comparison(rows, None),
        thresholds,
        base,
        head,
        content["environment"],
        content["seconds"],
        share,
        content["interrupted"],
        content["shard"],
        (*content["notes"], *contention.notes(share, rows)),
        revisions=(Revision.of_json(content["base"]), Revision.of_json(content["head"])),
        repeat=Repeat.from_json(content.get("repeat")),
    )


def of_ab(found: result.AbResult, path: Path) -> ResultFile:
    """Return a result of `gnnbench ab` that is in memory.

    Args:
        found: the result.
        path: where it is saved; an empty path: nowhere.
    """
    base, head = (
        _variant(one.text, one.commit, one.dirty, one.checkouts) for one in (found.base, found.head)
    )
    comparison, share = found.comparison(), found.contention_share
    return ResultFile(
        path,
        "ab",
        comparison,
        found.thresholds,
        base,
        head,
        found.environment,
        found.seconds,
        share,
        found.interrupted,
        str(found.shard) if found.shard else None,
        (*found.notes, *contention.notes(share, comparison.rows)),
        (Revision.of(found.base), Revision.of(found.head)),
        found.repeat,
    )


def of_runs(
    base: Sequence[RunFile],
    head: Sequence[RunFile],
    thresholds: Thresholds,
    accepted: Accepted,
    options: tuple[str, ...] = (),
) -> ResultFile:
    """Compare the processes of two runs.

    Args:
        base: the older run.
        head: the newer run.
        thresholds: of the verdicts.
        accepted: the project's accepted slowdowns.
        options: those that a command which compares again must have too.
    """
    revisions = Revision.of_runs(base), Revision.of_runs(head)
    judged = runs.compare(base, head, thresholds)
    found, lines = settle(judged, thresholds, accepted, lambda _: revisions)
    older, newer = (units.count(len(side), "run") for side in (base, head))
    again = repeat.of_runs(base[0], head[0], options)
    return ResultFile(
        Path(),
        "compare",
        found,
        thresholds,
        older,
        newer,
        notes=tuple(lines),
        revisions=revisions,
        repeat=again,
    )


def compare_json(result: ResultFile, base: Sequence[Path], head: Sequence[Path]) -> dict[str, Any]:
    """Return the JSON form of a comparison of files, see docs/formats.md."""
    found, thresholds = result.comparison, result.thresholds
    return {
        "version": FORMAT_VERSION,
        "effect": thresholds.effect,
        "family_level": thresholds.family_level,
        "own_level": thresholds.own_level,
        "base": [str(path) for path in base],
        "head": [str(path) for path in head],
        "revisions": dict(zip(("base", "head"), (one.as_json() for one in result.revisions), strict=True)),
        "shared": found.shared.as_json() if found.shared else None,
        "benchmarks": {
            row.fullname: {
                **row.judgement.as_json(row.notes),
                "accepted": row.allowed and row.allowed.as_json(),
                **row.work.as_json(),
                "head_ns": None if row.seconds is None else row.seconds * 1e9,
                "memory": row.memory and row.memory.as_json(),
            }
            for row in found.rows
        },
        "repeat": result.repeat and result.repeat.as_json(),
        "settings": thresholds.rules.as_json("compare"),
    }


def _compare(path: Path, content: Mapping[str, Any]) -> ResultFile:
    rows = [Compared.from_json(name, one) for name, one in content["benchmarks"].items()]
    shared = content["shared"] and Judgement.from_json(content["shared"])
    thresholds = _thresholds(content, content["family_level"], content["own_level"])
    base, head = (units.count(len(side), "run") for side in _sides(content))
    saved = content.get("revisions") or {}
    revisions = Revision.from_json(saved.get("base")), Revision.from_json(saved.get("head"))
    repeat = Repeat.from_json(content.get("repeat"))
    return ResultFile(
        path,
        "compare",
        Comparison(rows, shared),
        thresholds,
        base,
        head,
        revisions=revisions,
        repeat=repeat,
    )


def _sides(content: Mapping[str, Any]) -> tuple[Any, Any]:
    return content["base"], content["head"]


def _thresholds(content: Mapping[str, Any], family_level: float, own_level: float) -> Thresholds:
    levels = json_io.finite(family_level), json_io.finite(own_level)
    rules = Settings.from_json(content.get("settings"))
    return Thresholds(json_io.finite(content["effect"]), *levels, rules=rules)


def _seconds(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else json_io.positive(nanoseconds) / 1e9


def _variant(text: str, commit: str | None, dirty: bool, checkouts: Mapping[str, str]) -> str:
    facts = [f"{commit[:_SHORT_COMMIT]}{', with uncommitted changes' if dirty else ''}"] if commit else []
    facts += [f"{folder} {other[:_SHORT_COMMIT]}" for folder, other in checkouts.items()]
    return f"{text} ({', '.join(facts)})" if facts else text
