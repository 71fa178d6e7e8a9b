"""The roofline bound of a kernel (Williams, Waterman and Patterson, CACM 2009).

Both rates, of a copy and of a matrix product, are measured once per environment.
"""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import torch

from ..engine.ground import codec, json_io
from ..engine.ground.cpu import RealTime
from ..engine.ground.devices import cuda_free_bytes
from ..engine.ground.errors import UsageError
from ..engine.ground.files import hold, write_whole
from ..engine.ground.labels import Limit, Rates, Work
from .case import Case
from .graphs.capacity import memory_free
from .least_work import Symbols
from .network import widths
from .operations import OPERATIONS
from .spec import AUTOCAST

FORMAT_VERSION = 1

_SECONDS = 0.5
"""Spent on each rate, so that a short burst of other programs does not last through all rounds."""
_ARRAY_BYTES = {"cpu": 2**30, "cuda": 2 * 2**30}
"""Of the array to copy: at least four times a cache (McCalpin's rule for STREAM); on a GPU the launch would
dominate the copy of a smaller one."""
_MEMORY_PART = 8
"""At most 1/8 of the free memory is used."""
_ROUNDS = 3
"""Fewest rounds of each copy and product."""
_FIRST_SIDE = 128
"""Side of the smallest matrix."""
_ABOVE = "the data stays in a cache, or the saved rates are too low: delete rates/ in gnnbench's cache"


def least(case: Case) -> Work | None:
    """Return the least work; None without a formula, or if autocast decides which values have two bytes."""
    if case.spec.dtype == AUTOCAST:
        return None
    operation = OPERATIONS.get(case.spec.operation)
    return operation.least_work(_symbols(case)) if operation and operation.least_work else None


def _symbols(case: Case) -> Symbols:
    graph = case.graph
    relations, ends = max(1, len(graph.relations)), graph.edge_index[1]
    if graph.edge_type is not None:
        ends = ends * relations + graph.edge_type
    return Symbols.of(
        case.spec,
        tuple(pairwise(widths(graph, case.spec.hidden))),
        multi_label=graph.y.is_floating_point(),
        N=graph.num_nodes,
        E=graph.num_edges,
        R=int(graph.edge_index[0].bincount().count_nonzero()),
        Q=relations,
        V=int(ends.bincount().count_nonzero()),
        T=int(graph.train_mask.sum()),
    )


def rates(device: str, dtype: str, environment_key: str, cache: Path) -> Rates:
    """Return an environment's saved rates, or measure and save them; a damaged file is replaced."""
    path = cache / "rates" / f"{environment_key}-{device}.json"
    with hold(path.with_suffix(".lock"), cache):  # two processes at once would each get half the rates
        saved = _read(path)
        if dtype not in saved:
            saved[dtype] = measure(device, dtype)
            content = {"version": FORMAT_VERSION, "rates": codec.encode(saved)}
            write_whole(path, codec.as_text(content))
    return saved[dtype]


def measure(device: str, dtype: str) -> Rates:
    """Measure both rates in about a second: of STREAM's copy (McCalpin, 1995), and of products.

    A copy's bytes are read and written. Matrices grow until the time is spent, so an emulated dtype takes no
    longer.
    """
    free = memory_free() if device == "cpu" else cuda_free_bytes()
    room = free // _MEMORY_PART
    kind = getattr(torch, dtype)
    return Rates(_copy_rate(device, kind, room), _matrix_rate(device, kind, room))


def _copy_rate(device: str, dtype: torch.dtype, room: int) -> float:
    source = torch.ones(min(_ARRAY_BYTES[device], room // 2) // dtype.itemsize, dtype=dtype, device=device)
    target = torch.empty_like(source)
    return 2 * source.nbytes / _fastest(lambda: target.copy_(source), device, _SECONDS)


def _matrix_rate(device: str, dtype: torch.dtype, room: int) -> float:
    # A separate generator leaves the process's random state alone.
    generator = torch.Generator(device).manual_seed(0)
    best, side, seconds, left = 0.0, _FIRST_SIDE, 0.0, _SECONDS
    # Twice the side takes eight times as long. The fastest round counts, because the first one also loads the
    # library's kernels, which on a GPU takes longer than all products.
    while 2 * dtype.itemsize * side**2 <= room and _ROUNDS * 8 * seconds <= left:
        factor = torch.rand(side, side, dtype=dtype, device=device, generator=generator)
        product = torch.empty_like(factor)
        seconds = _fastest(lambda: torch.mm(factor, factor, out=product), device)  # noqa: B023
        best = max(best, 2 * side**3 / seconds)
        side, left = 2 * side, left - _ROUNDS * seconds
    return best


def _fastest(run: Callable[[], object], device: str, at_least_seconds: float = 0.0) -> float:
    """Return the seconds of the fastest round, of at least _ROUNDS and `at_least_seconds`."""
    times: list[float] = []
    while len(times) < _ROUNDS or sum(times) < at_least_seconds:
        start = RealTime.seconds()
        run()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(RealTime.seconds() - start)
    return min(times)


def _read(path: Path) -> dict[str, Rates]:
    """Return the rates by dtype; none if the file is missing or damaged."""
    try:
        saved = json_io.read(path, "remove it")
        if saved["version"] != FORMAT_VERSION:
            return {}
        return codec.decode(saved["rates"], dict[str, Rates])
    except (UsageError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def limit(case: Case, seconds: float, rates: Callable[[str], Rates]) -> Limit | None:
    """Divide the roofline bound, max(bytes / copy rate, flops / flop rate), by a case's measured `seconds`.

    Returns None, and does not ask for the rates of the dtype, if the least work is unknown.
    """
    work = least(case)
    if work is None:
        return None
    measured = rates(case.spec.dtype)
    bound = max(work.bytes / measured.copy_bytes_per_second, work.flops / measured.flops_per_second)
    return Limit(work, measured, bound / seconds, _ABOVE if bound > seconds else "")
