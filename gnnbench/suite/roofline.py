"""The roofline bound of a kernel (Williams, Waterman and Patterson, CACM 2009).

The rates of a copy and of a matrix product are measured once per environment. The bytes are compulsory
traffic (Hill and Smith, IEEE Trans. Computers 1989): each input is read once and each output is written once.
Only products of dense matrices count as arithmetic: sums over neighbours take less time than their traffic.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from ..engine.ground import codec, json_io
from ..engine.ground.cpu import RealTime
from ..engine.ground.devices import cuda_free_bytes
from ..engine.ground.errors import UsageError
from ..engine.ground.files import hold, write_whole
from ..engine.ground.labels import Limit, Rates, Work
from ..engine.ground.parts import tensors
from .case import Case
from .memory import free_bytes

_SECONDS = 0.5
"""How long each rate is measured: longer than the short bursts of other programs."""
_ARRAY_BYTES = {"cpu": 2**30, "cuda": 2 * 2**30}
"""Size of the array to copy: at least four times a cache (McCalpin's rule for STREAM); on a GPU, the launch
would dominate the copy of a smaller array."""
_MEMORY_PART = 8
"""Rates are measured with at most 1/8 of the free memory."""
_ROUNDS = 3
"""Least number of rounds of each copy and product."""
_FIRST_SIDE = 128
"""Side of the smallest matrix."""
_ABOVE = "the data stays in a cache, or the saved rates are too low: delete rates/ in gnnbench's cache"


def least(case: Case, run: Callable[..., Any], inputs: Sequence[Any]) -> Work:
    """Call a function, and return the least work that it needs: bytes of memory traffic, and arithmetic.

    The bytes are those of inputs, output and gradients. Indices count at most as many bytes as a CSR matrix
    has, because libraries keep a graph in several forms.
    """
    with _Products() as products:  # type: ignore[no-untyped-call]
        output = run(*inputs)
    operands = list(tensors(tuple(inputs)))
    indices = [tensor for tensor in operands if not tensor.is_floating_point()]
    values = [tensor for tensor in operands if tensor.is_floating_point()]
    gradients = [tensor.grad for tensor in values if tensor.is_leaf and tensor.grad is not None]
    entries, nodes = case.graph.num_edges, case.graph.num_nodes
    matrix = case.index_dtype.itemsize * (min(nodes + 1, entries) + entries)
    traffic = (*values, *tensors(output), *tensors(gradients))
    return Work(min(_bytes(indices), matrix) + _bytes(traffic), products.flops)


def _bytes(traffic: Iterable[Tensor]) -> int:
    """Return the bytes of tensors; memory that several tensors share counts once."""
    storages = (tensor.untyped_storage() for tensor in traffic)
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


class _Products(TorchDispatchMode):
    """Counts the floating-point operations of products of dense matrices."""

    flops = 0

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        output = function(*args, **(kwargs or {}))
        count = flop_registry.get(function.overloadpacket)
        if count and all(value.layout == torch.strided for value in args if isinstance(value, Tensor)):
            self.flops += count(*args, **(kwargs or {}), out_val=output)
        return output


def rates(device: str, dtype: str, environment_key: str, cache: Path) -> Rates:
    """Return an environment's saved rates, or measure and save them; a damaged file is replaced."""
    path = cache / "rates" / f"{environment_key}-{device}.json"
    with hold(path.with_suffix(".lock"), cache):  # two processes at once would each measure half the rates
        cached = _read(path)
        if dtype not in cached:
            cached[dtype] = measure(device, dtype)
            write_whole(path, codec.as_text(cached))
    return cached[dtype]


def measure(device: str, dtype: str) -> Rates:
    """Measure two rates in about a second: of a copy as in STREAM (McCalpin, 1995), and of matrix products.

    Each copied byte counts twice, because it is read and written. Matrices grow until the time is spent, so a
    dtype that the CPU emulates takes no longer.
    """
    free = free_bytes() if device == "cpu" else cuda_free_bytes()
    room = free // _MEMORY_PART
    torch_dtype = getattr(torch, dtype)
    return Rates(_copy_rate(device, torch_dtype, room), _matrix_rate(device, torch_dtype, room))


def _copy_rate(device: str, dtype: torch.dtype, room: int) -> float:
    source = torch.ones(min(_ARRAY_BYTES[device], room // 2) // dtype.itemsize, dtype=dtype, device=device)
    target = torch.empty_like(source)
    return 2 * source.nbytes / _fastest(lambda: target.copy_(source), device, _SECONDS)


def _matrix_rate(device: str, dtype: torch.dtype, room: int) -> float:
    # A separate generator leaves the process's random state alone.
    generator = torch.Generator(device).manual_seed(0)
    best, side, seconds, remaining = 0.0, _FIRST_SIDE, 0.0, _SECONDS
    # Twice the side takes eight times as long. The fastest round counts, because the first one also loads the
    # library's kernels, which on a GPU takes longer than all products.
    while 2 * dtype.itemsize * side**2 <= room and _ROUNDS * 8 * seconds <= remaining:
        factor = torch.rand(side, side, dtype=dtype, device=device, generator=generator)
        product = torch.empty_like(factor)
        seconds = _fastest(lambda: torch.mm(factor, factor, out=product), device)  # noqa: B023
        best = max(best, 2 * side**3 / seconds)
        side, remaining = 2 * side, remaining - _ROUNDS * seconds
    return best


def _fastest(run: Callable[[], object], device: str, at_least_seconds: float = 0.0) -> float:
    """Run at least _ROUNDS rounds, for at least `at_least_seconds`; return the fastest one's seconds."""
    times: list[float] = []
    while len(times) < _ROUNDS or sum(times) < at_least_seconds:
        start = RealTime.seconds()
        run()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(RealTime.seconds() - start)
    return min(times)


def _read(path: Path) -> dict[str, Rates]:
    """Return the rates by dtype; empty if the file is missing or damaged."""
    try:
        return codec.decode(json_io.read(path, "remove it"), dict[str, Rates])
    except (UsageError, ValueError):
        return {}


def limit(work: Work, rates: Rates, seconds: float) -> Limit:
    """Return the roofline bound, max(bytes / copy rate, flops / flop rate), as a fraction of `seconds`."""
    bound = max(work.bytes / rates.copy_bytes_per_second, work.flops / rates.flops_per_second)
    return Limit(work, rates, bound / seconds, _ABOVE if bound > seconds else "")
