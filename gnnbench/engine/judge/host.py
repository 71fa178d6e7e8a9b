"""The two verdicts on a benchmark that runs on a GPU: on the GPU's own time, and on the host's work."""

from dataclasses import dataclass

from ..ground import units
from ..ground.codec import Positive
from .verdict import Judgement

SAME_WORK = Judgement("same", "as many operators, copies, kernels, library calls and Python calls")
"""On the host, of a benchmark whose counts are equal on both sides."""
SAME_KERNELS = Judgement("same", "launches the same kernels on the same values")
"""Of the GPU's own time, which is not judged then."""
_BOUND = 0.8
"""A GPU that works for a larger share of the wall time sets the pace."""


@dataclass(frozen=True)
class GpuAndHost:
    """Both verdicts, and the head's times."""

    gpu: Judgement
    """By the time between two events of the GPU, which works through a round without a gap."""
    host: Judgement
    """By counts if they are equal, and otherwise by wall time."""
    gpu_seconds: Positive
    wall_seconds: Positive

    @property
    def judgement(self) -> Judgement:
        """The verdict on the benchmark: that on the host if it is slower there alone."""
        is_slower_there_alone = self.host.verdict == "slower" and self.gpu.verdict != "slower"
        return self.host if is_slower_there_alone else self.gpu

    @property
    def note(self) -> str:
        """By which time the benchmark is judged, and what sets the pace."""
        bound = "GPU" if self.gpu_seconds > _BOUND * self.wall_seconds else "host"
        times = f"{units.seconds(self.gpu_seconds)} of {units.seconds(self.wall_seconds)}"
        by = "wall time, as the host is slower" if self.judgement is self.host else "the GPU's own time"
        return f"judged by {by}: {bound}-bound, the GPU works {times}; host: {self.host.reason}"
