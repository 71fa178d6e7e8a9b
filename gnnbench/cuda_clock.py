"""The clock of kernels on a GPU: synchronised wall time, and device time by events."""

import statistics
import time
from itertools import repeat

import torch

from gnnbench.clock import Block, Call, ClockError

_LAUNCHES = 100


class CudaClock:
    """Times rounds on the current CUDA device.

    Wall time runs from an idle device until it is idle again. Device time is between two events recorded in
    the current stream around the round (torch.cuda.Event, resolution about half a microsecond), and so does
    not contain the wait of the host.
    """

    name = "cuda"
    resolution_seconds = 5e-7

    def __init__(self, *, flush: bool) -> None:
        """Measure what a launch costs, and make the buffer that empties the L2 cache if that is asked for."""
        properties = torch.cuda.get_device_properties()
        # Writing twice its size leaves nothing else in the cache.
        self._flush = (
            torch.empty(2 * properties.L2_cache_size, dtype=torch.int8, device="cuda") if flush else None
        )
        self._nothing_seconds = self._device_seconds(Call(lambda: None, (), {}))
        one = torch.zeros(1, device="cuda")
        self._launch_seconds = self._device_seconds(Call(one.zero_, (), {}))

    def now(self) -> float:
        """Return the host's monotonic clock."""
        return time.monotonic()

    def block(self, call: Call, rounds: int, iterations: int) -> Block:
        """Time each round by the host's clock and by two events.

        Raises:
            ClockError: no kernel ran between the events, or less than an empty launch costs.
        """
        block = self._time(call, rounds, iterations)
        assert block.device_seconds is not None
        typical = statistics.median(block.device_seconds)
        if typical <= self._nothing_seconds:
            raise ClockError(
                "its inputs are on the GPU, but no kernel ran there: the GPU spent "
                f"{typical * 1e6:.1f} µs on it, as on nothing at all"
            )
        if typical < self._launch_seconds:
            raise ClockError(
                f"the GPU spent {typical * 1e6:.1f} µs on it, less than launching an empty kernel costs "
                f"({self._launch_seconds * 1e6:.1f} µs): measure something larger"
            )
        return block

    def renewed(self) -> None:
        """Do nothing: a real clock does not care."""

    def _device_seconds(self, call: Call) -> float:
        self._time(call, _LAUNCHES, 1)
        return statistics.median(self._time(call, _LAUNCHES, 1).device_seconds or ())

    def _time(self, call: Call, rounds: int, iterations: int) -> Block:
        function, args, kwargs = call
        timer = time.perf_counter
        start_event = torch.cuda.Event(enable_timing=True)
        end_event = torch.cuda.Event(enable_timing=True)
        seconds, device_seconds = [], []
        for _ in repeat(None, rounds):
            if self._flush is not None:
                self._flush.zero_()
            torch.cuda.synchronize()
            start = timer()
            start_event.record()
            for _ in repeat(None, iterations):
                function(*args, **kwargs)
            end_event.record()
            torch.cuda.synchronize()
            end = timer()
            seconds.append(end - start)
            device_seconds.append(start_event.elapsed_time(end_event) / 1e3)
        return Block(seconds, device_seconds)
