"""The kinds `phases`, `layers` and `ranges`: the time of a call as a tree of ranges."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .kinds import ROOT, Subject, clock_of
from .targets import LAYERS, PHASES


def phases(subject: Subject, _folder: Path) -> dict[str, Any]:
    """Time the phases of a call."""
    return measure(subject, PHASES, clock_of(subject.device))


def layers(subject: Subject, _folder: Path) -> dict[str, Any]:
    """Time the phases of a call, and the parts of its layers."""
    return measure(subject, LAYERS, clock_of(subject.device))


def ranges(subject: Subject, _folder: Path) -> dict[str, Any]:
    """Time them without waiting for the GPU, for an external profiler that shows NVTX ranges."""
    return measure(subject, LAYERS, clock_of("cpu"))


def measure(subject: Subject, targets: Mapping[str, str], clock: Callable[[], int]) -> dict[str, Any]:
    """Time a first call and the repeats with ranges; `self_ns` is without the ranges inside."""
    from .ranges import Ranges

    made = Ranges(targets, subject.device, clock=clock)

    def timed() -> Mapping[tuple[str, ...], tuple[int, int, int]]:
        with subject.ready() as call, made.range(ROOT):
            call()
        return {path: times for path, times in made.times().items() if path[0] == ROOT}  # no set-up

    with made:
        cold = timed()
    with made:  # search again: the first call may have imported libraries
        repeats = [timed() for _ in range(subject.repeats)]
    rows = []
    for path in repeats[-1]:  # which has every path
        calls, total_ns, self_ns = zip(*(times.get(path, (0, 0, 0)) for times in repeats), strict=True)
        row = {"path": path, "calls": calls, "cold_ns": cold.get(path, (0, 0, 0))[1]}
        rows.append({**row, "total_ns": total_ns, "self_ns": self_ns})
    return {"rows": rows, "nvtx": subject.device == "cuda"}
