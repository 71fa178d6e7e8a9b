"""The times of one benchmark: every round, by process and block."""

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
    """Times of the rounds of each block."""
    device_blocks_ns: list[list[NotNegative]] = field(default_factory=list)
    """Time of one more round of each block, measured between CUDA events; empty on a CPU."""

    @property
    def has_gpu_time(self) -> bool:
        """Whether the GPU's own times are used: each block has one, and they are long enough."""
        times = [times_ns[0] for times_ns in self.device_blocks_ns]
        is_known = bool(times) and len(times) == len(self.blocks_ns) and min(times) > 0
        return is_known and median(times) >= SHORTEST_GPU_NS

    @property
    def times_ns(self) -> Sequence[Sequence[float]]:
        """The times that the estimate uses, by block: the GPU's own times, or wall times."""
        return self.device_blocks_ns if self.has_gpu_time else self.blocks_ns


@dataclass
class Measurement:
    """The measurement of a benchmark, as it is in run files."""

    clock: str
    layouts: Literal["sampled", "one"]
    """`sampled`: each block has copies of the inputs at other addresses; `one`: no copies."""
    in_place: str | None = None
    """Why the inputs are not copied. None if they are."""
    not_copied: tuple[str, ...] = ()
    """Types of the inputs that are not copied although other inputs are."""
    whole_call: str | None = None
    """Reason of the marker `whole_call`: each round is one call. None without the marker."""
    iterations: PositiveCount = 1
    """Calls in a round."""
    changes_inputs: bool = False
    """Whether calls write to their inputs. If so, the rounds of a block had different input values."""
    contention_share: NotNegative | None = None
    """Fraction of the processors' time that other programs used. None if it was not recorded."""
    stopped_by: StopReason | None = None
    """Why measuring stopped. None if an error or the user interrupted it."""
    processes: list[Process] = field(default_factory=lambda: [Process()])
    location: str | None = None
    """Name of the estimate. This field and all below are None if there is no block."""
    location_ns: Positive | None = None
    low_ns: Positive | None = None
    """Lower bound of the interval. `low_ns` and `high_ns` are None if there are too few blocks."""
    high_ns: Positive | None = None
    level: Level | None = None

    @property
    def blocks_ns(self) -> list[list[float]]:
        """Times of the rounds of each block of the first process."""
        return self.processes[0].blocks_ns

    @property
    def rounds(self) -> int:
        """Number of rounds of the first process."""
        return sum(map(len, self.blocks_ns))

    def add(self, block: Block) -> None:
        """Add a block. Raises ClockError if a round took no positive time."""
        if min(block.seconds) <= 0:
            raise ClockError(f"a round took no time on {self.clock}: choose another --benchmark-timer")
        self.blocks_ns.append(self._per_call_ns(block.seconds))
        if block.device_seconds is not None:
            self.processes[0].device_blocks_ns.append(self._per_call_ns([block.device_seconds]))

    def _per_call_ns(self, seconds: Iterable[float]) -> list[float]:
        return [second / self.iterations * 1e9 for second in seconds]

    def summarize(self) -> None:
        """Set the estimate of the time and its interval, unless there is no block."""
        if not self.blocks_ns:
            return
        values = estimate.block_values(self.processes[0].times_ns)
        result = estimate.estimate(values)
        self.location, self.level = estimate.NAME, estimate.SHOWN_LEVEL
        self.location_ns, self.low_ns, self.high_ns = result.location, result.low, result.high

    def as_json(self) -> Any:
        """Estimate the time, and return the measurement as it is in run files."""
        self.summarize()
        return codec.encode(self)
