"""The state of one benchmark in a run, and which of its times are judged: wall, CPU or GPU time.

A visit is the measurement of one benchmark in one pair of processes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median

import numpy as np

from ..ground import units
from ..measure.clock import SHORTEST_GPU_NS
from .estimate import sample
from .verdict import Judgement
from .visit import NOT_INSPECTED, Inspections, NotTimed, Size, Visit

RECHECKS = 4
"""Number of pairs that check a change with each side in a process of its own."""
_PAIR_SD = 0.03
"""Standard deviation of the log ratio between such pairs on a quiet machine, without noise within visits."""
_CONTRADICTING = 2.0
"""A mean that is at least this many standard errors from a ratio contradicts the ratio."""

_SHORT = "judged by wall time, as the GPU works for less than 20 µs per call: use a larger graph"
_DISTURBED = 0.03
"""CPU time is judged if other programs used more than this share of the time of the base's blocks."""
_BY_CPU = "judged by CPU time, as other programs used the cores"
_WAITS = "its calls now wait or use more threads, so CPU time does not measure them: use a quiet machine"
_NO_GPU_TIME = NotTimed("failed", "its calls ran kernels on the GPU before, and now run none")


@dataclass(eq=False)
class Trial:
    """The state of a benchmark that is compared on both sides."""

    name: str
    """The id of the benchmark's test."""
    inspections: Inspections = NOT_INSPECTED
    """What a call does on both sides."""
    not_timed: NotTimed | None = None
    """Why the benchmark is not timed. None if it is timed, or if this is not known yet."""
    from_files: bool = False
    """Whether files of earlier runs show that both sides run the same code, or skip the benchmark."""
    size: Size | None = None
    """Size of the blocks in all pairs. The first visit sets it."""
    head_logs: list[float] = field(default_factory=list)
    """The log of the head's time in nanoseconds, in each pair."""
    wall_logs: list[float] = field(default_factory=list)
    """The log of the head's wall time in each pair, if the GPU's own time is judged."""
    by_gpu: bool | None = None
    """Whether the GPU's own time is judged. None if the first visit has no GPU time."""
    by_cpu: bool | None = None
    """Whether CPU time is judged. The first visit sets it."""
    contradiction: str | None = None
    """Why new pairs, with each side in its own process, contradict the verdict. None if they do not."""

    @property
    def is_inspected(self) -> bool:
        """Whether a call was inspected, or cannot be inspected."""
        return self.inspections is not NOT_INSPECTED or self.not_timed is not None

    @property
    def notes(self) -> tuple[str, ...]:
        """A note if CPU time is judged, or if wall time is judged although kernels run on a GPU."""
        return (_BY_CPU,) if self.by_cpu else (_SHORT,) if self.by_gpu is False else ()

    def select_times(self, visit: Visit) -> Visit | NotTimed:
        """Return a visit with the times that are judged.

        These are the GPU's own times if the GPU works long enough in a call. If it does not, they are CPU
        times if other programs disturbed the base in the first visit. Otherwise they are wall times.
        """
        if self.by_cpu is None:
            if visit.gpu:
                self.by_gpu = median(visit.gpu.base_ns) >= SHORTEST_GPU_NS
            self.by_cpu = visit.cpu is not None and visit.cpu.share < 1 - _DISTURBED
        if self.by_gpu:
            return replace(visit.gpu, seconds=visit.seconds, wall=visit) if visit.gpu else _NO_GPU_TIME
        if not self.by_cpu:
            return visit
        if visit.cpu is None:
            return NotTimed("failed", f"{_BY_CPU}; {_WAITS}")
        return replace(visit, base_ns=visit.cpu.base_ns, head_ns=visit.cpu.head_ns, mean_logs=())


def contradiction(judgement: Judgement, visits: Sequence[Visit]) -> str | None:
    """Return why visits with each side in its own process contradict a ratio. Returns None if they do not.

    The visits contradict the ratio if their mean is nearer to 1 than to the ratio, and at least two standard
    errors from it. The standard error is the larger of two: between visits, and expected from their noise.
    """
    if not visits or judgement.ratio is None:
        return None
    logs, noises = np.array([(row.turns, row.turns_noise) for row in map(sample, visits)]).T
    noises = np.nan_to_num(noises, nan=math.inf)
    expected = math.sqrt((_PAIR_SD**2 + noises.mean()) / len(logs))
    between = float(logs.std(ddof=1)) / math.sqrt(len(logs)) if len(logs) > 1 else math.inf
    mean, ratio = float(logs.mean()), math.log(judgement.ratio)
    shortfall = (ratio - mean) * math.copysign(1.0, ratio)
    if shortfall < abs(ratio) / 2 or shortfall < _CONTRADICTING * max(expected, between):
        return None
    apart, together = units.ratio(math.exp(mean)), units.ratio(judgement.ratio)
    return f"not confirmed: {together} with both sides in one process, but {apart} with a process for each"
