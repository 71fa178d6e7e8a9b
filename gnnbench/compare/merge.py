"""Join the shards of one run: run files, or results of `gnnbench ab`, from machines of one kind."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import environment, json_io, units
from ..errors import UsageError
from ..results import benchmark, former_names, left_out, run_file
from ..shard import Shard
from . import result_file
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


def merge(paths: Sequence[Path]) -> tuple[dict[str, Any], list[str]]:
    """Join files into one of the same format, in the order of their shards; also say what is left out.

    Args:
        paths: run files only, or results of `gnnbench ab` only.

    Raises:
        UsageError: a file cannot be used; the files differ in format, environment, commit or variants; two
            files have the same benchmark; a shard is missing.
    """
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
    contents = [part.content for part in parts]
    if first.kind == "run":
        return _runs(contents), left_out.by_file((part.path, part.left_out) for part in parts)
    whole = _results(contents)
    if whole["level"]["simultaneous"] <= 0:
        raise UsageError(f"cannot merge {len(parts)} results: their combined error rate would reach 100 %")
    return whole, []


def _read(path: Path) -> _Shard:
    content, raw = former_names.read(path, "run file or result", run_file.MAX_BYTES, _REMEDY)
    kind = result_file.kind(content)
    if kind == "run":
        return _run(path, run_file.check(path, content, raw))
    if kind != "ab":
        found = f": it is {units.article(f'{kind} file')}" if kind else ""
        json_io.refuse(path, f"neither a run file nor a result of gnnbench ab{found}", _REMEDY)
    result_file.parse(path, content)
    names = tuple(one["id"] for one in content["benchmarks"])
    shard = run_file.shard_of(path, content["shard"])
    here = content["environment"]
    _known(path, here)
    return _Shard(path, kind, content, shard, names, here, here.get("commit"))


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
    if first.kind == "ab":
        for field, there, here in _differences(first.content, other.content):
            values = f"{there!r} and {here!r}"
            raise UsageError(f"{both} differ in {field}: {values}; merge shards of one comparison")


def _settings(part: _Shard) -> Any:
    """Return the settings in force; older files have none."""
    return (part.content["gnnbench"] if part.kind == "run" else part.content).get("settings")


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterable[tuple[str, Any, Any]]:
    """Yield name and values of each setting that differs between two results of `gnnbench ab`."""
    yield from (
        (f"{side}'s {field}", value, other[side].get(field, {}))
        for side in ("base", "head")
        for field, value in one[side].items()
        if other[side].get(field, {}) != value  # older files lack `checkouts`
    )
    if one["effect"] != other["effect"]:
        yield "effect", one["effect"], other["effect"]
    if one["level"]["own"] != other["level"]["own"]:
        yield "level of the per-benchmark interval", one["level"]["own"], other["level"]["own"]


def _runs(contents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    first = contents[0]
    # These fields are valid for one shard only.
    left_out = ("shard", "compared", "covers", "not_default", "benchmarks_seconds", "timing_seconds")
    ours = {name: value for name, value in first["gnnbench"].items() if name not in left_out}
    ours["incomplete"] = [entry for content in contents for entry in content["gnnbench"]["incomplete"]]
    benchmarks = [entry for content in contents for entry in content["benchmarks"]]
    return {**first, "benchmarks": benchmarks, "gnnbench": ours}


def _results(contents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    benchmarks = [one for content in contents for one in content["benchmarks"]]
    # Bonferroni: the error rates add up at most.
    wrong = sum(1 - content["level"]["simultaneous"] for content in contents)
    shares = [share for content in contents if (share := content.get("others_share")) is not None]
    return {
        **contents[0],
        "level": {**contents[0]["level"], "simultaneous": round(1 - wrong, 12)},
        "benchmarks": benchmarks,
        "summary": dict(sorted(Counter(one["verdict"] for one in benchmarks).items())),
        "seconds": round(sum(content["seconds"] for content in contents), 3),
        # That of the busiest machine.
        "others_share": max(shares, default=None),
        "interrupted": any(content["interrupted"] for content in contents),
        "shard": None,
        "notes": list(dict.fromkeys(note for content in contents for note in content["notes"])),
    }
