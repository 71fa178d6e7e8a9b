"""profile.json: the saved profile of a benchmark."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .. import json_io, schema
from ..results import former_names

VERSION = 1
# 1: first.

FILE = "profile.json"
MAX_BYTES = 2**25
_REMEDY = "profile again"

COUNTS = {
    "ranges": ("path",),
    "operators": ("path", "name"),
    "library_calls": ("path", "name"),
    "host_reads": ("path", "name", "caller"),
    "mask_reads": ("path", "name", "caller"),
    "sorts": ("path", "name", "caller"),
    "copies": ("path", "direction", "caller"),
    "gathers": ("path", "name", "from_rows", "to_rows", "columns"),
    "scatters": ("path", "name", "from_rows", "to_rows", "columns"),
}
"""Kind of row in the section `counts`: the fields that identify a row."""


def compose(
    name: str,
    spec: Mapping[str, Any] | None,
    environment: Mapping[str, Any],
    repeats: int,
    sections: Mapping[str, Any],
    unavailable: Mapping[str, str],
) -> dict[str, Any]:
    """Return a record, with its findings.

    Args:
        name: the benchmark's id.
        spec: the spec of a benchmark of gnnbench; None for any other.
        environment: the process's environment, as a dictionary.
        repeats: calls after the first of each kind.
        sections: the sections by kind, and the counts.
        unavailable: requested kinds that could not be taken, each with the reason.
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
    """Save a record as profile.json in a folder."""
    text = json.dumps(record, indent=1, allow_nan=False)
    (folder / FILE).write_text(text + "\n", encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """Return a saved record; `path` is its file or folder.

    Raises:
        UsageError: it is missing, incomplete, or of another format or version.
    """
    file = path / FILE if path.is_dir() else path
    content, _ = former_names.read(file, "profile", MAX_BYTES, _REMEDY)
    return check(file, content)


def check(file: Path, content: Any) -> dict[str, Any]:
    """Return the content if it matches the schema; `file` is named in messages.

    Raises:
        UsageError: it is of another format or version.
    """
    if not isinstance(content, dict) or "sections" not in content:
        json_io.refuse(file, f"not a profile, a {FILE} of gnnbench: it has no sections", _REMEDY)
    schema.check(file, content, "profile", VERSION, _REMEDY)
    return content
