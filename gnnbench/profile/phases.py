"""The kind `phases`: forward, loss, backward, optimizer.step."""

from pathlib import Path
from typing import Any

from .subject import Subject, clock_of
from .targets import PHASES
from .tree import measure, table

__all__ = ["table", "take"]


def take(subject: Subject, folder: Path) -> dict[str, Any]:  # noqa: ARG001
    """Time the phases of a call; no file is written."""
    return measure(subject, PHASES, clock_of(subject.device))
