"""What a benchmark leaves behind, in a line."""

from collections.abc import Mapping
from typing import Any

from .. import units

_SHOWN = 4
_TENSORS = ("torch.Tensor", "torch.nn.parameter.Parameter")


def sentence(growth: Mapping[str, Any]) -> str:
    """Return what grows, in a line; an empty text if nothing does.

    Args:
        growth: as in a run file, see docs/formats.md.
    """
    calls, seen = growth["calls"], _seen(growth)
    parts = []
    if seen:
        parts.append(f"grows by {', '.join(seen)} in {calls} calls")
    elif growth["resident_bytes"]:
        size = units.size(growth["resident_bytes"])
        keepers = "native code, or numbers, texts or arrays, which are not counted"
        parts.append(f"grows by {size} of resident memory in {calls} calls, in {keepers}")
    if growth["slower"]:
        first, last = (units.seconds(growth["fastest_ns"][place] / 1e9) for place in (0, -1))
        parts.append(f"takes longer and longer: {first}, and after {calls} calls {last}")
    return "; ".join(parts)


def _seen(growth: Mapping[str, Any]) -> list[str]:
    objects, memory = growth["objects"], growth["tensor_bytes"]
    texts = []
    for one in objects[:_SHOWN]:
        text = f"{one['count']:,} {one['type'].rpartition('.')[2]}"
        if memory and one["type"] in _TENSORS:
            text, memory = f"{text} ({units.size(memory)})", 0
        texts.append(text)
    if memory:
        texts.insert(0, f"{units.size(memory)} of tensors")
    if more := len(objects) - _SHOWN:
        texts.extend([f"objects of {units.count(more, 'other type')}"] if more > 0 else [])
    return texts
