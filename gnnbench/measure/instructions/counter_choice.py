"""Chooses how this process counts instructions: by the callgrind around it, or else by the processor."""

import os
from pathlib import Path

from ...errors import UsageError
from . import hardware
from .callgrind import Callgrind
from .counter import InstructionCounter

FOLDER_VARIABLE = "GNNBENCH_CALLGRIND"
"""Folder into which the callgrind around this process writes."""


def here() -> InstructionCounter:
    """Return the counter of this process.

    Raises:
        UsageError: there is none.
    """
    if folder := os.environ.get(FOLDER_VARIABLE):
        return Callgrind(Path(folder))
    if reason := hardware.why_not():
        raise UsageError(reason)
    return hardware.Hardware()
