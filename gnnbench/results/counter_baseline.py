"""The counters that hold on every machine with the same versions, in `baselines/counters/`."""

import json
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from .. import json_io, schema
from ..files import write_whole
from ..packages import version
from ..workloads.platforms import PLATFORMS
from . import former_names

FORMAT_VERSION = 1
# 1: counts by benchmark, kind and name.
MAX_BYTES = 2**26
_REMEDY = "restore it, or remove it and record with --gnn-counters=update"

Counts = Mapping[str, Mapping[str, int]]
"""Kind, name: how often."""

FOLDER = Path("baselines") / "counters"


def versions(platform: str) -> dict[str, str]:
    """Return what a platform's counts depend on: Python's version and those of the packages it uses."""
    uses = PLATFORMS[platform]
    also = (name for name in uses.also if version(name))
    packages = dict.fromkeys(("torch", *uses.packages, *also))
    # The local part of a version (`+cpu`) says how a package was built, not what it does.
    found = {name: (version(name) or "none").partition("+")[0] for name in packages}
    return {"python": f"{sys.version_info.major}.{sys.version_info.minor}", **found}


def path_of(root: Path, platform: str) -> Path:
    """Return the baseline's file for a platform with the versions that are installed."""
    name = "_".join(f"{package}-{number}" for package, number in versions(platform).items())
    return root / FOLDER / f"{name}.json"


def read(path: Path) -> dict[str, Any]:
    """Return the counters in a baseline by benchmark; empty where there is no file.

    Raises:
        UsageError: the file is not one of ours, or of a later version.
    """
    if not path.exists():
        return {}
    state = path.stat()
    return _read(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=8)
def _read(path: Path, _changed_ns: int, _size: int) -> dict[str, Any]:
    """Read a file once for all benchmarks of a session, as long as it does not change."""
    content, _ = former_names.read(path, "file of counters", MAX_BYTES, _REMEDY)
    if not isinstance(content, dict):
        json_io.refuse(path, "not a file of counters", _REMEDY)
    schema.check(path, content, "counters", FORMAT_VERSION, _REMEDY)
    counters: dict[str, Any] = content["counters"]
    return counters


def differences(baseline: Counts, found: Counts, unsteady: Sequence[str]) -> list[str]:
    """Name every count that is not the baseline's, as in `+4 aten::_local_scalar_dense`.

    Args:
        baseline: kind, name: how often.
        found: likewise; kinds that only the baseline has are not judged.
        unsteady: names that two passes did not agree on, which are not judged either.
    """
    lines = []
    for kind, counts in found.items():
        expected = baseline.get(kind, {})
        for name in sorted({*expected, *counts} - {*unsteady}):
            change = counts.get(name, 0) - expected.get(name, 0)
            if change:
                lines.append(f"{change:+} {name}")
    return lines


def changes(
    root: Path, platform: str, benchmark: str, counts: Counts, unsteady: Sequence[str]
) -> list[str] | None:
    """Name every count of a benchmark that differs from the baseline; None where it is not recorded.

    Raises:
        UsageError: the baseline cannot be read.
    """
    recorded = read(path_of(root, platform)).get(benchmark)
    return None if recorded is None else differences(recorded, counts, unsteady)


def missing(root: Path, platform: str) -> str:
    """Say where counters are not recorded, and how that is done."""
    return f"not in {path_of(root, platform).relative_to(root)}; record with --gnn-counters=update"


def write(path: Path, platform: str, counters: Mapping[str, Any]) -> None:
    """Add to a platform's baseline, replacing what it has for the same benchmarks; whole or not at all."""
    content = {
        "version": FORMAT_VERSION,
        "versions": versions(platform),
        "counters": dict(sorted({**read(path), **counters}.items())),
    }
    write_whole(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
