"""The counters of one call, and the differences between the counters of two calls."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ..ground.codec import Count

Counts = dict[str, dict[str, Count]]
"""Counts by kind, such as `operators`, and by name, such as `aten::mm`."""
PYTHON_CALLS = "Python calls"
"""Name of the only count of the kind `python_calls`."""


@dataclass(frozen=True)
class Counters:
    """The counts of one call."""

    counts: Counts
    """Counts that are compared with a baseline. Kinds: `operators` by the dispatcher's name, `copies` and
    `copied_bytes` between devices by direction (`cpu→cuda`), `library_calls` into C interfaces of other
    libraries, `python_calls`, and `compilation` by torch.compile."""
    host_reads: Count = 0
    """Number of host-device synchronisations, see counters.HOST_READS."""
    unsteady: tuple[str, ...] = ()
    """Names of counts that differed between two passes over the same call."""
    details: Counts = field(default_factory=dict, compare=False)
    """Counts that are not compared. Kinds: `host_reads` and `mask_reads` (operators and copies that
    synchronise host and device), `kernels` of the GPU, and `memory`. Kernels and memory depend on the
    machine. `memory` has `allocated_bytes`, and the larger and the smaller peak of two calls, `peak_bytes`
    and `least_peak_bytes`."""

    @property
    def operators(self) -> int:
        """Number of dispatched operators."""
        return sum(self.counts.get("operators", {}).values())

    @property
    def memory(self) -> dict[str, int]:
        """The memory of the call, see `details`; empty if it was not measured."""
        return self.details.get("memory", {})


@dataclass(frozen=True)
class CounterChange:
    """A count that differs between base and head."""

    name: str
    base: int
    head: int

    def __str__(self) -> str:
        """Write the change: `+4 aten::item`."""
        return f"{self.head - self.base:+} {self.name}"


def between(
    base: Mapping[str, int], head: Mapping[str, int], leave_out: Collection[str] = ()
) -> tuple[CounterChange, ...]:
    """Return the counts that differ, the largest difference first. A missing count is taken as 0."""
    names = sorted({*base, *head} - {*leave_out})
    changes = (CounterChange(name, base.get(name, 0), head.get(name, 0)) for name in names)
    differing = (change for change in changes if change.base != change.head)
    return tuple(sorted(differing, key=lambda change: -abs(change.head - change.base)))


def changed(
    baseline: Mapping[str, Mapping[str, int]],
    counts: Mapping[str, Mapping[str, int]],
    unsteady: Collection[str],
) -> tuple[CounterChange, ...]:
    """Return the steady counts that differ from the baseline, for the kinds in `counts`."""
    pairs = ((baseline.get(kind, {}), numbers) for kind, numbers in counts.items())
    return tuple(change for base, head in pairs for change in between(base, head, unsteady))
