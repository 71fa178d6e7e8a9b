"""What `gnnbench ab --json` or `gnnbench compare --json` saved, read back; and what a file of ours is."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .. import json_io, schema
from ..results import former_names
from .ab import result
from .runs import Comparison, Row
from .verdict import Judgement, Thresholds

MAX_BYTES = 2**26
FORMAT_VERSION = 1
# 1: of `gnnbench compare --json`.
READABLE = {"ab": result.FORMAT_VERSION, "compare": FORMAT_VERSION}
"""Version of each command's results."""
_REMEDY = "save it again with gnnbench ab --json or gnnbench compare --json"

Kind = Literal["run", "ab", "compare", "calibration", "profile"]
_SHORT_COMMIT = 8


@dataclass(frozen=True)
class ResultFile:
    """A file, checked."""

    path: Path
    command: Literal["ab", "compare"]
    content: Mapping[str, Any]
    """As docs/formats.md describes it."""
    comparison: Comparison
    thresholds: Thresholds
    base: str
    """What the older side was, in words."""
    head: str


def kind(content: Any) -> Kind | None:
    """Tell what the content of a JSON file of ours is, by the fields that only it has; None: not ours.

    The content is not checked.
    """
    if not isinstance(content, dict):
        return None
    benchmarks = content.get("benchmarks")
    if isinstance(benchmarks, dict):
        return "compare"
    if isinstance(benchmarks, list):
        return "ab" if "summary" in content else "run"
    if "calibrations" in content:
        return "calibration"
    return "profile" if "sections" in content else None


def read(path: Path) -> ResultFile:
    """Read a file.

    Raises:
        UsageError: it is missing, too large, cut off, of another form or version.
    """
    content, _ = former_names.read(path, "result", MAX_BYTES, _REMEDY)
    return parse(path, content)


def parse(path: Path, content: Any) -> ResultFile:
    """Check a result's content.

    Args:
        path: where it comes from, for messages.
        content: as it was read from JSON.

    Raises:
        UsageError: it is of another form or version.
    """
    command = kind(content)
    if command not in READABLE:
        what = f"a {command} file" if command else "of another form"
        json_io.refuse(path, f"not a result of gnnbench ab or compare: it is {what}", _REMEDY)
    version, readable = content.get("version"), READABLE[command]
    if version != readable:
        json_io.refuse(
            path,
            f"version {version!r} of the format, and this gnnbench reads {readable}",
            "use the gnnbench that wrote it, or save it again",
        )
    if wrong := schema.departure(content, command):
        json_io.refuse(path, f"damaged at {wrong}", _REMEDY)
    try:
        return _ab(path, content) if command == "ab" else _compare(path, content)
    except ValueError as error:
        json_io.refuse(path, f"damaged: {error}", _REMEDY)


def _ab(path: Path, content: Mapping[str, Any]) -> ResultFile:
    rows = []
    for one in content["benchmarks"]:
        notes = result.counter_notes(result.Change(**change) for change in one["counters"])
        judgement = Judgement.from_json({**one, "visible": one["smallest_effect"]})
        rows.append(Row(one["id"], judgement, _seconds(one["head_ns"]), notes=notes))
    level = content["level"]
    thresholds = _thresholds(content["effect"], level["simultaneous"], level["own"])
    base, head = (variant(content[side]) for side in ("base", "head"))
    return ResultFile(path, "ab", content, Comparison(rows, None), thresholds, base, head)


def _compare(path: Path, content: Mapping[str, Any]) -> ResultFile:
    rows = [
        Row(name, Judgement.from_json(one), _seconds(one["head_ns"]), notes=tuple(one["notes"]))
        for name, one in content["benchmarks"].items()
    ]
    shared = content["shared"] and Judgement.from_json(content["shared"])
    thresholds = _thresholds(content["effect"], content["family_level"], content["own_level"])
    base, head = (runs(len(content[side])) for side in ("base", "head"))
    return ResultFile(path, "compare", content, Comparison(rows, shared), thresholds, base, head)


def _thresholds(*numbers: float) -> Thresholds:
    return Thresholds(*map(json_io.finite, numbers))


def _seconds(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else json_io.positive(nanoseconds) / 1e9


def runs(number: int) -> str:
    """Say how many runs a side has."""
    return "1 run" if number == 1 else f"{number} runs"


def variant(side: Mapping[str, Any]) -> str:
    """Say what a side of `gnnbench ab` was: as it was given, and its commit."""
    if not side["commit"]:
        return str(side["variant"])
    changed = ", changed since" if side["dirty"] else ""
    return f"{side['variant']} ({side['commit'][:_SHORT_COMMIT]}{changed})"
