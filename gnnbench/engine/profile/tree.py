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
    """Time a call with ranges: a first call, then calls with and without ranges in turns.

    Returns:
        `rows`, depth first, the whole call first: `path`, `cold_ns` of the first call, and of each repeat
        `calls`, `total_ns`, and `self_ns` without the ranges inside. `plain_ns`: times without ranges.
        `missing`: a line for each range that the library lacks.
    """
    from .ranges import Ranges

    made = Ranges(targets, subject.device, clock=clock)

    def ranged() -> Mapping[tuple[str, ...], tuple[int, int, int]]:
        with subject.ready() as call:
            made.switch(on=True)
            with made.range(ROOT):
                call()
            made.switch(on=False)
        return made.times()

    with made:
        cold = ranged()
    repeats, plain_ns = [], []
    with made:  # search again: the first call may have imported libraries
        made.switch(on=False)
        for number in range(subject.repeats):
            if number % 2:  # alternate the order, so that cache effects affect both alike
                plain_ns.append(subject.timed_ns(clock))
            repeats.append(ranged())
            if not number % 2:
                plain_ns.append(subject.timed_ns(clock))
    rows = []
    for path in repeats[-1]:  # which has every path
        calls, total_ns, self_ns = zip(*(times.get(path, (0, 0, 0)) for times in repeats), strict=True)
        row = {"path": path, "calls": calls, "cold_ns": cold.get(path, (0, 0, 0))[1]}
        rows.append({**row, "total_ns": total_ns, "self_ns": self_ns})
    nvtx = subject.device == "cuda"
    return {"rows": rows, "plain_ns": plain_ns, "missing": list(made.missing), "nvtx": nvtx}
