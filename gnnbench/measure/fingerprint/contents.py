"""Tensors and arrays as text: type, shape and strides; of integers also the content."""

import sys
import weakref
from collections.abc import Iterable
from typing import Any

from . import digest

_TOO_DEEP = 6


class Contents:
    """Describes what a call works on, and remembers what it made itself.

    The content of floating-point tensors is left out: it hardly ever decides which code runs or how long.

    Args:
        inputs: tensors that are kept as long as this object; each is hashed once.
    """

    def __init__(self, inputs: Iterable[Any] = ()) -> None:
        torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
        self.tensors: tuple[type[Any], ...] = (torch.Tensor,) if torch else ()
        self._array: tuple[type[Any], ...] = (numpy.ndarray,) if numpy else ()
        self._known: dict[tuple[Any, ...], str] = {}
        """Hash of a content by address, shape, strides and version."""
        self._made: dict[int, weakref.ref[Any]] = {}
        self._inputs = list(inputs)  # keeps them, so that their addresses stay taken
        self._addresses = {tensor.untyped_storage().data_ptr() for tensor in self._inputs}

    def begin(self) -> None:
        """Forget what the last call made."""
        self._made.clear()

    def is_leaf(self, value: Any) -> bool:
        """Tell whether a value has no attributes to look at: a number, a text, a tensor, an array."""
        return type(value) in digest.ATOMS or isinstance(value, (*self.tensors, *self._array))

    def plain(self, value: Any) -> str | None:
        """Return a tensor, an array or a plain value as text; None for anything else."""
        if type(value) in digest.ATOMS:
            return digest.plain(value)
        if isinstance(value, self.tensors):
            return self._of_tensor(value)
        return self._array_text(value) or digest.plain(value)

    def _array_text(self, value: Any) -> str | None:
        if not isinstance(value, self._array):
            return None
        content = "" if value.dtype.kind in "fcO" else digest.of_bytes(value.tobytes())
        return f"array {value.dtype} {value.shape} {value.strides} {content}"

    def text(self, value: Any, depth: int = 0) -> str:
        """Return an operator's arguments as text."""
        if isinstance(value, self.tensors):
            return self._of_tensor(value)
        if depth < _TOO_DEEP:
            if type(value) in (list, tuple):
                return f"({', '.join([self.text(item, depth + 1) for item in value])})"
            if isinstance(value, dict):
                items = [f"{key}: {self.text(item, depth + 1)}" for key, item in value.items()]
                return f"{{{', '.join(items)}}}"
        return self.plain(value) or type(value).__qualname__

    def _of_tensor(self, value: Any) -> str:
        torch = sys.modules["torch"]
        kind = f"{value.dtype} {tuple(value.shape)} {value.device} {value.requires_grad}"
        if value.layout != torch.strided or value.is_nested:
            from ..copies import sparse_parts

            return f"{kind} {value.layout} {', '.join(map(self._of_tensor, sparse_parts(value)))}"
        integers = not (value.dtype.is_floating_point or value.dtype.is_complex)
        return f"{kind} {value.stride()} {value.storage_offset()} {self._content(value) if integers else ''}"

    def _content(self, value: Any) -> str:
        """Return a hash of a tensor's content; empty if the call made the tensor from others."""
        try:
            address = value.untyped_storage().data_ptr()
            version = 0 if value.is_inference() else value._version  # noqa: SLF001 - as autograd checks tensors
            key = value.data_ptr(), value.shape, value.stride(), version
        except RuntimeError:  # no storage, as in compilation
            return ""
        made = self._made.get(id(value))
        if made is not None and made() is value:
            return ""
        if key in self._known:
            return self._known[key]
        raw = value.detach().cpu().contiguous().numpy()
        content = digest.of_bytes(raw.data if raw.size else b"")
        if address in self._addresses:  # another address may be reused
            self._known[key] = content
        return content

    def made(self, result: Any) -> None:
        """Note the result of an operator."""
        if isinstance(result, self.tensors):
            self._made[id(result)] = weakref.ref(result)
        elif isinstance(result, list | tuple):
            for item in result:
                self.made(item)
