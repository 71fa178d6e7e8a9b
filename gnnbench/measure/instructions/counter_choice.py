"""Chooses how instructions are counted: by the processor, or else by callgrind around the process."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ...errors import UsageError
from . import hardware
from .callgrind import Callgrind, command
from .counter import InstructionCounter
from .requests import ARCHITECTURE

FOLDER_VARIABLE = "GNNBENCH_CALLGRIND"
"""Folder into which the callgrind around this process writes."""
_SAME_EACH_TIME = {
    "PYTHONHASHSEED": "0",
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
}
_FAST = {"MKL_ENABLE_INSTRUCTIONS": "SSE4_2"}
"""Valgrind computes each lane of a fused multiply-add by a function: MKL's products are 180 times as slow."""
_HOW = "apt install valgrind, or dnf install valgrind"


class Watched(NamedTuple):
    """What a process is started with, so that it can count its instructions."""

    environment: Mapping[str, str]
    """Variables to set."""
    under: tuple[str, ...]
    """The command that runs Python, with its arguments; empty: none."""

    @classmethod
    def by(cls, counter: str, folder: Path) -> "Watched":
        """Let the counter count that `counter_name` returned; callgrind writes into a folder."""
        if counter == hardware.Hardware.name:
            return cls(_SAME_EACH_TIME, ())
        return cls({**_SAME_EACH_TIME, **_FAST, FOLDER_VARIABLE: str(folder)}, tuple(command(folder)))


def counter_name() -> str:
    """Return how instructions are counted here: by the processor, or else by callgrind, with its version.

    Raises:
        UsageError: neither is possible; the message says what to install.
    """
    reason = hardware.why_not()
    if not reason:
        return hardware.Hardware.name
    if not shutil.which("valgrind"):
        raise UsageError(f"{reason}; without one, valgrind counts instructions, and is not installed: {_HOW}")
    if os.uname().machine != ARCHITECTURE:
        raise UsageError(f"{reason}, and gnnbench uses valgrind on {ARCHITECTURE} only")
    version = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S607
    return version.strip().replace("valgrind-", "callgrind ")


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
