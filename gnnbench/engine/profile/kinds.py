"""Takes the kinds of profile."""

import pkgutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..ground.cpu import RealTime
from ..ground.errors import UsageError
from ..ground.packages import unusable
from ..measure.conditions import collector_paused
from ..measure.seam import Pedantic

ROOT = "call"
"""Name of the range around the whole call."""


@dataclass(frozen=True)
class Subject:
    """One benchmark, whose calls can be made."""

    asked: Pedantic
    """What one round of the benchmark calls: an epoch, a forward and backward pass, a kernel."""
    device: str
    """`cpu` or `cuda`."""
    repeats: int
    """Calls to profile, after the first."""

    @contextmanager
    def ready(self) -> Iterator[Callable[[], object]]:
        """Yield the next call; what the context does before and after is outside the profile."""
        call = self.asked.inputs()
        try:
            with collector_paused():
                yield partial(call.function, *call.args, **call.kwargs)  # which is no Python function itself
        finally:
            self.asked.tear_down(call)

    def timed_ns(self) -> int:
        """Call once without a profile and return the time, with the GPU's work."""
        clock = clock_of(self.device)
        with self.ready() as call:
            start = clock()
            call()
            return clock() - start


def clock_of(device: str) -> Callable[[], int]:
    """Return a clock in nanoseconds; on `cuda` it first waits for the GPU's work."""
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
            sections[name] = _function(name)(subject, folder)
        except UsageError as error:
            unavailable[name] = str(error)
    if sections and sys.modules.get("torch"):
        sections["counts"] = _function("counts")(subject)
    return sections, unavailable


def _function(name: str) -> Any:
    module = {"functions": name, "counts": name, "kernels": "trace", "trace": "trace"}.get(name, "tree")
    return pkgutil.resolve_name(f"{__package__}.{module}:{name}")
