"""Join the shards of one run: run files, or results of `gnnbench ab`, from machines of one kind."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..ground import codec, environment, json_io
from ..ground.errors import UsageError
from ..ground.shard import Shard
from ..judge.comparison import Comparison
from ..store import benchmark, left_out, run_file
from . import result
from .result import Result
from .runs import describe_fields

_REMEDY = "merge files written by --benchmark-json or gnnbench ab --json"


@dataclass(frozen=True)
class _Shard:
    """One file, checked."""

    path: Path
    kind: str
    content: dict[str, Any]
    shard: Shard | None
    names: tuple[str, ...]
    environment: Mapping[str, Any]
    commit: str | None
    left_out: tuple[str, ...] = ()
    """As in the run file."""
    result: Result | None = None
    """None: it is a run file."""


def merge(paths: Sequence[Path]) -> tuple[dict[str, Any], list[str]]:
    """Join files into one of the same format, in the order of their shards; also say what is left out."""
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
        whole = _runs([part.content for part in parts])
        return whole, left_out.by_file((part.path, part.left_out) for part in parts)
    return codec.encode(_joined([part.result for part in parts if part.result])), []


def _read(path: Path) -> _Shard:
    content = json_io.read(path, _REMEDY)
    kind = result.kind(content)
    if kind == "run":
        return _run(path, run_file.check(path, content))
    if kind != "ab":
        json_io.refuse(path, "neither a run file nor a result of gnnbench ab", _REMEDY)
    found = result.parse(path, content)
    names = tuple(row.fullname for row in found.rows)
    here = found.environment or {}
    _known(path, here)
    shard = run_file.shard_of(path, found.shard)
    return _Shard(path, kind, content, shard, names, here, here.get("commit"), result=found)


def _run(path: Path, content: dict[str, Any]) -> _Shard:
    run = run_file.parse(path, content)
    if run.environment is None:
        json_io.refuse(
            path, "does not describe its environment", "run pytest with --gnn-shard or --gnn-layouts sample"
        )
    if run.part.record:
        json_io.refuse(path, "part of a baseline record, which has no shards", _REMEDY)
    _known(path, run.environment)
    names = (*run.benchmarks, *(one.fullname for one in run.part.incomplete))
    content = {**content, "benchmarks": list(benchmark.entries(content).values())}
    return _Shard(path, "run", content, run.shard, names, run.environment, run.commit, run.left_out)


def _known(path: Path, here: Mapping[str, Any]) -> None:
    try:
        environment.name(here)
    except (KeyError, TypeError, ValueError, AttributeError):
        json_io.refuse(path, "its environment lacks required fields", "save it again")


def _complete(parts: Sequence[_Shard]) -> None:
    """Refuse a missing shard, a shard that is there twice, and shards of different runs."""
    shards = [part.shard for part in parts if part.shard]
    if len(shards) not in (0, len(parts)):
        whole = next(part.path for part in parts if part.shard is None)
        raise UsageError(f"{whole} is not a shard, but other files are; merge the shards of one run")
    if not shards:
        return
    counts = sorted({shard.of for shard in shards})
    if len(counts) > 1:
        texts = ", ".join(map(str, shards))
        raise UsageError(f"these are shards of different runs: {texts}; merge the shards of one run")
    numbers = Counter(shard.number for shard in shards)
    twice = [number for number, count in numbers.items() if count > 1]
    missing = [number for number in range(1, counts[0] + 1) if number not in numbers]
    for what, which in (("is given twice", twice), ("is missing", missing)):
        if which:
            more = f" (and {len(which) - 1} more)" if len(which) > 1 else ""
            raise UsageError(f"shard {which[0]}/{counts[0]} {what}{more}; name each shard's file once")


def _alike(first: _Shard, other: _Shard) -> None:
    """Refuse two parts that differ in format, environment, commit or variants."""
    both = f"{first.path} and {other.path}"
    if first.kind != other.kind:
        raise UsageError(f"{both} are a run file and a result of gnnbench ab; merge files of one format")
    fields = environment.differences(
        first.environment, other.environment, (*environment.WHERE, *environment.WHAT)
    )
    if fields:
        raise UsageError(
            f"{both} have different environments: {describe_fields(fields)}; merge files of one kind of "
            "machine"
        )
    if first.commit != other.commit:
        commits = f"{first.commit!r} and {other.commit!r}"
        raise UsageError(f"{both} have different commits: {commits}; merge files of one commit")
    if bool(first.environment.get("dirty")) != bool(other.environment.get("dirty")):
        raise UsageError(f"{both}: one had uncommitted changes, the other had none; merge files of one tree")
    if _settings(first) != _settings(other):
        raise UsageError(f"{both} were measured with different settings; merge files of one project")
    if first.result and other.result:
        for field, there, here in _differences(first.result, other.result):
            values = f"{there!r} and {here!r}"
            raise UsageError(f"{both} differ in {field}: {values}; merge shards of one comparison")


def _settings(part: _Shard) -> Any:
    """Return the settings in force; None: the file has none."""
    return part.result.thresholds.rules if part.result else part.content["gnnbench"].get("settings")


def _differences(one: Result, other: Result) -> Iterable[tuple[str, Any, Any]]:
    """Yield name and values of each setting that differs between two results of `gnnbench ab`."""
    for side, ours, theirs in (("base", one.base, other.base), ("head", one.head, other.head)):
        there, here = asdict(ours), asdict(theirs)
        yield from (
            (f"{side}'s {name}", there[name], here[name]) for name in there if there[name] != here[name]
        )
    for name, text in (("effect", "effect"), ("own_level", "level of the per-benchmark interval")):
        there, here = (getattr(found.thresholds, name) for found in (one, other))
        if there != here:
            yield text, there, here


def _runs(contents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    first = contents[0]
    # These fields are valid for one shard only.
    left_out = ("shard", "not_default", "benchmarks_seconds", "timing_seconds")
    ours = {name: value for name, value in first["gnnbench"].items() if name not in left_out}
    if terms := [found for content in contents if (found := content["gnnbench"].get("compared"))]:
        level = _level([found["thresholds"]["family_level"] for found in terms])
        ours["compared"] = {**terms[0], "thresholds": {**terms[0]["thresholds"], "family_level": level}}
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
    """Return the results of shards as one."""
    first, level = results[0], _level([one.thresholds.family_level for one in results])
    shares = [one.contention_share for one in results if one.contention_share is not None]
    return replace(
        first,
        comparison=Comparison([row for one in results for row in one.rows]),
        thresholds=replace(first.thresholds, family_level=level),
        seconds=sum(one.seconds or 0.0 for one in results),
        contention_share=max(shares, default=None),  # of the busiest machine
        interrupted=any(one.interrupted for one in results),
        shard=None,
        notes=tuple(dict.fromkeys(note for one in results for note in one.notes)),
    )
