"""The times of one benchmark in one process: every round, by block."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Annotated, Any, Literal

from msgspec import Meta

from ..ground import codec
from ..ground.codec import Level, NotNegative, Positive, PositiveCount
from . import estimate
from .clock import SHORTEST_GPU_NS, Block, ClockError

StopReason = Literal["precision", "time", "rounds"]


@dataclass
class Process:
    """The rounds of one process, in nanoseconds per call."""

    blocks_ns: list[Annotated[list[Positive], Meta(min_length=1)]] = field(default_factory=list)
    """Rounds of each block."""
    device_blocks_ns: list[list[NotNegative]] = field(default_factory=list)
    """One more round of each block, timed between CUDA events; empty on a CPU."""

    @property
    def has_gpu_time(self) -> bool:
        """Whether the GPU's own time counts: it is known of each block, and long enough."""
        times = [times_ns[0] for times_ns in self.device_blocks_ns]
        is_known = bool(times) and len(times) == len(self.blocks_ns) and min(times) > 0
        return is_known and median(times) >= SHORTEST_GPU_NS

    @property
    def times_ns(self) -> Sequence[Sequence[float]]:
        """The times of each block that count: the GPU's own, or wall time."""
        return self.device_blocks_ns if self.has_gpu_time else self.blocks_ns


@dataclass
class Measurement:
    """The rounds of a benchmark in one process, as run files have them."""

    clock: str
    layouts: Literal["sampled", "one"]
    """`sampled`: each block has copies of the inputs at other addresses; `one`: no copies."""
    in_place: str | None = None
    """Why the inputs are not copied."""
    not_copied: tuple[str, ...] = ()
    """Names of inputs that are not copied."""
    whole_call: str | None = None
    """Why each round is one whole call, see `sampler`. None if rounds and layouts are chosen."""
    iterations: PositiveCount = 1
    """Calls in a round."""
    changes_inputs: bool = False
    """Whether calls write to the inputs, so that rounds had different input values."""
    contention_share: NotNegative | None = None
    """Fraction of the processors' time that other programs used; None if it was not recorded."""
    stopped_by: StopReason | None = None
    """Why measuring stopped. None if an error or the user interrupted it."""
    processes: list[Process] = field(default_factory=lambda: [Process()])
    location: str | None = None
    """Name of the estimate; this and what follows are None if there is no block."""
    location_ns: Positive | None = None
    low_ns: Positive | None = None
    """Lower bound of the interval; like `high_ns`, None for too few blocks."""
    high_ns: Positive | None = None
    level: Level | None = None

    @property
    def blocks_ns(self) -> list[list[float]]:
        """Rounds of each block of the first process."""
        return self.processes[0].blocks_ns

    @property
    def rounds(self) -> int:
        """Rounds in all these blocks."""
        return sum(map(len, self.blocks_ns))

    def add(self, block: Block) -> None:
        """Add a block. Raises ClockError if a round took no positive time."""
        if min(block.seconds) <= 0:
            raise ClockError(f"a round took no positive time by {self.clock}: use a monotonic clock")
        self.blocks_ns.append(self._per_call_ns(block.seconds))
        if block.device_seconds is not None:
            self.processes[0].device_blocks_ns.append(self._per_call_ns([block.device_seconds]))

    def _per_call_ns(self, seconds: Iterable[float]) -> list[float]:
        return [second / self.iterations * 1e9 for second in seconds]

    def summarize(self) -> None:
        """Estimate the time of the process, with its interval, if it has any blocks."""
        if not self.blocks_ns:
            return
        values = estimate.block_values(self.processes[0].times_ns)
        result = estimate.estimate(values)
        self.location, self.level = estimate.NAME, estimate.SHOWN_LEVEL
        self.location_ns, self.low_ns, self.high_ns = result.location, result.low, result.high

    def as_json(self) -> Any:
        """Return what a run file has, with the estimate."""
        self.summarize()
        return codec.encode(self)
