"""Short hashes, and values as text that does not depend on the folder or the process."""

import hashlib
import marshal
import os
import re
import sys
import tempfile
from collections.abc import Iterable
from enum import Enum
from functools import cache
from pathlib import Path, PosixPath, PurePosixPath, PureWindowsPath, WindowsPath
from types import EllipsisType, NoneType
from typing import Any

LENGTH = 16
"""Hexadecimal digits of a hash: 64 bits."""

ATOMS = frozenset({bool, int, float, complex, str, bytes, NoneType, EllipsisType, range, slice})
"""Types of values without parts."""
_NAMED = (
    *("torch.dtype", "torch.device", "torch.layout", "torch.memory_format", "torch.Size"),
    *(
        "operator.itemgetter",
        "operator.attrgetter",
        "operator.methodcaller",
        "numpy.ufunc",
        "builtins.bytearray",
    ),
    *("numpy.dtype", "decimal.Decimal", "fractions.Fraction", "datetime.timedelta", "re.Pattern"),
)
"""Further types whose `repr` is the same in each process."""
_PATHS = (PurePosixPath, PureWindowsPath, PosixPath, WindowsPath)
_CONTAINERS = (tuple, list, set, frozenset, dict)
_SPELLED_OUT = 1000
"""Containers of more elements are serialised with `marshal` and hashed, which is 50 times faster. Paths in
them are not replaced."""


def short(*texts: str) -> str:
    """Return a hash of texts: LENGTH hexadecimal digits of BLAKE2b."""
    found = hashlib.blake2b(digest_size=LENGTH // 2)
    for text in texts:
        found.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return found.hexdigest()


def of_bytes(content: Any) -> str:
    """Return the same kind of hash of bytes, or of an object with the buffer protocol."""
    return hashlib.blake2b(content, digest_size=LENGTH // 2).hexdigest()


def combined(parts: Iterable[str]) -> str:
    """Return a hash of texts in any order."""
    return short(*sorted(parts))


def without_folders(text: str) -> str:
    """Replace import roots, and the temporary, the working and the home folder, at the start of paths."""
    if os.sep not in text:
        return text
    return _folders(tuple(sys.path), len(sys.modules), os.getcwd()).sub("<folder>", text)  # noqa: PTH109 - a string is enough


@cache
def _folders(roots: tuple[str, ...], _modules: int, here: str) -> re.Pattern[str]:
    home = os.path.expanduser("~")  # noqa: PTH111 - a string is enough
    # A variant's packages come from folders that are not in sys.path.
    packages = [
        getattr(module, "__path__", None) for name, module in list(sys.modules.items()) if "." not in name
    ]
    parents = {
        str(Path(folder).parent) for folders in packages for folder in folders or () if type(folder) is str
    }
    known = {*roots, *parents, here, tempfile.gettempdir(), sys.prefix, sys.base_prefix, home}
    known |= {os.path.realpath(folder) for folder in known if folder}
    longest_first = sorted((one for one in known if one.startswith(os.sep) and len(one) > 1), key=len)[::-1]
    return re.compile(rf"({'|'.join(map(re.escape, longest_first))})(?![\w.-])" if longest_first else r"(?!)")


def plain(value: Any) -> str | None:
    """Return a number, a text, or a container of such as text; None for anything else.

    The text is the same in each process, whatever its folder and its hash seed.
    """
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
    named = f"{kind.__module__}.{kind.__qualname__}" in _NAMED or kind.__module__ == "numpy.dtypes"
    is_number = kind.__module__ == "numpy" and not hasattr(value, "__len__") and hasattr(value, "item")
    return repr(value) if named or is_number else None


def _container(value: Any) -> str | None:
    if len(value) > _SPELLED_OUT and not isinstance(value, set | frozenset):
        try:
            return of_bytes(marshal.dumps(value, 2))
        except ValueError:  # it contains other objects
            return None
    items = [item for pair in value.items() for item in pair] if isinstance(value, dict) else list(value)
    texts = [plain(item) for item in items]
    found = [text for text in texts if text is not None]
    if len(found) < len(items):
        return None
    if isinstance(value, set | frozenset):
        found.sort()  # their order follows the hash seed
    return f"{type(value).__name__}({', '.join(found)})"
