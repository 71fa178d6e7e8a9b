"""The clock of kernels on a GPU: synchronised wall time, and device time by events."""

import time
from itertools import repeat

import torch

from .clock import Block, Call, ClockError
from .memory import quiet_profiler

_LAUNCHES = 100
_CALLS = 5
_SLACK = 0.8
"""Of the time of an empty launch, as two smallest times differ."""


class CudaClock:
    """Times rounds on the current CUDA device.

    Wall time runs from an idle device until it is idle again. Device time is between two events in the
    current stream around the round (torch.cuda.Event, resolution about half a microsecond): it leaves out the
    host's last wait, but not the gaps in which the device waits for the host to launch the next kernel.
    """

    name = "cuda"
    resolution_seconds = 5e-7

    def __init__(self, *, flush: bool, inputs_there: bool = True) -> None:
        """Make the buffer that empties the L2 cache, if that is asked for.

        Args:
            flush: whether the L2 cache is emptied before each round.
            inputs_there: whether the inputs are on the GPU, so that a call must work there.
        """
        self._inputs_there = inputs_there
        size = 2 * torch.cuda.get_device_properties("cuda").L2_cache_size
        # Writing twice its size leaves nothing else in the cache.
        self._flush = torch.empty(size, dtype=torch.int8, device="cuda") if flush else None

    def now(self) -> float:
        """Return the host's monotonic clock."""
        return time.monotonic()

    def block(self, call: Call, rounds: int, iterations: int) -> Block:
        """Time each round by the host's clock and by two events."""
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

    def renewed(self) -> None:
        """Do nothing: a real clock does not care."""

    def check(self, call: Call) -> None:
        """Call, and see that kernels run on the GPU, and take no less than launching an empty one does.

        Raises:
            ClockError: no kernel ran there, though inputs are there; or the wall time is below that of an
                empty launch, so that it is not the call that was timed.
        """
        quiet_profiler()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            call()
            torch.cuda.synchronize()
        gpu = torch.profiler.DeviceType.CUDA
        if not any(event.device_type == gpu for event in profile.events()):
            if not self._inputs_there:  # work of the host, in a process that uses the GPU for something else
                return
            raise ClockError(
                "torch uses the GPU, but no kernel of this call ran there: time it with --gnn-device cpu"
            )
        launch_seconds = min(
            self.block(Call(torch.zeros(1, device="cuda").zero_, (), {}), _LAUNCHES, 1).seconds
        )
        fastest_seconds = min(self.block(call, _CALLS, 1).seconds)
        if fastest_seconds < _SLACK * launch_seconds:
            raise ClockError(
                f"it took {fastest_seconds * 1e6:.1f} µs, less than launching an empty kernel does "
                f"({launch_seconds * 1e6:.1f} µs): measure something larger"
            )
