"""Short hashes, and descriptions of values and tensors that do not depend on the process or the folder."""

import copyreg
import hashlib
import marshal
import os
import re
import sys
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from contextlib import suppress
from enum import Enum
from functools import cache
from pathlib import Path, PosixPath, PurePosixPath, PureWindowsPath
from types import EllipsisType, FunctionType, NoneType
from typing import Any

from ...ground.parts import strided_parts

LENGTH = 16
"""Number of hexadecimal digits of a hash: 64 bits."""

ATOMS = frozenset({bool, int, float, complex, str, bytes, NoneType, EllipsisType, range, slice})
"""Types of values without attributes of their own."""
_NAMED = (
    *("torch.dtype", "torch.device", "torch.layout", "torch.memory_format", "torch.Size"),
    *("numpy.ufunc", "numpy.dtype"),
)
"""Further types with a `repr` that is the same in each process."""
_LIBRARY = sys.stdlib_module_names - {"itertools"}  # pickling objects of itertools raises warnings
_PATHS = (PurePosixPath, PureWindowsPath, PosixPath)
_CONTAINERS = (tuple, list, set, frozenset, dict)
_MOST_NESTED = 6
"""Arguments of operators are described up to this depth."""
_SPELLED_OUT = 1000
"""Larger containers are hashed by `marshal`. It is 50 times as fast, but does not replace paths."""


def short(*texts: str) -> str:
    """Return a hash of texts: LENGTH hexadecimal digits of BLAKE2b."""
    hasher = hashlib.blake2b(digest_size=LENGTH // 2)
    for text in texts:
        hasher.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return hasher.hexdigest()


def of_bytes(content: Any) -> str:
    """Return a hash of bytes, or of another object with the buffer protocol."""
    return hashlib.blake2b(content, digest_size=LENGTH // 2).hexdigest()


def combined(parts: Iterable[str]) -> str:
    """Return a hash of texts that does not depend on their order."""
    return short(*sorted(parts))


def without_folders(text: str) -> str:
    """Replace folders in a text by `<folder>`: import roots, and the temporary, working and home folders."""
    if os.sep not in text:
        return text
    return _folders(tuple(sys.path), len(sys.modules), os.getcwd()).sub("<folder>", text)  # noqa: PTH109 - a string is enough


@cache
def _folders(roots: tuple[str, ...], _modules: int, current: str) -> re.Pattern[str]:
    """Return a pattern for the folders that `without_folders` replaces; the arguments are the cache's key."""
    home = os.path.expanduser("~")  # noqa: PTH111 - a string is enough
    # Packages of a variant are imported from folders that are not in sys.path.
    modules = [module for name, module in list(sys.modules.items()) if "." not in name]
    folders = [folder for module in modules for folder in getattr(module, "__path__", None) or ()]
    parents = {str(Path(folder).parent) for folder in folders if type(folder) is str}
    paths = {*roots, *parents, current, tempfile.gettempdir(), sys.prefix, sys.base_prefix, home}
    paths |= {os.path.realpath(folder) for folder in paths if folder}
    ordered = sorted((path for path in paths if path.startswith(os.sep) and len(path) > 1), key=len)[::-1]
    return re.compile(rf"({'|'.join(map(re.escape, ordered))})(?![\w.-])" if ordered else r"(?!)")


def plain(value: Any) -> str | None:
    """Describe a number, a string, or a container of these. Returns None for other values."""
    kind = type(value)
    if kind is str or kind in _PATHS:
        return without_folders(repr(str(value)))
    if kind in ATOMS:
        return repr(value)
    if kind in _CONTAINERS:
        return _container(value)
    if isinstance(value, Enum):
        return f"{kind.__qualname__}.{value.name} {plain(value.value)}"
    for base in (int, float, str, bytes):
        if isinstance(value, base) and kind.__module__ != "numpy":
            return f"{kind.__qualname__} {base.__repr__(value)}"
    is_stable = f"{kind.__module__}.{kind.__qualname__}" in _NAMED or kind.__module__ == "numpy.dtypes"
    is_number = kind.__module__ == "numpy" and not hasattr(value, "__len__") and hasattr(value, "item")
    return repr(value) if is_stable or is_number else _in_c(value)


def _in_c(value: Any) -> str | None:
    """Describe an object of a type that is written in C, by its buffer or its pickled parts."""
    name = type(value).__qualname__
    with suppress(TypeError, ValueError), memoryview(value) as content:
        if "O" not in content.format:  # otherwise it consists of addresses
            return f"{name} {content.format} {content.shape} {of_bytes(content.tobytes())}"
    parts = pickled_parts(value)
    text = parts and _container(parts)
    return f"{name} {text}" if text else None


def pickled_parts(value: Any) -> tuple[Any, ...]:
    """Return what pickle would save of an object whose type is written in C, in the standard library."""
    kind = type(value)
    if hasattr(value, "__dict__") or str(kind.__module__).partition(".")[0] not in _LIBRARY:
        return ()
    if not any(isinstance(item, FunctionType) for item in vars(kind).values()):
        with suppress(Exception):  # many objects cannot be pickled
            reduce: Any = copyreg.dispatch_table.get(kind)
            parts = reduce(value) if reduce else value.__reduce_ex__(2)
            if isinstance(parts, tuple):
                return tuple(list(part) if isinstance(part, Iterator) else part for part in parts[1:])
    return ()


def _container(value: Any) -> str | None:
    """Describe a container. Returns None if an element cannot be described."""
    if len(value) > _SPELLED_OUT and not isinstance(value, set | frozenset):
        try:
            return of_bytes(marshal.dumps(value, 2))
        except ValueError:  # marshal does not support an element
            return None
    items = [item for pair in value.items() for item in pair] if isinstance(value, dict) else list(value)
    results = [plain(item) for item in items]
    texts = [text for text in results if text is not None]
    if len(texts) < len(items):
        return None
    if isinstance(value, set | frozenset):
        texts.sort()  # the order of a set depends on the hash seed
    return f"{type(value).__name__}({', '.join(texts)})"


class Contents:
    """Describes values, without the floating-point numbers in tensors. Remembers tensors that a call made."""

    most_bytes = 1 << 29
    """Larger tensors and arrays are not hashed."""

    def __init__(self, inputs: Iterable[Any] = ()) -> None:
        self.too_large = False
        """Whether a tensor or an array had more than `most_bytes`."""
        torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
        self.tensors: tuple[type[Any], ...] = (torch.Tensor,) if torch else ()
        self._array: tuple[type[Any], ...] = (numpy.ndarray,) if numpy else ()
        self._known: dict[tuple[Any, ...], str] = {}
        """Hashes of inputs by address, shape, strides and version."""
        self._made: dict[int, weakref.ref[Any]] = {}
        self._inputs = list(inputs)  # references keep their addresses from being reused
        self._addresses = {tensor.untyped_storage().data_ptr() for tensor in self._inputs}

    def begin(self) -> None:
        """Forget the tensors that the last call made."""
        self._made.clear()

    def is_leaf(self, value: Any) -> bool:
        """Return whether a value is a number, string, tensor or array. Attributes of these are not hashed."""
        if isinstance(value, self._array):
            return not value.dtype.hasobject
        return type(value) in ATOMS or isinstance(value, self.tensors)

    def plain(self, value: Any) -> str | None:
        """Describe a tensor, array or plain value (see `digest.plain`). Returns None for other values."""
        if type(value) in ATOMS:
            return of_bytes(value) if type(value) is bytes and len(value) > _SPELLED_OUT else plain(value)
        if isinstance(value, self.tensors):
            return self._of_tensor(value)
        if isinstance(value, self._array) and not value.dtype.hasobject:
            self.too_large |= value.dtype.kind not in "fc" and value.nbytes > self.most_bytes
            content = "" if value.dtype.kind in "fc" or self.too_large else of_bytes(value.tobytes())
            return f"array {value.dtype} {value.shape} {value.strides} {content}"
        return plain(value)

    def text(self, value: Any, depth: int = 0) -> str:
        """Describe the arguments of an operator, or one of them."""
        if isinstance(value, self.tensors):
            return self._of_tensor(value)
        if depth < _MOST_NESTED:
            if type(value) in (list, tuple):
                return f"({', '.join([self.text(item, depth + 1) for item in value])})"
            if isinstance(value, dict):
                items = [f"{key}: {self.text(item, depth + 1)}" for key, item in value.items()]
                return f"{{{', '.join(items)}}}"
        return self.plain(value) or type(value).__qualname__

    def _of_tensor(self, value: Any) -> str:
        torch = sys.modules["torch"]
        # The shape of a nested tensor is a tensor, or has numbers that depend on the process.
        shape = "nested" if value.is_nested else tuple(value.shape)
        kind = f"{value.dtype} {shape} {value.device} {value.requires_grad}"
        if value.layout != torch.strided or value.is_nested:
            return f"{kind} {value.layout} {', '.join(map(self._of_tensor, strided_parts(value)))}"
        integers = not (value.dtype.is_floating_point or value.dtype.is_complex)
        return f"{kind} {value.stride()} {value.storage_offset()} {self._content(value) if integers else ''}"

    def _content(self, value: Any) -> str:
        """Return a hash of a tensor's content; empty if the tensor has no storage, or if the call made it."""
        if value.is_meta:
            return ""
        try:
            address = value.untyped_storage().data_ptr()
            version = 0 if value.is_inference() else value._version  # noqa: SLF001 - as autograd checks tensors
            key = value.data_ptr(), value.shape, value.stride(), version
        except RuntimeError:  # a tensor during compilation has no storage
            return ""
        reference = self._made.get(id(value))
        if reference is not None and reference() is value:
            return ""
        if key in self._known:
            return self._known[key]
        self.too_large |= value.nbytes > self.most_bytes
        if self.too_large:
            return ""
        raw = value.detach().cpu().contiguous().numpy()
        content = of_bytes(raw.data if raw.size else b"")
        if address in self._addresses:  # other addresses may be reused
            self._known[key] = content
        return content

    def add_made(self, result: Any) -> None:
        """Remember the tensors in the result of an operator."""
        if isinstance(result, self.tensors):
            self._made[id(result)] = weakref.ref(result)
        elif isinstance(result, list | tuple):
            for item in result:
                self.add_made(item)
