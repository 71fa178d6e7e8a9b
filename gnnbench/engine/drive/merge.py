"""Join the shards of one run: run files, or results of `gnnbench ab`, from machines of one kind."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..ground import codec, environment, json_io
from ..ground.environment import Environment
from ..ground.errors import UsageError
from ..ground.shard import Shard
from ..judge.comparison import Comparison
from ..store import benchmark, run_file
from . import result
from .result import Result
from .runs import describe_fields

_REMEDY = "merge files written by --benchmark-json or gnnbench ab --json"
_EQUAL = (*environment.WHERE, *environment.WHAT, "commit", "dirty")
"""What the environments of all shards have alike."""


@dataclass(frozen=True)
class _Shard:
    """One file, checked."""

    path: Path
    content: dict[str, Any]
    shard: Shard | None
    names: tuple[str, ...]
    environment: Environment | None
    settings: Any
    result: Result | None = None
    """None if it is a run file."""


def merge(paths: Sequence[Path]) -> dict[str, Any]:
    """Join files into one of the same format, in the order of their shards."""
    parts = [_read(path) for path in paths]
    _complete(parts)
    parts.sort(key=lambda part: part.shard.number if part.shard else 0)
    first = parts[0]
    for part in parts[1:]:
        _alike(first, part)
    places: dict[str, Path] = {}
    for part in parts:
        for name in part.names:
            if name in places:
                both = f"{places[name]} and {part.path}"
                raise UsageError(f"{both} both contain {name}; merge different shards of one run")
            places[name] = part.path
    if first.result is None:
        return _runs([part.content for part in parts])
    return codec.encode(_joined([part.result for part in parts if part.result]))


def _read(path: Path) -> _Shard:
    content = json_io.read(path, _REMEDY)
    kind = result.kind(content)
    if kind == "run":
        return _run(path, content)
    if kind != "ab":
        json_io.refuse(path, "neither a run file nor a result of gnnbench ab", _REMEDY)
    whole = result.parse(path, content)
    names = tuple(row.fullname for row in whole.rows)
    shard = Shard.parse(whole.shard) if whole.shard else None
    settings = replace(whole.thresholds, family_level=1.0)  # which depends on the number of shards
    return _Shard(path, content, shard, names, whole.environment, settings, result=whole)


def _run(path: Path, content: dict[str, Any]) -> _Shard:
    run = run_file.parse(path, content)
    if run.environment is None:
        json_io.refuse(
            path, "does not describe its environment", "run pytest with --gnn-shard or --gnn-layouts sample"
        )
    if run.part.record:
        json_io.refuse(path, "part of a baseline record, which has no shards", _REMEDY)
    names = (*run.benchmarks, *(row.fullname for row in run.part.incomplete))
    content = {**content, "benchmarks": list(benchmark.entries(content).values())}
    return _Shard(path, content, run.shard, names, run.environment, run.part.settings)


def _complete(parts: Sequence[_Shard]) -> None:
    """Refuse a missing shard, a shard that is there twice, and shards of different runs."""
    shards = [part.shard for part in parts]
    of = next((shard.of for shard in shards if shard), 0)
    if of and (len(shards) != of or {*shards} != {Shard(number, of) for number in range(1, of + 1)}):
        texts = ", ".join(str(shard or "no shard") for shard in shards)
        raise UsageError(f"these are not all shards of one run: {texts}; name each shard's file once")


def _alike(first: _Shard, other: _Shard) -> None:
    """Refuse two parts that differ in format, environment, commit, settings or variants."""
    both = f"{first.path} and {other.path}"
    if bool(first.result) != bool(other.result):
        raise UsageError(f"{both} are a run file and a result of gnnbench ab; merge files of one format")
    assert first.environment
    assert other.environment
    if fields := environment.differences(first.environment, other.environment, _EQUAL):
        remedy = "merge files of one commit, from one kind of machine"
        raise UsageError(f"{both} differ in {describe_fields(fields)}; {remedy}")
    if first.settings != other.settings:
        raise UsageError(f"{both} were measured with different settings; merge files of one project")
    if first.result and other.result:
        for side in ("base", "head"):
            revisions = [getattr(part.result, side) for part in (first, other)]
            if revisions[0] != revisions[1]:
                texts = " and ".join(revision.title for revision in revisions)
                raise UsageError(f"{both} have different {side}s: {texts}; merge shards of one comparison")


def _runs(contents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    first = contents[0]
    # These fields are valid for one shard only.
    of_shard = ("shard", "not_default", "benchmarks_seconds", "timing_seconds")
    ours = {name: value for name, value in first["gnnbench"].items() if name not in of_shard}
    saved = [compared for content in contents if (compared := content["gnnbench"].get("compared"))]
    if saved:
        ours["compared"] = codec.encode(_joined([codec.decode(compared, Result) for compared in saved]))
    ours["incomplete"] = [entry for content in contents for entry in content["gnnbench"]["incomplete"]]
    benchmarks = [entry for content in contents for entry in content["benchmarks"]]
    return {**first, "benchmarks": benchmarks, "gnnbench": ours}


def _level(levels: Sequence[float]) -> float:
    """Return the family level of shards together (Bonferroni): their error rates add up at most."""
    level = round(1 - sum(1 - each for each in levels), 12)
    if level <= 0:
        raise UsageError(f"cannot merge {len(levels)} results: their combined error rate would reach 100 %")
    return level


def _joined(results: Sequence[Result]) -> Result:
    first, level = results[0], _level([part.thresholds.family_level for part in results])
    shares = [part.contention_share for part in results if part.contention_share is not None]
    return replace(
        first,
        comparison=Comparison([row for part in results for row in part.rows]),
        thresholds=replace(first.thresholds, family_level=level),
        seconds=sum(part.seconds or 0.0 for part in results),
        contention_share=max(shares, default=None),  # of the busiest machine
        interrupted=any(part.interrupted for part in results),
        shard=None,
        notes=tuple(dict.fromkeys(note for part in results for note in part.notes)),
    )
