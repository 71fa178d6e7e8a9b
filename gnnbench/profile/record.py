"""The saved profile of a benchmark: profile.json."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .. import json_io, schema

VERSION = 1
# 1: first.

FILE = "profile.json"
MAX_BYTES = 2**29
_REMEDY = "profile again"


def compose(
    name: str,
    spec: Mapping[str, Any] | None,
    environment: Mapping[str, Any],
    repeats: int,
    sections: Mapping[str, Any],
    unavailable: Mapping[str, str],
) -> dict[str, Any]:
    """Return a record, with what is found in it.

    Args:
        name: the benchmark's id.
        spec: of one of gnnbench's own; None of any other.
        environment: of the process.
        repeats: calls after the first of each kind.
        sections: by kind, and the counts.
        unavailable: kinds that were asked for as well, with what they need.
    """
    from . import findings

    record: dict[str, Any] = {
        "version": VERSION,
        "id": name,
        "spec": spec,
        "environment": environment,
        "repeats": repeats,
        "sections": sections,
        "unavailable": unavailable,
        "findings": [],
    }
    record["findings"] = [asdict(found) for found in findings.find(record)]
    return record


def write(record: Mapping[str, Any], folder: Path) -> None:
    """Save a record in a folder."""
    text = json.dumps(record, indent=1, allow_nan=False)
    (folder / FILE).write_text(text + "\n", encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """Return a saved record.

    Args:
        path: the file, or the folder that it is in.

    Raises:
        UsageError: it is missing, cut off, of another form or version.
    """
    file = path / FILE if path.is_dir() else path
    content, _ = json_io.read(file, "profile", MAX_BYTES, _REMEDY)
    return check(file, content)


def check(file: Path, content: Any) -> dict[str, Any]:
    """Return a record's content, which is of the form of its schema.

    Args:
        file: where it comes from, for messages.
        content: as it was read from JSON.

    Raises:
        UsageError: it is of another form or version.
    """
    if not isinstance(content, dict) or "sections" not in content:
        json_io.refuse(file, f"not a profile, a {FILE} of gnnbench: it has no sections", _REMEDY)
    version = content.get("version")
    if version != VERSION:
        json_io.refuse(
            file,
            f"version {version!r} of the format, and this gnnbench reads {VERSION}",
            "use the gnnbench that wrote it, or profile again",
        )
    if wrong := schema.departure(content, "profile"):
        json_io.refuse(file, f"damaged at {wrong}", _REMEDY)
    return content
