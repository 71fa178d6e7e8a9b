"""Clocks: twenty kernels timed by gnnbench, and by triton's do_bench and do_bench_cudagraph."""

import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from steps import rows

_ROUNDS = 50
_LONG_SECONDS = 5e-3
"""A kernel that takes longer is timed a fifth as often."""
_RUN_SECONDS = 1e-3
"""As many calls are timed in a row as take this many seconds, but at most `_MOST_CALLS`."""
_MOST_CALLS = 50
_LAUNCH = "launch"
_FEATURES = 128
_DEGREE = 16


def units(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Return five families of kernels, which take 5 µs to 50 ms on an H100, and the cost of a launch."""
    return {
        "add": 12.0,
        "mm": 18.0,
        "gather": 10.0,
        "scatter": 10.0,
        "spmm": 10.0,
        _LAUNCH: 15.0,
    }


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
    """Add 1 to `size` numbers."""
    import torch

    x = torch.rand(size, device=device)
    return partial(torch.add, x, 1, out=torch.empty_like(x))


def _mm(size: int, device: str) -> Callable[[], Any]:
    """Multiply two square matrices."""
    import torch

    x = torch.rand(size, size, device=device)
    return partial(torch.mm, x, x, out=torch.empty_like(x))


def _gather(nodes: int, device: str) -> Callable[[], Any]:
    """Gather a row for each edge of a random graph."""
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
    """Time the kernels with all tools; return seconds per call by name."""
    if unit == _LAUNCH:
        return _launch(plan)
    return {name: _all(call, plan.device) for name, call in _calls(unit, plan).items()}


def _all(call: Callable[[], Any], device: str) -> dict[str, Any]:
    """Return seconds a call, medians: one on a cold cache, and many in a row on a warm one.

    `wall` and `events` are the clock's; triton's functions are what they are held against.
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

    from triton.testing import do_bench, do_bench_cudagraph

    theirs = do_bench(call, warmup=25, rep=100, return_mode="median")
    found["cold"] = {"events": events(cold), "theirs": theirs / 1e3}
    one = events(warm)
    calls = max(1, min(_MOST_CALLS, int(_RUN_SECONDS / one)))
    theirs = do_bench_cudagraph(call, rep=10, return_mode="median")
    found["warm"] = {"one": one, "calls": calls, "events": events(warm, calls), "theirs": theirs / 1e3}
    return found


def _clock(device: str, *, flush: bool) -> Any:
    from gnnbench.engine.measure.layouts import clock_for

    return clock_for((device,), time.perf_counter, flush=flush)


def _call(function: Callable[[], Any]) -> Any:
    from gnnbench.engine.measure.clock import Call

    return Call(function, (), {})


def _launch(plan: Any) -> dict[str, float]:
    """Time an empty launch in a fresh process, and after the process was profiled."""
    import torch

    x = torch.zeros(1, device=plan.device)
    clock = _clock(plan.device, flush=False)

    def launch() -> float:
        return statistics.median(clock.block(_call(x.zero_), 500, 1).seconds)

    launch()
    found = {"before": launch()}
    for when in ("after a profile", "after another"):
        with torch.profiler.profile():
            x.zero_()
        found[when] = launch()
    return found


def table(found: Mapping[str, Any]) -> str:
    """Lay out medians in microseconds, and ratios."""
    kernels = {name: one for unit in found.keys() - {_LAUNCH} for name, one in found[unit].items()}
    lines = []
    for name, one in sorted(kernels.items(), key=lambda item: item[1]["wall"]):
        cells = [name, f"{one['wall'] * 1e6:.1f}"]
        for way in ("cold", "warm"):
            ours, theirs = (one[way][whose] * 1e6 if way in one else 0.0 for whose in ("events", "theirs"))
            cells += [f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.3f}"] if theirs else [""] * 3
        lines.append(cells)
    columns = [
        *("kernel", "wall µs", "cold cache: gnnbench µs", "do_bench µs", "ratio"),
        *("many in a row, warm: gnnbench µs", "CUDA graph µs", "ratio"),
    ]
    text = rows("|".join(columns), lines)
    if _LAUNCH in found:
        times = ", ".join(f"{when} {seconds * 1e6:.1f} µs" for when, seconds in found[_LAUNCH].items())
        text += f"\n\nAn empty launch, with the wait for its end: {times}."
    return text
