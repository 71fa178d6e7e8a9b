"""Joins the files of all shards of one run: either run files, or results of `gnnbench ab`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..ground import codec, environment, json_io
from ..ground.environment import Environment
from ..ground.errors import UsageError
from ..ground.shard import Shard
from ..judge.comparison import Comparison
from ..store import run_file
from .result import Result, kind, parse
from .runs import describe_fields

_REMEDY = "merge files written by --benchmark-json or gnnbench ab --json"
_EQUAL = (*environment.CONDITIONS, *environment.VERSIONS, "commit", "dirty")
"""Fields of the environment that must be equal in all shards."""


@dataclass(frozen=True)
class _Part:
    """The checked file of a shard."""

    path: Path
    content: dict[str, Any]
    shard: Shard | None
    """None if the file does not name its shard."""
    names: tuple[str, ...]
    """The ids of the shard's benchmarks."""
    environment: Environment
    settings: Any
    """The settings of a run file. They must be equal in all shards."""
    result: Result | None
    """The verdicts in the file. None if it is a run file without verdicts."""


def merge(paths: Sequence[Path]) -> dict[str, Any]:
    """Join files into one file of the same format, in the order of their shards. Returns its content."""
    parts = [_read(path) for path in paths]
    shards = [part.shard for part in parts]
    count = next((shard.of for shard in shards if shard), 0)
    all_shards = [Shard(number, count) for number in range(1, count + 1)]
    if count and (len(shards) != count or {*shards} != {*all_shards}):
        texts = ", ".join(str(shard or "no shard") for shard in shards)
        raise UsageError(f"the shards are {texts}: give one file for each from 1/{count} to {count}/{count}")
    parts.sort(key=lambda part: part.shard.number if part.shard else 0)
    first = next((part for part in parts if part.result), parts[0])  # an interrupted run has no verdicts
    path_by_name: dict[str, Path] = {}
    for part in parts:
        if difference := _difference(first, part):
            files = f"{first.path} and {part.path}"
            raise UsageError(
                f"{files} differ in {difference}; merge shards of one run, on one kind of machine"
            )
        for name in part.names:
            if name in path_by_name:
                files = f"{path_by_name[name]} and {part.path}"
                raise UsageError(f"{files} both contain {name}; merge different shards of one run")
            path_by_name[name] = part.path
    results = [part.result for part in parts if part.result]
    joined: dict[str, Any] = codec.encode(_join_results(results)) if results else {}
    return joined if kind(first.content) == "ab" else _join_runs([part.content for part in parts], joined)


def _read(path: Path) -> _Part:
    content = json_io.read(path, _REMEDY)
    file_kind = kind(content)
    if file_kind == "run":
        run = run_file.parse(path, content)
        if run.part.record:
            json_io.refuse(path, "part of a baseline record, which has no shards", _REMEDY)
        names = (*run.benchmarks, *(row.fullname for row in run.part.incomplete))
        settings, shard, described = run.part.settings, run.shard, run.environment
        content = {**content, "benchmarks": list(run_file.entries(content).values())}
        result = parse(path, run.part.compared) if run.part.compared else None
    elif file_kind == "ab":
        result = parse(path, content)
        names, settings = tuple(row.fullname for row in result.rows), None
        shard, described = Shard.parse(result.shard) if result.shard else None, result.environment
    else:
        json_io.refuse(path, "neither a run file nor a result of gnnbench ab", _REMEDY)
    if described is None:
        remedy = "run pytest with --gnn-shard or --gnn-layouts sample"
        json_io.refuse(path, "does not describe its environment", remedy)
    return _Part(path, content, shard, names, described, settings, result)


def _difference(first: _Part, other: _Part) -> str:
    """Return a difference that two shards of one run cannot have. Empty if there is none."""
    if fields := environment.differences(first.environment, other.environment, _EQUAL):
        return describe_fields(fields)
    is_ab = kind(first.content) == "ab"
    if kind(other.content) != kind(first.content):
        return "format: a run file and a result of gnnbench ab"
    # The level depends on the number of shards.
    results = [part.result for part in (first, other) if part.result]
    thresholds = [replace(result.thresholds, family_level=1.0) for result in results]
    if first.settings != other.settings or thresholds[:1] != thresholds[-1:]:
        return "settings"
    for name in ("base", "head"):
        sides = [getattr(result, name) for result in results]
        has_commits = all(side.commits for side in sides)
        if sides[:1] != sides[-1:] and (is_ab or has_commits):
            return f"{name}: {' and '.join(side.title for side in sides)}"
    return ""


def _join_runs(contents: Sequence[dict[str, Any]], compared: dict[str, Any]) -> dict[str, Any]:
    first, of_one_shard = contents[0], ("shard", "not_default")
    fields = {name: value for name, value in first["gnnbench"].items() if name not in of_one_shard}
    fields["compared"] = compared or None
    fields["incomplete"] = [entry for content in contents for entry in content["gnnbench"]["incomplete"]]
    benchmarks = [entry for content in contents for entry in content["benchmarks"]]
    return {**first, "benchmarks": benchmarks, "gnnbench": fields}


def _join_results(results: Sequence[Result]) -> Result:
    """Join results. The error rate of the joined result is the sum of their error rates (Bonferroni)."""
    first, level = results[0], round(1 - sum(1 - part.thresholds.family_level for part in results), 12)
    if level <= 0:
        raise UsageError(f"cannot merge {len(results)} results: their combined error rate would reach 100 %")
    shares = [part.contention_share for part in results if part.contention_share is not None]
    return replace(
        first,
        comparison=Comparison([row for part in results for row in part.rows]),
        thresholds=replace(first.thresholds, family_level=level),
        seconds=sum(part.seconds or 0.0 for part in results),
        contention_share=max(shares, default=None),  # of the busiest machine
        interrupted=any(part.interrupted for part in results),
        shard=None,
        control=None,  # rows of a shard whose control fails say so
        notes=tuple(dict.fromkeys(note for part in results for note in part.notes)),
    )
