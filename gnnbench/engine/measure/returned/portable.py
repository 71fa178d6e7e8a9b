"""Values as NumPy arrays and texts, which processes with different libraries can exchange.

A value has a place, which is its path in an output or input: `output['x'][0]`, `argument 1.weight`.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...ground.outputs import PLAIN
from ...ground.parts import strided_parts
from ..fingerprint import digest

TEXT = "text"
_NARROW = ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
"""Types of torch that NumPy lacks. They become float32, which represents all their values."""
_ADDRESS = re.compile(" at 0x[0-9a-f]+>")
"""Address at the end of the default `repr` of an object; it differs between processes."""


@dataclass(frozen=True)
class Portable:
    """A number, an array or a text."""

    kind: str
    """Type of the numbers, such as `bfloat16`, or TEXT if the content is the `repr` of another value."""
    content: NDArray[Any] | str

    def copy(self) -> Self:
        """Return a copy with its own content."""
        return self if isinstance(self.content, str) else replace(self, content=self.content.copy())

    @cached_property
    def signature(self) -> tuple[str, tuple[int, ...], str]:
        """Type, shape, and a hash of the content; equal values have equal signatures."""
        if isinstance(self.content, str):
            return self.kind, (), digest.short(self.content)
        raw = np.ascontiguousarray(self.content)
        content = digest.of_bytes(raw.view(np.uint8).data if raw.size else b"")
        return self.kind, self.content.shape, content


def to_portable(values: Mapping[str, Any], unsupported: dict[str, str]) -> dict[str, Portable]:
    """Return values in portable form, by place. `unsupported` gets the types of values that have none."""
    return {place: part for name, value in values.items() for place, part in _parts(name, value, unsupported)}


def _parts(place: str, value: Any, unsupported: dict[str, str]) -> Iterator[tuple[str, Portable]]:
    """Yield the place and the portable form of a value, or of the three parts of a sparse tensor."""
    torch = sys.modules.get("torch")
    value = tuple(value) if isinstance(value, list) else value
    if torch and isinstance(value, torch.Tensor):
        try:
            yield from _of_tensor(place, value)
        except (RuntimeError, TypeError):  # a quantized, nested or meta tensor
            unsupported[place] = f"torch.Tensor of {value.dtype} and layout {value.layout}"
    elif isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        kind = str(array.dtype)
        array = array.view(np.int64) if array.dtype.kind in "mM" else array  # dates, and differences of dates
        if array.dtype.kind in "biufc":
            yield place, Portable(kind, array)
        elif array.dtype.kind in "US" or all(isinstance(item, PLAIN) for item in array.flat):
            yield place, Portable(TEXT, repr(array.tolist()))
        else:
            unsupported[place] = f"numpy.ndarray of {kind}"
    elif isinstance(value, tuple) and (numbers := _numbers(value)) is not None:
        yield place, Portable(str(numbers.dtype), numbers)
    elif isinstance(value, bool | float | complex) or (type(value) is int and abs(value) < 2**63):
        array = np.asarray(value)
        yield place, Portable(array.dtype.name, array)
    else:
        text = repr(value) if isinstance(value, tuple) or type(value) is type else digest.plain(value)
        yield place, Portable(TEXT, _ADDRESS.sub(">", text or type(value).__qualname__))


def _numbers(values: tuple[Any, ...]) -> NDArray[Any] | None:
    """Return an array if all values are floats, complex numbers or integers. Returns None otherwise."""
    numbers = np.array(values)
    kinds = "f" if values and isinstance(values[0], float) else "biuc"  # large integers would become floats
    return numbers if numbers.dtype.kind in kinds else None


def _of_tensor(place: str, value: Any) -> Iterator[tuple[str, Portable]]:
    torch = sys.modules["torch"]
    value = value.detach()
    if value.layout != torch.strided:
        entries = value if value.layout == torch.sparse_coo else value.to_sparse_coo()
        indices, values = strided_parts(entries.coalesce())
        yield f"{place}.shape", Portable(TEXT, repr(tuple(value.shape)))
        yield f"{place}.indices", Portable("int64", indices.cpu().numpy())
        yield from _of_tensor(f"{place}.values", values)
        return
    kind = str(value.dtype).removeprefix("torch.")
    yield place, Portable(kind, array_of(value))


def array_of(value: Any) -> NDArray[Any]:
    """Return the content as a NumPy array, which may share memory. Raises RuntimeError or TypeError."""
    if isinstance(value, np.ndarray):
        return value
    torch = sys.modules["torch"]
    value = torch.Tensor.detach(value).resolve_conj().resolve_neg()
    if str(value.dtype).removeprefix("torch.") in _NARROW:
        value = value.to(torch.float32)
    value = value.cpu()
    is_plain = type(value) is torch.Tensor  # torch 2.4 cannot make it one in a TorchDispatchMode
    return np.asarray((value if is_plain else value.as_subclass(torch.Tensor)).numpy())
