"""Clocks: twenty kernels timed by gnnbench, by triton's do_bench and as a CUDA graph."""

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
_RUN_SECONDS = 1e-3
"""So many calls make a run in a row, and a CUDA graph, that it takes as long; at most `_MOST_CALLS`."""
_MOST_CALLS = 50
_FEATURES = 128
_DEGREE = 16


def units(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Return five families of kernels, from 5 µs to 50 ms on an H100 or so, and what a launch costs."""
    return {"add": 15.0, "mm": 20.0, "gather": 15.0, "scatter": 15.0, "spmm": 15.0, "launch": 15.0}


def _calls(unit: str, plan: Any) -> dict[str, Callable[[], Any]]:
    """Return the kernels of a family by name, with their sizes."""
    if unit == "add":
        sizes = [2**power for power in (12, 20, 24, 26, 28, 29)]
    elif unit == "mm":
        sizes = [512, 2048, 4096, 8192, 10752]
    else:
        sizes = [2**power for power in (12, 16, 20)]
    make = {"add": _add, "mm": _mm, "gather": _gather, "scatter": _scatter, "spmm": _spmm}[unit]
    return {f"{unit} {size:,}": make(size, plan.device) for size in ([64] if plan.small else sizes)}


def _add(size: int, device: str) -> Callable[[], Any]:
    """Add 1 to so many numbers."""
    import torch

    x = torch.rand(size, device=device)
    return partial(torch.add, x, 1, out=torch.empty_like(x))


def _mm(size: int, device: str) -> Callable[[], Any]:
    """Multiply two matrices of so many rows and columns."""
    import torch

    x = torch.rand(size, size, device=device)
    return partial(torch.mm, x, x, out=torch.empty_like(x))


def _gather(nodes: int, device: str) -> Callable[[], Any]:
    """Take a row for each edge of a random graph of so many nodes."""
    import torch

    x = torch.rand(nodes, _FEATURES, device=device)
    source = torch.randint(nodes, (_DEGREE * nodes,), device=device)
    return partial(torch.index_select, x, 0, source, out=x.new_empty(_DEGREE * nodes, _FEATURES))


def _scatter(nodes: int, device: str) -> Callable[[], Any]:
    """Add up the rows of edges at their targets."""
    import torch

    messages = torch.rand(_DEGREE * nodes, _FEATURES, device=device)
    target = torch.randint(nodes, (_DEGREE * nodes,), device=device)
    return partial(messages.new_zeros(nodes, _FEATURES).index_add_, 0, target, messages)


def _spmm(nodes: int, device: str) -> Callable[[], Any]:
    """Multiply a sparse adjacency matrix by features."""
    import torch

    pointer = torch.arange(0, _DEGREE * nodes + 1, _DEGREE, device=device)
    column = torch.randint(nodes, (nodes, _DEGREE), device=device).sort().values.flatten()
    values = torch.ones(_DEGREE * nodes, device=device)
    adjacency = torch.sparse_csr_tensor(pointer, column, values, (nodes, nodes), check_invariants=False)
    return partial(torch.mm, adjacency, torch.rand(nodes, _FEATURES, device=device))


def run(unit: str, plan: Any) -> dict[str, Any]:
    """Time kernels in every way: seconds a call, by name."""
    if unit == "launch":
        return {unit: _launch(plan)}
    return {name: _all(call, plan.device) for name, call in _calls(unit, plan).items()}


def _all(call: Callable[[], Any], device: str) -> dict[str, Any]:
    """Return seconds a call: the median of rounds, on a cold cache, on a warm one, and many in a row.

    `wall` and `events` are the clock's; do_bench and the graph are what they are held against.
    """
    cold, warm = (_clock(device, flush=flush) for flush in (True, False))
    bare = _call(call)
    first = min(warm.block(bare, 3, 1).seconds)
    rounds = _ROUNDS if first < _LONG_SECONDS else _ROUNDS // 5
    found: dict[str, Any] = {"wall": statistics.median(cold.block(bare, rounds, 1).seconds)}
    if device != "cuda":
        return found

    def events(clock: Any, calls: int = 1) -> float:
        return statistics.median(clock.block(bare, 1, calls).device_seconds for _ in range(rounds)) / calls

    found["cold"] = {"events": events(cold), "do_bench": _do_bench(call, flush=True)}
    found["warm"] = {"events": events(warm), "do_bench": _do_bench(call, flush=False)}
    calls = max(1, min(_MOST_CALLS, int(_RUN_SECONDS / found["warm"]["events"])))
    found["in a row"] = {"calls": calls, "events": events(warm, calls), "graph": _graph(call, calls, rounds)}
    return found


def _do_bench(call: Callable[[], Any], *, flush: bool) -> float:
    """Return triton's median, in seconds; without a flush, it leaves the cache as the call did."""
    from triton.runtime import driver
    from triton.testing import do_bench

    keep = nullcontext() if flush else patch.object(driver.active, "clear_cache", lambda _: None)
    with keep:
        median: float = do_bench(call, warmup=25, rep=100, return_mode="median")
    return median / 1e3


def _graph(call: Callable[[], Any], calls: int, rounds: int) -> float | str:
    """Return the median time of a call in a CUDA graph of so many, in seconds; why there is none."""
    import torch

    def in_a_row() -> None:
        for _ in range(calls):
            call()

    try:
        replay = captured(in_a_row)
    except RuntimeError as error:
        return f"{error}".splitlines()[0][:120]
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = []
    for _ in range(rounds):
        start.record()
        replay()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3 / calls)
    return statistics.median(times)


def captured(call: Callable[[], Any]) -> Callable[[], Any]:
    """Capture a call whose inputs stay where they are; the replay writes to the same output, and returns it.

    As torch.cuda.graphs describes it: warmed up on another stream first, so that nothing is made anew within.
    """
    import torch

    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = call()

    def replay() -> Any:
        graph.replay()
        return output

    return replay


def _clock(device: str, *, flush: bool) -> Any:
    from gnnbench.measure.layouts import clock_for

    return clock_for((device,), time.perf_counter, flush=flush)


def _call(function: Callable[[], Any]) -> Any:
    from gnnbench.measure.clock import Call

    return Call(function, (), {})


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
    """Lay out medians in microseconds, and ratios."""
    kernels = {name: one for unit in found.values() for name, one in unit.items()}
    launch = kernels.pop("launch", None)
    lines = []
    for name, one in kernels.items():
        cells = [name, f"{one['wall'] * 1e6:.1f}"]
        for way, other in (("cold", "do_bench"), ("warm", "do_bench"), ("in a row", "graph")):
            times = one.get(way, {})
            theirs = times.get(other)
            if isinstance(theirs, float):
                ratio = times["events"] / theirs
                cells += [f"{times['events'] * 1e6:.2f}", f"{theirs * 1e6:.2f}", f"{ratio:.3f}"]
            else:
                cells += ["", theirs or "", ""]
        lines.append(cells)
    ways = [
        *("cold: gnnbench µs", "do_bench µs", "ratio", "warm: gnnbench µs", "do_bench µs", "ratio"),
        *("in a row: gnnbench µs", "CUDA graph µs", "ratio"),
    ]
    text = rows(" | ".join(["kernel", "wall µs", *ways]), lines)
    if launch:
        launches = ", ".join(f"{when} {seconds * 1e6:.1f} µs" for when, seconds in launch.items())
        text += f"\n\nAn empty launch, with the wait for its end: {launches}."
    return text
