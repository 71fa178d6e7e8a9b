"""The clock for kernels on a GPU: synchronised wall time, and device time between events."""

import time
from itertools import repeat

import torch

from .clock import Block, Call, ClockError
from .memory import quiet_profiler

_LAUNCHES = 100
_CALLS = 5
_SLACK = 0.8
"""Fraction of the launch time below which a call is refused; it allows for noise in both minima."""


class CudaClock:
    """Times rounds on the current CUDA device.

    The wall time of a round starts when the device is idle and ends when it is idle again. The device time is
    the time between two events (torch.cuda.Event, resolution about 0.5 µs) in the current stream. It excludes
    the host's last wait, but includes gaps in which the device waits for the host to launch a kernel.
    """

    name = "cuda"
    resolution_seconds = 5e-7

    def __init__(self, *, flush: bool, inputs_there: bool = True) -> None:
        """Allocate a buffer if the L2 cache is flushed.

        Args:
            flush: whether the L2 cache is flushed before each round.
            inputs_there: whether the inputs are on the GPU, so that a call must run kernels on it.
        """
        self._inputs_there = inputs_there
        size = 2 * torch.cuda.get_device_properties("cuda").L2_cache_size
        # Writing twice the size of the cache evicts everything else.
        self._flush = torch.empty(size, dtype=torch.int8, device="cuda") if flush else None

    def now(self) -> float:
        """Return the host's monotonic clock."""
        return time.monotonic()

    def block(self, call: Call, rounds: int, iterations: int) -> Block:
        """Time each round with the host's timer and with two events."""
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
        """Do nothing: only the simulated clock needs it."""

    def check(self, call: Call) -> None:
        """Call the function, and check that it runs kernels and takes at least as long as an empty launch.

        Raises:
            ClockError: no kernel ran although inputs are on the GPU, or the call is faster than launching an
                empty kernel.
        """
        quiet_profiler()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            call()
            torch.cuda.synchronize()
        gpu = torch.profiler.DeviceType.CUDA
        if not any(event.device_type == gpu for event in profile.events()):
            if (
                not self._inputs_there
            ):  # the call works on the CPU; something else in the process uses the GPU
                return
            raise ClockError(
                "the inputs are on the GPU, but the call ran no kernel there; time it with --gnn-device cpu"
            )
        launch_seconds = min(
            self.block(Call(torch.zeros(1, device="cuda").zero_, (), {}), _LAUNCHES, 1).seconds
        )
        fastest_seconds = min(self.block(call, _CALLS, 1).seconds)
        if fastest_seconds < _SLACK * launch_seconds:
            raise ClockError(
                f"the call took {fastest_seconds * 1e6:.1f} µs, less than an empty kernel launch "
                f"({launch_seconds * 1e6:.1f} µs); measure a larger input"
            )
