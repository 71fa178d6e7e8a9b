"""Inspects a call separately from its timing: counters and fingerprint."""

import os
import traceback
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from ..ground import codec
from ..ground.cpu import RealTime
from ..ground.errors import one_line
from .clock import Call
from .conditions import collector_paused
from .counter_changes import Counters
from .fingerprint.fingerprint import Fingerprint, Recordings
from .fingerprint.recording import python_calls

_TRIES = 3
_FOLDER = f"{Path(__file__).parent}{os.sep}"
_LONGEST = 200
"""Largest number of characters of an error's text."""


@dataclass(frozen=True)
class Inspection:
    """The counters and the fingerprint of a call."""

    counters: Counters | None = None
    """None if no input has a tensor, or if counting failed."""
    fingerprint: Fingerprint | None = None
    unseen: str | None = None
    """Why there is no fingerprint. None if there is one."""
    codes: Sequence[Sequence[CodeType]] = ()
    """Code of the functions that ran in each recorded call."""
    launches: Sequence[str] = ()
    """Launches on a GPU, in order; empty if there are none, or if they are unknown."""

    def as_json(self) -> dict[str, Any]:
        """Return counters by name, memory and fingerprint, which the coordinating process compares."""
        kinds = self.counters.counts.values() if self.counters else ()
        counts = {name: number for kind in kinds for name, number in kind.items()}
        if self.counters and (kernels := self.counters.details["kernels"]):
            counts["kernels"] = sum(kernels.values())
        return {
            "counts": counts,
            "memory": self.counters and self.counters.details["memory"],
            "fingerprint": codec.encode(self.fingerprint),
            "unseen": self.unseen,
            "launches": [*self.launches],
        }


def inspect(
    call: Call, devices: Collection[str], *, now: Callable[[], float] = RealTime.seconds
) -> Inspection:
    """Call a function several times, and return its counters and its fingerprint.

    If another Python thread runs meanwhile, the inspection is repeated, because some threads, such as the
    monitor of a progress bar, run rarely.
    """
    counters = None
    try:
        for _ in range(_TRIES):
            recordings = Recordings(call, now)
            if devices:
                from .counters import count

                counters = count(call.__call__, "cuda" if "cuda" in devices else "cpu", recordings)
            else:
                with collector_paused():  # finalisers would be recorded
                    with recordings.time_call():
                        call()
                    for _ in range(2):
                        if not recordings.unseen:
                            with recordings.record() as recording:
                                python_calls(call.__call__, recording.profile)
            if not recordings.other_thread:
                break
        return Inspection(counters, recordings.fingerprint(), recordings.unseen, recordings.codes)
    except Exception as error:  # noqa: BLE001 - some calls cannot run under a dispatch mode
        return Inspection(counters, unseen=f"the call cannot be inspected ({_describe(error)})")


def _describe(error: Exception) -> str:
    """Describe an error in one line: type, message, and file and line of the code."""
    text = ": ".join(filter(None, (type(error).__name__, *str(error).strip().splitlines()[:1])))
    frames = traceback.extract_tb(error.__traceback__)
    places = (frame for frame in frames if not frame.filename.startswith(_FOLDER))
    place = next((f", {Path(frame.filename).name}:{frame.lineno}" for frame in places), "")
    return f"{one_line(text)[:_LONGEST]}{place}"
