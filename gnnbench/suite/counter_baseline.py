"""Baselines of counters, such as a call's operators: valid wherever the package versions are the same."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..engine.ground import codec, json_io
from ..engine.ground.codec import Count
from ..engine.ground.files import write_whole
from ..engine.ground.packages import version
from ..engine.measure.counter_changes import Counters, changed
from ..engine.store.parts import BenchmarkPart
from .platforms import PLATFORMS
from .spec import Spec

FORMAT_VERSION = 1
_REMEDY = "restore it, or remove it and record with --gnn-counters=update"

FOLDER = Path("baselines") / "counters"


@dataclass(frozen=True)
class CounterFile:
    """The contents of a file of baselines."""

    version: int
    versions: Mapping[str, str]
    """Versions of Python and of the packages that the counts depend on."""
    counters: dict[str, dict[str, dict[str, Count]]]
    """Counts by benchmark, kind and name."""


def versions(platform: str) -> dict[str, str]:
    """Return the versions that a platform's counts depend on: of Python and of the packages it uses."""
    row = PLATFORMS[platform]
    extras = (name for name in row.also if version(name))
    packages = dict.fromkeys(("torch", *row.packages, *extras))
    # The local part of a version (`+cpu`) describes the build and does not change counts.
    numbers = {name: (version(name) or "none").partition("+")[0] for name in packages}
    return {"python": f"{sys.version_info.major}.{sys.version_info.minor}", **numbers}


def path_of(root: Path, platform: str) -> Path:
    """Return the path of a platform's baseline file for the installed versions."""
    name = "_".join(f"{package}-{number}" for package, number in versions(platform).items())
    return root / FOLDER / f"{name}.json"


@cache
def read(path: Path) -> dict[str, dict[str, dict[str, int]]]:
    """Return the counters of a baseline file by benchmark, kind and name. Empty if there is no file."""
    if not path.exists():
        return {}
    return codec.read(path, json_io.read(path, _REMEDY), CounterFile, FORMAT_VERSION, _REMEDY).counters


def changes(root: Path, spec: Spec, counters: Counters) -> list[str] | None:
    """Return each count that differs from the baseline, such as `+4 aten::sort`. None without a baseline."""
    baseline = read(path_of(root, spec.platform)).get(spec.id)
    return None if baseline is None else list(map(str, changed(baseline, counters.counts, counters.unsteady)))


def missing(root: Path, platform: str) -> str:
    """Return the message for a benchmark without recorded counters."""
    return f"not in {path_of(root, platform).relative_to(root)}; record with --gnn-counters=update"


def fault(root: Path, part: BenchmarkPart, *, strict: bool) -> str | None:
    """Return a message if counters differ from the baseline; with `strict`, also if either is missing."""
    if part.spec is None:
        return None
    if part.counters is None:
        whole_call = part.measurement and part.measurement.whole_call
        return "its operators could not be counted" if strict and not whole_call else None
    spec = codec.decode(part.spec, Spec)
    differences = changes(root, spec, part.counters)
    if differences is None:
        return f"counters {missing(root, spec.platform)}" if strict else None
    if not differences:
        return None
    return (
        f"counters differ from {path_of(root, spec.platform).relative_to(root)}: {', '.join(differences)}; "
        "if the change is intended, record it with --gnn-counters=update"
    )


def write(path: Path, platform: str, counters: Mapping[str, Any]) -> None:
    """Update the counters of some benchmarks in a platform's baseline file; keep all other benchmarks."""
    content = {
        "version": FORMAT_VERSION,
        "versions": versions(platform),
        "counters": dict(sorted({**read(path), **counters}.items())),
    }
    write_whole(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    read.cache_clear()
