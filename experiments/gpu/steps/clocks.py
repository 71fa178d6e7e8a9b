"""Clocks: the same kernels timed by wall clock, events, torch.profiler and triton's do_bench."""

import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any
from unittest.mock import patch

from steps import rows

_ROUNDS = 50
_LONG_SECONDS = 5e-3
"""A kernel that takes longer is timed a fifth as often."""


def units(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Return what a launch costs, and two families of kernels, from 5 µs to 50 ms on an H100 or so."""
    return {"launch": 15.0, "add": 35.0, "mm": 40.0}


def _calls(unit: str, plan: Any) -> dict[str, Callable[[], Any]]:
    """Return `add` of so many numbers, or `mm` of so many rows and columns."""
    import torch

    add = unit == "add"
    sizes = [2**power for power in (12, 20, 24, 26, 28, 29)] if add else [2048, 8192, 10752]
    calls = {}
    for size in [64] if plan.small else sizes:
        x = torch.rand((size,) if add else (size, size), device=plan.device)
        function = partial(torch.add, x, 1) if add else partial(torch.mm, x, x)
        calls[f"{unit} {size:,}"] = partial(function, out=torch.empty_like(x))
    return calls


def run(unit: str, plan: Any) -> dict[str, Any]:
    """Time kernels in every way, on a cold cache and on a warm one."""
    if unit == "launch":
        return {unit: _launch(plan)}
    found: dict[str, Any] = {}
    for name, call in _calls(unit, plan).items():
        found[name] = {cache: _all(call, plan.device, flush=cache == "cold") for cache in ("cold", "warm")}
        if plan.device == "cuda":
            for cache, seconds in found[name].items():
                seconds["do_bench"] = _do_bench(call, flush=cache == "cold")
    return found


def _do_bench(call: Callable[[], Any], *, flush: bool) -> float:
    """Return triton's median, in seconds; without a flush, it leaves the cache as the call did."""
    from triton.runtime import driver
    from triton.testing import do_bench

    keep = nullcontext() if flush else patch.object(driver.active, "clear_cache", lambda _: None)
    with keep:
        median: float = do_bench(call, warmup=25, rep=200, return_mode="median")
    return median / 1e3


def _all(call: Callable[[], Any], device: str, *, flush: bool) -> dict[str, float]:
    """Return medians in seconds: `wall` and `events` of the clock, and `profiler`."""
    clock = _clock(device, flush=flush)
    bare = _call(call)
    first = min(clock.block(bare, 3, 1).seconds)
    rounds = _ROUNDS if first < _LONG_SECONDS else _ROUNDS // 5
    block = clock.block(bare, rounds, 1)
    found = {"wall": statistics.median(block.seconds)}
    if device == "cuda":
        found["events"] = statistics.median(clock.block(bare, 1, 1).device_seconds for _ in range(rounds))
        found["profiler"] = _profiled(call, clock, rounds)
    return found


def _clock(device: str, *, flush: bool) -> Any:
    from gnnbench.measure.layouts import clock_for

    return clock_for((device,), time.perf_counter, flush=flush)


def _call(function: Callable[[], Any]) -> Any:
    from gnnbench.measure.clock import Call

    return Call(function, (), {})


def _profiled(call: Callable[[], Any], clock: Any, rounds: int) -> float:
    """Return the median time of a call's kernels, without those that empty the cache."""
    import torch

    def kernels(function: Callable[[], Any]) -> list[Any]:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            function()
            torch.cuda.synchronize()
        ran = (event for event in profile.events() if event.device_type.name == "CUDA")
        return sorted(ran, key=lambda event: event.time_range.start)

    own = {event.name for event in kernels(call)}
    block = kernels(lambda: clock.block(_call(call), rounds, 1))
    times = [event.time_range.elapsed_us() / 1e6 for event in block if event.name in own]
    each = max(1, len(times) // (rounds + 1))  # kernels of a call; events time one more round
    return statistics.median(sum(times[place : place + each]) for place in range(0, len(times), each))


def _launch(plan: Any) -> dict[str, Any]:
    """Time an empty launch in a fresh process, after the process was profiled, and after that again."""
    import torch

    x = torch.zeros(1, device=plan.device)
    clock = _clock(plan.device, flush=False)

    def launch() -> float:
        return statistics.median(clock.block(_call(x.zero_), 200, 1).seconds)

    launch()
    found = {"before": launch()}
    with torch.profiler.profile():
        x.zero_()
    found["after a profile"] = launch()
    time.sleep(2.0)
    return {**found, "two seconds later": launch()}


def table(found: Mapping[str, Any]) -> str:
    """Lay out medians in microseconds."""
    ways = ("wall", "events", "profiler", "do_bench")
    kernels = {name: one for unit in found.values() for name, one in unit.items()}
    launch = kernels.pop("launch", None)
    lines = []
    for name, by_cache in kernels.items():
        for cache, seconds in by_cache.items():
            cells = [f"{seconds[way] * 1e6:.1f}" if way in seconds else "" for way in ways]
            ratio = f"{seconds['events'] / seconds['do_bench']:.3f}" if "do_bench" in seconds else ""
            lines.append([name, cache, *cells, ratio])
    text = rows(f"kernel | L2 | {' µs | '.join(ways)} µs | events over do_bench", lines)
    if launch:
        launches = ", ".join(f"{when} {seconds * 1e6:.1f} µs" for when, seconds in launch.items())
        text += f"\n\nAn empty launch, with the wait for its end: {launches}."
    return text
