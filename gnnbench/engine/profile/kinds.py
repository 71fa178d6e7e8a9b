"""Takes the profiles of a benchmark. For each kind of profile there is a function, here or in `trace.py`."""

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
_TARGETS = {"phases": PHASES, "layers": LAYERS, "ranges": LAYERS}
"""The functions that are timed as ranges, for each kind that times ranges."""


@dataclass(frozen=True)
class Subject:
    """The benchmark that is profiled."""

    pedantic: Pedantic
    """The call of one round of the benchmark: an epoch, a forward and backward pass, a kernel."""
    device: str
    """`cpu` or `cuda`."""
    repeats: int

    @contextmanager
    def ready(self) -> Iterator[Callable[[], object]]:
        """Yield the next call. The test's set-up and tear-down run around it, outside the profile."""
        call = self.pedantic.next_call()
        try:
            with collector_paused():
                yield partial(call.function, *call.args, **call.kwargs)  # which adds no row to cProfile
        finally:
            self.pedantic.tear_down(call)

    def time_ns(self) -> int:
        """Call once without a profile, and return the time of the call, including the GPU's work."""
        clock = clock_of(self.device)
        with self.ready() as call:
            start = clock()
            call()
            return clock() - start


def clock_of(device: str) -> Callable[[], int]:
    """Return a clock in nanoseconds. On `cuda`, the clock first waits for the GPU's work."""
    if device != "cuda":
        return RealTime.nanoseconds
    import torch

    def clock() -> int:
        torch.cuda.synchronize()
        return RealTime.nanoseconds()

    return clock


def profile(kinds: Sequence[str], subject: Subject, folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Return profiles of these kinds, with `counts` of one more call, and why other kinds are unavailable."""
    sections: dict[str, Any] = {}
    unavailable: dict[str, str] = {}
    for name in kinds:
        if name != "functions" and (reason := unusable("torch")):
            unavailable[name] = f"all profile kinds except functions need torch: {reason}"
            continue
        try:
            if name in _TARGETS:
                sections[name] = time_ranges(name, subject)
            else:
                sections[name] = _function_of(name)(subject, folder)
        except UsageError as error:
            unavailable[name] = str(error)
    if sections and sys.modules.get("torch"):
        sections["counts"] = _function_of("counts")(subject)
    return sections, unavailable


def _function_of(name: str) -> Any:
    """Return the function that takes a kind of profile. Its module is imported only when it is needed."""
    module = {"counts": "counts", "functions": "kinds"}.get(name, "trace")
    return pkgutil.resolve_name(f"{__package__}.{module}:{name}")


def functions(subject: Subject, folder: Path) -> dict[str, Any]:
    """Profile the repeats with cProfile, after a first call. cProfile overstates the share of Python code.

    A C++ function is one row, with all of its work: `run_backward` is the whole backward pass.
    """
    cold_ns = subject.time_ns()
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
            rows.append({"function": name, "place": place(file, line), "calls": calls, **times})
    rows.sort(key=lambda row: (-row["cumulative_ns"], -row["self_ns"], row["place"]))
    total_ns = sum(row["self_ns"] for row in rows)
    return {"rows": rows, "total_ns": total_ns, "cold_ns": cold_ns, "repeats": subject.repeats}


def place(file: str, line: int) -> str:
    """Return `file:line`, relative to the folder on sys.path that contains the file. Empty for C code."""
    if file == "~":
        return ""
    roots = [root for root in sys.path if root and file.startswith(f"{root}/")]
    return f"{file[len(max(roots, key=len)) + 1 :] if roots else file}:{line}"


def time_ranges(kind: str, subject: Subject) -> dict[str, Any]:
    """Time phases or layers. `ranges` does not wait for the GPU: an external profiler shows what it does."""
    return measure(subject, _TARGETS[kind], clock_of("cpu" if kind == "ranges" else subject.device))


def measure(subject: Subject, targets: Mapping[str, str], clock: Callable[[], int]) -> dict[str, Any]:
    """Time the ranges of targets in a first call and in the repeats; `self_ns` excludes inner ranges."""
    from .ranges import Ranges

    ranges = Ranges(targets, subject.device, clock=clock)

    def time_call() -> Mapping[tuple[str, ...], tuple[int, int, int]]:
        with subject.ready() as call, ranges.range(ROOT):
            call()
        return {path: times for path, times in ranges.times().items() if path[0] == ROOT}  # not the set-up

    with ranges:
        cold = time_call()
    with ranges:  # search again: the first call may have imported libraries
        repeats = [time_call() for _ in range(subject.repeats)]
    rows = []
    for path in repeats[-1]:  # the last repeat has every path
        by_repeat = [times.get(path, (0, 0, 0)) for times in repeats]
        calls, total_ns, self_ns = zip(*by_repeat, strict=True)
        row = {"path": path, "calls": calls, "cold_ns": cold.get(path, (0, 0, 0))[1]}
        rows.append({**row, "total_ns": total_ns, "self_ns": self_ns})
    return {"rows": rows, "nvtx": subject.device == "cuda"}
