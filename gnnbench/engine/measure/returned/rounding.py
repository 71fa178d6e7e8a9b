"""Roundings of intermediate values: what torch's operators return is moved by units in the last place.

A call may cancel the digits that its inputs move, and not those that it rounds itself. This is Monte Carlo
arithmetic (Parker, Monte Carlo Arithmetic, 1997), by operator.
"""

import re
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ...ground.parts import tensors_of_any_layout
from .reachable import shares_memory

_EXACT = re.compile(
    r"(?!aten::)|aten::(_to_copy|abs|cat|clamp|clone|constant_pad|copy|detach|fill|flip|gather|index$"
    r"|index_put|index_select|masked_|max|min|amax|amin|neg|relu|repeat|roll|select|slice|sort|stack"
    r"|threshold|topk|where)"
)
"""Operators that round nothing. What they return may be compared with where it comes from."""


def rounding(units: int) -> AbstractContextManager[object]:
    """Return a context in which floating-point results of operators are moved up or down by so many units."""
    torch = sys.modules.get("torch")
    if torch is None:
        return nullcontext()
    from ..counters import OperatorMode

    def move(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> None:
        if _EXACT.match(name) or any(value in ("amax", "amin") for value in args if isinstance(value, str)):
            return  # amax and amin, as a reduction's argument, round nothing either
        inputs = _strided((*args, *kwargs.values()))
        for tensor in _strided(result):
            if name.endswith("_") or not shares_memory(tensor, inputs):  # no view
                _move(tensor, units)

    return OperatorMode(move)


def _move(tensor: Any, units: int) -> None:
    """Move numbers in place, unless all are whole: they may be indices or counts."""
    torch = sys.modules["torch"]
    if not tensor.is_complex() and bool((tensor == tensor.round()).all()):
        return
    generator = torch.Generator(tensor.device).manual_seed(tensor.numel())  # that of the call stays as it is
    upwards = torch.randint(2, tensor.shape, generator=generator, device=tensor.device)
    directions = (2 * upwards - 1).to(tensor.real.dtype)
    tensor.mul_(1 + directions * (units * torch.finfo(tensor.dtype).eps))


def _strided(value: Any) -> list[Any]:
    """Return the strided floating-point tensors in what an operator takes or returns."""
    strided = sys.modules["torch"].strided
    tensors = (one for one in tensors_of_any_layout(value) if one.layout == strided and not one.is_meta)
    return [one for one in tensors if one.is_floating_point() or one.is_complex()]
