"""Read run files: pytest-benchmark's JSON, with gnnbench's part if there is one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..ground import codec, json_io
from ..ground.environment import Environment
from ..ground.shard import Shard
from ..measure.sources import Sources
from . import benchmark
from .benchmark import Benchmark
from .parts import FORMAT_VERSION, RunPart

REMEDY = "save it again"
_NO_COMMIT = "unknown"
"""What pytest-benchmark writes if it finds no commit."""
_FOREIGN = "not a run file of pytest-benchmark"
_OF_PYTEST = "give a file that pytest --benchmark-json wrote"
_MACHINE = ("system", "machine", "python_implementation", "cpu.brand_raw", "cpu.arch", "cpu.count")
"""Fields of pytest-benchmark's `machine_info` that must be equal if a file lacks gnnbench's environment."""


@dataclass(frozen=True)
class RunFile:
    """A checked run file."""

    path: Path
    benchmarks: Mapping[str, Benchmark]
    """By fullname; the first one if several have the same name."""
    environment: Environment | None
    """None if the file has no part of gnnbench."""
    machine: Mapping[str, Any]
    """The fields of pytest-benchmark's `machine_info` that are compared."""
    commit: str | None
    part: RunPart
    """gnnbench's part; its fields have their defaults if the file has no part."""
    shard: Shard | None = None
    """None if the run was not split."""
    sources: Sources | None = None
    """Where the code came from. None if the file has no part of gnnbench."""
    datetime: str = ""
    """When it was saved. Empty if unknown."""


def read(path: Path) -> RunFile:
    """Read a run file."""
    return parse(path, json_io.read(path, REMEDY))


def parse(path: Path, content: Any) -> RunFile:
    """Read the content of a run file of this version; refuse any other content."""
    if not isinstance(content, dict) or not isinstance(content.get("benchmarks"), list):
        json_io.refuse(path, f"{_FOREIGN}: it has no list of benchmarks", _OF_PYTEST)
    if "command" in content:
        reason = f"the output of gnnbench {content['command']}, not a run file"
        json_io.refuse(path, reason, _OF_PYTEST)
    part = json_io.gnnbench_part(content)
    if not part and not isinstance(content.get("version"), str):
        json_io.refuse(path, f"{_FOREIGN}: it has no `version`, as in the JSON of other tools", _OF_PYTEST)
    if part and part["version"] != FORMAT_VERSION:
        reason = f"version {part['version']} of the format; this gnnbench reads {FORMAT_VERSION}"
        json_io.refuse(path, reason, "use the gnnbench that wrote it, or measure again")
    with json_io.refusing(path, f"damaged, or {_FOREIGN}", REMEDY):
        return _run(path, content, part)


def _run(path: Path, content: Mapping[str, Any], saved: Mapping[str, Any]) -> RunFile:
    try:
        part = codec.decode(saved or {"version": FORMAT_VERSION}, RunPart)
    except ValueError as error:
        json_io.refuse(path, f"damaged at gnnbench{str(error).removeprefix('$')}", REMEDY)
    machine = json_io.fields(content.get("machine_info"))  # users may write anything there
    flat = machine | {f"cpu.{name}": value for name, value in json_io.fields(machine.get("cpu")).items()}
    benchmarks = {name: benchmark.read(entry) for name, entry in benchmark.entries(content).items()}
    commit = part.environment.commit if part.environment else None
    commit = commit or json_io.fields(content.get("commit_info")).get("id")
    python = ".".join(str(machine.get("python_version", "")).split(".")[:2])
    return RunFile(
        path,
        benchmarks,
        part.environment,
        {**{name: flat.get(name) for name in _MACHINE}, "python": python},
        None if commit in (None, _NO_COMMIT) else str(commit),
        part,
        Shard.parse(part.shard) if part.shard else None,
        part.sources,
        str(content.get("datetime") or ""),
    )
