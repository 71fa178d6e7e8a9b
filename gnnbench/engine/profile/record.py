"""profile.json: the saved profile of a benchmark, and its folder.

Each benchmark has a folder, with its profiles in 0001, 0002, ... A numbered folder always holds a complete
profile.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..ground import codec
from ..ground.codec import PositiveCount
from ..ground.files import next_number
from .findings import Finding

VERSION = 1
# 1: first.

FILE = "profile.json"
_LONGEST_NAME = 200
_NUMBER = re.compile(r"\d{4,}")


@dataclass(frozen=True, kw_only=True)
class ProfileRecord:
    """The profile of one benchmark."""

    version: int = VERSION
    id: str
    """The values of its labels, joined by hyphens; pytest's node id if it has none."""
    spec: Mapping[str, str | int] | None
    """The fields of its labels; None if it has none."""
    environment: Mapping[str, Any]
    """Of the process; the fields of `environment.Environment`."""
    repeats: PositiveCount
    """Calls after the first of each kind."""
    sections: Mapping[str, Any]
    """What each kind's `take` returns, and `counts`."""
    unavailable: Mapping[str, str]
    """Requested kinds that could not be taken, each with the reason."""
    findings: tuple[Finding, ...]


def write(record: ProfileRecord, folder: Path) -> None:
    """Save a record as profile.json in a folder."""
    text = json.dumps(codec.encode(record), indent=1, allow_nan=False)
    (folder / FILE).write_text(text + "\n", encoding="utf-8")


@contextmanager
def new(root: Path, name: str) -> Iterator[tuple[Path, Path]]:
    """Yield a folder to write a new profile of a benchmark to, and the numbered one that it becomes.

    It gets its number when the context ends; after an error, it is removed.
    """
    parent = root / folder_name(name)
    parent.mkdir(parents=True, exist_ok=True)

    def last() -> int:
        return max((int(path.name) for path in parent.iterdir() if _NUMBER.fullmatch(path.name)), default=0)

    try:
        with next_number(parent, last) as (number, draft):
            numbered = parent / f"{number:04}"
            yield draft, numbered
            draft.rename(numbered)
    finally:
        with suppress(OSError):
            parent.rmdir()  # fails if it has a profile


def folder_name(name: str) -> str:
    """Return a benchmark's folder name: valid on any file system, and without path separators.

    Two benchmarks may share a name, as `a:b` and `a_b` do. Nothing is lost: each profile has its own number
    and stores the benchmark's id.
    """
    return re.sub(r"[^A-Za-z0-9._@+=-]+", "_", name).lstrip("._").rstrip("_")[:_LONGEST_NAME] or "_"
