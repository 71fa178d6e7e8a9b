"""The clock for kernels on a GPU: synchronised wall time, and the GPU's own time between events."""

from itertools import repeat
from statistics import median

import torch

from ..ground.cpu import RealTime
from .clock import Block, Call, Clock, ClockError
from .memory import gpu_events, launches

_LAUNCHES = 100
_CALLS = 5
_SLACK = 0.8
"""Fraction of the launch time below which a call is refused; it allows for noise in both minima."""

_HEAD_START = 1.5
"""The GPU is kept busy for this multiple of the time that the host needs to launch a round."""
_RECORD_SECONDS = 1e-4
"""The GPU is kept busy for this time more, in which the host makes and records both events."""
_LONGEST_WAIT_SECONDS = 0.01
_CYCLES_PER_SECOND = 2e9
"""At least a GPU's clock rate, so that a head start is not shorter than intended."""


class CudaClock(Clock):
    """Times rounds on the current CUDA device.

    The wall time of a round starts when the device is idle and ends when it is idle again. One more round in
    each block is timed between two events (torch.cuda.Event, resolution about 0.5 µs) in the current stream.
    It is launched while the device is still busy, so this time has no gaps in which the device waits for the
    host, unless the call itself waits for the device. triton.testing.do_bench measures the same way.
    """

    name = "cuda"
    resolution_seconds = 5e-7
    times_device = True

    def __init__(self, *, flush: bool, inputs_there: bool = True) -> None:
        """Allocate a buffer if the L2 cache is flushed.

        `inputs_there`: whether the inputs are on the GPU, so that a call must run kernels on it.
        """
        self._inputs_there = inputs_there
        size = 2 * torch.cuda.get_device_properties("cuda").L2_cache_size
        # Writing twice the size of the cache evicts everything else.
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
        """Call the function twice, and return the launches if both agree. Later launches are slower."""
        first, second = launches(call.__call__), launches(call.__call__)
        return first if first == second else ()

    def _flush(self) -> None:
        if self._buffer is not None:
            self._buffer.zero_()

    def _device_times(self, call: Call, iterations: int, wait_seconds: float) -> tuple[float, float]:
        """Time a round on the device, which is kept busy until the host has launched it.

        Returns its seconds, and the clock rate, as the device is busy for a known number of cycles.
        """
        function, args, kwargs = call
        before, start, end = (torch.cuda.Event(enable_timing=True) for _ in range(3))
        cycles = int(wait_seconds * _CYCLES_PER_SECOND)
        self._flush()
        before.record()
        torch.cuda._sleep(cycles)  # noqa: SLF001 - as PyTorch's own tests wait
        start.record()
        for _ in repeat(None, iterations):
            function(*args, **kwargs)
        end.record()
        torch.cuda.synchronize()
        return start.elapsed_time(end) / 1e3, cycles / before.elapsed_time(start) * 1e3

    def check(self, call: Call) -> None:
        """Call the function, and check that it runs kernels and takes at least as long as an empty launch."""
        launch = Call(torch.zeros(1, device="cuda").zero_, (), {})
        launch_seconds = min(self.block(launch, _LAUNCHES, 1).seconds)
        times = self.block(call, _CALLS, 1).seconds
        fastest_seconds = min(times)
        # Once the profiler has looked for kernels, later launches of the process take longer.
        if not (self._is_busy(call, max(times), launch) or gpu_events(call.__call__)):
            if not self._inputs_there:
                return  # the call works on the CPU; something else in the process uses the GPU
            raise ClockError(
                "the inputs are on the GPU, but the call ran no kernel there; time it with --gnn-device cpu"
            )
        if fastest_seconds < _SLACK * launch_seconds:
            raise ClockError(
                f"the call took {fastest_seconds * 1e6:.1f} µs, less than an empty kernel launch "
                f"({launch_seconds * 1e6:.1f} µs); measure a larger input"
            )

    def _is_busy(self, call: Call, call_seconds: float, launch: Call) -> bool:
        """Tell whether a call keeps the current stream busy for at least half the time of an empty kernel."""
        idle_seconds, launch_seconds = (
            min(self._device_times(probe, 1, _RECORD_SECONDS)[0] for _ in range(_CALLS))
            for probe in (Call(int, (), {}), launch)
        )
        busy_seconds, _ = self._device_times(call, 1, _wait_seconds(call_seconds))
        return busy_seconds > (idle_seconds + launch_seconds) / 2


def _wait_seconds(launch_seconds: float) -> float:
    """Return how long the GPU is kept busy while the host launches a round, and records two events."""
    return _HEAD_START * launch_seconds + _RECORD_SECONDS
