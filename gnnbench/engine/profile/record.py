"""Saves the profile of a benchmark: profile.json and other files, in a numbered folder."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..ground.codec import PositiveCount
from ..ground.environment import Environment
from .findings import Finding

FILE = "profile.json"
_LONGEST_NAME = 200


@dataclass(frozen=True, kw_only=True)
class ProfileRecord:
    """The profile of one benchmark."""

    version: int = 1
    id: str
    """The values of the benchmark's labels, joined by hyphens. Without labels, pytest's node id."""
    spec: Mapping[str, str | int] | None
    """The fields of the benchmark's labels. None if it has no labels."""
    environment: Environment
    repeats: PositiveCount
    """Number of profiled calls for each kind of profile. A first call is not included."""
    sections: Mapping[str, Any]
    """The profiles by kind, and the `counts` of a call."""
    unavailable: Mapping[str, str]
    """The reasons why requested profiles could not be taken, by kind."""
    findings: tuple[Finding, ...]


@contextmanager
def new(root: Path, name: str) -> Iterator[tuple[Path, Path]]:
    """Yield a temporary folder, and the numbered path to which it is renamed if there is no error."""
    parent = root / (re.sub(r"[^A-Za-z0-9._@+=-]+", "_", name).strip("._")[:_LONGEST_NAME] or "_")
    parent.mkdir(parents=True, exist_ok=True)
    number = max((int(path.name) for path in parent.glob("[0-9]*")), default=0) + 1
    folder = parent / f"{number:04}"
    try:
        with TemporaryDirectory(dir=parent, prefix=".unfinished-", ignore_cleanup_errors=True) as draft:
            yield Path(draft), folder
            Path(draft).chmod(0o755)
            Path(draft).rename(folder)
    finally:
        with suppress(OSError):
            parent.rmdir()  # fails if there is a profile in it
