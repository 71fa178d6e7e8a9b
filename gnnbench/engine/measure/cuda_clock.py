"""The clock for kernels on a GPU: synchronised wall time, and the GPU's own time between events."""

from itertools import repeat
from statistics import median

import torch

from ..ground.cpu import RealTime
from .clock import Block, Call, Clock, ClockError
from .memory import gpu_events, launches

_LAUNCHES, _CALLS = 100, 5
"""Number of empty launches, and of calls, that `check` times."""
_SLACK = 0.8
"""A call is refused if it takes less than this fraction of an empty launch's time; both times are noisy."""

_HEAD_START = 1.5
"""Before a round, the GPU is kept busy for this multiple of the time that the host needs to launch it."""
_RECORD_SECONDS = 1e-4
"""Additional time for which the GPU is kept busy, because the host also records two events."""
_LONGEST_WAIT_SECONDS = 0.01
_CYCLES_PER_SECOND = 2e9
"""Upper limit of the clock rates of GPUs. With a lower value, the GPU would not be kept busy long enough."""


class CudaClock(Clock):
    """Times rounds on the current CUDA device.

    The wall time of a round starts when the device is idle, and ends when it is idle again. One more round of
    each block is timed between two events (torch.cuda.Event, resolution about 0.5 µs) in the current stream.
    This round is launched while the device is kept busy. Its time has no gaps in which the device waits for
    the host, unless the call itself waits for the device. triton.testing.do_bench measures the same way.
    """

    name = "cuda"
    resolution_seconds = 5e-7
    times_device = True

    def __init__(self, *, flush: bool, has_gpu_inputs: bool = True) -> None:
        """`flush`: whether to flush the L2 cache before each round.

        `has_gpu_inputs`: whether inputs are on the GPU. If so, `check` refuses calls without a kernel there.
        """
        self._has_gpu_inputs = has_gpu_inputs
        size = 2 * torch.cuda.get_device_properties("cuda").L2_cache_size
        # Writing twice the size of the cache evicts all other data.
        self._buffer = torch.empty(size, dtype=torch.int8, device="cuda") if flush else None

    def block(self, call: Call, rounds: int, iterations: int) -> Block:
        """Time each round with the host's timer, and one more round with two events."""
        function, args, kwargs = call
        timer = RealTime.seconds
        seconds, launch_seconds = [], []
        for _ in repeat(None, rounds):
            self._flush()
            torch.cuda.synchronize()
            start = timer()
            for _ in repeat(None, iterations):
                function(*args, **kwargs)
            launch_end = timer()
            torch.cuda.synchronize()
            end = timer()
            seconds.append(end - start)
            launch_seconds.append(launch_end - start)
        wait_seconds = min(_wait_seconds(median(launch_seconds)), _LONGEST_WAIT_SECONDS)
        return Block(seconds, *self._device_times(call, iterations, wait_seconds))

    def launches(self, call: Call) -> tuple[str, ...]:
        """Make the call twice; return its launches if they are equal. The profiler slows later launches."""
        first, second = launches(call.__call__), launches(call.__call__)
        return first if first == second else ()

    def _flush(self) -> None:
        if self._buffer is not None:
            self._buffer.zero_()

    def _device_times(self, call: Call, iterations: int, wait_seconds: float) -> tuple[float, float]:
        """Time a round on the GPU, which is kept busy for `wait_seconds` while the host launches the round.

        Returns the seconds of the round, and the clock rate of the GPU while it was kept busy.
        """
        function, args, kwargs = call
        before, start, end = (torch.cuda.Event(enable_timing=True) for _ in range(3))
        cycles = int(wait_seconds * _CYCLES_PER_SECOND)
        self._flush()
        before.record()
        torch.cuda._sleep(cycles)  # noqa: SLF001 - PyTorch's own tests use it
        start.record()
        for _ in repeat(None, iterations):
            function(*args, **kwargs)
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end) / 1e3, cycles / before.elapsed_time(start) * 1e3

    def check(self, call: Call) -> None:
        """Check that a call runs kernels, and that it does not take less time than an empty launch."""
        launch = Call(torch.zeros(1, device="cuda").zero_, (), {})
        launch_seconds = min(self.block(launch, _LAUNCHES, 1).seconds)
        times = self.block(call, _CALLS, 1).seconds
        fastest_seconds = min(times)
        # The profiler comes second, because it makes all later launches of the process slower.
        if not (self._is_busy(call, max(times), launch) or gpu_events(call.__call__)):
            if not self._has_gpu_inputs:
                return  # the call runs on the CPU, while other code of the process uses the GPU
            raise ClockError(
                "the inputs are on the GPU, but the call ran no kernel there; time it with --gnn-device cpu"
            )
        if fastest_seconds < _SLACK * launch_seconds:
            raise ClockError(
                f"the call took {fastest_seconds * 1e6:.1f} µs, less than an empty kernel launch "
                f"({launch_seconds * 1e6:.1f} µs); measure a larger input"
            )

    def _is_busy(self, call: Call, call_seconds: float, launch: Call) -> bool:
        """Return whether a call keeps the current stream busy for half as long as an empty kernel does."""
        idle_seconds, launch_seconds = (
            min(self._device_times(probe, 1, _RECORD_SECONDS)[0] for _ in range(_CALLS))
            for probe in (Call(int, (), {}), launch)
        )
        busy_seconds, _ = self._device_times(call, 1, _wait_seconds(call_seconds))
        return busy_seconds > (idle_seconds + launch_seconds) / 2


def _wait_seconds(launch_seconds: float) -> float:
    """Return how long to keep the GPU busy while the host launches a round, which takes `launch_seconds`."""
    return _HEAD_START * launch_seconds + _RECORD_SECONDS
