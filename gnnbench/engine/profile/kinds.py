"""The kinds of profile, and the benchmark that is profiled."""

import cProfile
import pkgutil
import pstats
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..ground.cpu import RealTime
from ..ground.errors import UsageError
from ..ground.packages import unusable
from ..measure.benchmark_fixture import Pedantic
from ..measure.conditions import collector_paused
from .targets import LAYERS, PHASES

ROOT = "call"
"""Name of the range around the whole call."""
FUNCTIONS = "functions.prof"


@dataclass(frozen=True)
class Subject:
    """One benchmark, whose calls can be made."""

    asked: Pedantic
    """The call of one round of the benchmark: an epoch, a forward and backward pass, a kernel."""
    device: str
    """`cpu` or `cuda`."""
    repeats: int

    @contextmanager
    def ready(self) -> Iterator[Callable[[], object]]:
        """Yield the next call; set-up and tear-down of the context are outside the profile."""
        call = self.asked.next_call()
        try:
            with collector_paused():
                yield partial(call.function, *call.args, **call.kwargs)  # no Python function, so not profiled
        finally:
            self.asked.tear_down(call)

    def timed_ns(self) -> int:
        """Call once without a profile, and return the time, including the GPU's work."""
        clock = clock_of(self.device)
        with self.ready() as call:
            start = clock()
            call()
            return clock() - start


def clock_of(device: str) -> Callable[[], int]:
    """Return a clock in nanoseconds, which on `cuda` first waits for the GPU's work."""
    if device != "cuda":
        return RealTime.nanoseconds
    import torch

    def clock() -> int:
        torch.cuda.synchronize()
        return RealTime.nanoseconds()

    return clock


def take(kinds: Sequence[str], subject: Subject, folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the profiles by kind, then counts of one more call, and the reasons by unavailable kind."""
    sections: dict[str, Any] = {}
    unavailable: dict[str, str] = {}
    for name in kinds:
        if name != "functions" and (reason := unusable("torch")):
            unavailable[name] = f"profile kinds except functions need torch: {reason}"
            continue
        try:
            sections[name] = _taker(name)(subject, folder)
        except UsageError as error:
            unavailable[name] = str(error)
    if sections and sys.modules.get("torch"):
        sections["counts"] = _taker("counts")(subject)
    return sections, unavailable


def _taker(name: str) -> Any:
    module = {"counts": name, "kernels": "trace", "trace": "trace"}.get(name, "kinds")
    return pkgutil.resolve_name(f"{__package__}.{module}:{name}")


def functions(subject: Subject, folder: Path) -> dict[str, Any]:
    """Profile the repeats after a first call by cProfile, which overstates the share of Python functions.

    A C++ function is one row with all its work: `run_backward` is the whole backward pass.
    """
    cold_ns = subject.timed_ns()
    profile = cProfile.Profile()
    for _ in range(subject.repeats):
        with subject.ready() as call:
            profile.runcall(call)
    profile.dump_stats(folder / FUNCTIONS)
    rows: list[dict[str, Any]] = []
    stats = vars(pstats.Stats(profile))["stats"]
    for (file, line, name), (_, calls, self_seconds, cumulative_seconds, _) in stats.items():
        if "_lsprof.Profiler" not in name:  # the call that ends the profile
            times = {"self_ns": round(self_seconds * 1e9), "cumulative_ns": round(cumulative_seconds * 1e9)}
            rows.append({"function": name, "place": _place(file, line), "calls": calls, **times})
    rows.sort(key=lambda row: (-row["cumulative_ns"], -row["self_ns"], row["place"]))
    total_ns = sum(row["self_ns"] for row in rows)
    return {"rows": rows, "total_ns": total_ns, "cold_ns": cold_ns, "repeats": subject.repeats}


def _place(file: str, line: int) -> str:
    """Return `file:line` relative to the folder on sys.path, as on any machine. Empty for C code."""
    if file == "~":
        return ""
    roots = [root for root in sys.path if root and file.startswith(f"{root}/")]
    return f"{file[len(max(roots, key=len)) + 1 :] if roots else file}:{line}"


def phases(subject: Subject, _folder: Path) -> dict[str, Any]:
    """Time the phases of a call."""
    return measure(subject, PHASES, clock_of(subject.device))


def layers(subject: Subject, _folder: Path) -> dict[str, Any]:
    """Time the phases of a call, and the parts of its layers."""
    return measure(subject, LAYERS, clock_of(subject.device))


def ranges(subject: Subject, _folder: Path) -> dict[str, Any]:
    """Time phases and layers without waiting for the GPU, for an external profiler that shows NVTX ranges."""
    return measure(subject, LAYERS, clock_of("cpu"))


def measure(subject: Subject, targets: Mapping[str, str], clock: Callable[[], int]) -> dict[str, Any]:
    """Time a first call and the repeats with ranges; `self_ns` excludes inner ranges."""
    from .ranges import Ranges

    ranges = Ranges(targets, subject.device, clock=clock)

    def timed() -> Mapping[tuple[str, ...], tuple[int, int, int]]:
        with subject.ready() as call, ranges.range(ROOT):
            call()
        return {path: times for path, times in ranges.times().items() if path[0] == ROOT}  # no set-up

    with ranges:
        cold = timed()
    with ranges:  # search again: the first call may have imported libraries
        repeats = [timed() for _ in range(subject.repeats)]
    rows = []
    for path in repeats[-1]:  # the last repeat has every path
        calls, total_ns, self_ns = zip(*(times.get(path, (0, 0, 0)) for times in repeats), strict=True)
        row = {"path": path, "calls": calls, "cold_ns": cold.get(path, (0, 0, 0))[1]}
        rows.append({**row, "total_ns": total_ns, "self_ns": self_ns})
    return {"rows": rows, "nvtx": subject.device == "cuda"}
