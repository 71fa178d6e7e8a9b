"""The kind `layers`: the parts of a graph convolution, within the phases."""

from pathlib import Path
from typing import Any

from .subject import Subject, clock_of
from .targets import LAYERS, PHASES
from .tree import measure, table

__all__ = ["table", "take"]


def take(subject: Subject, folder: Path) -> dict[str, Any]:  # noqa: ARG001
    """Time the phases and the parts of layers; no file is written."""
    return measure(subject, (*PHASES, *LAYERS), clock_of(subject.device), functions=True)
