"""The default values of functions, found by the names of modules and classes.

A frame has its function's code, but not the function. The default values of functions that are defined inside
others are found with the values that the call may read: see `Values`.
"""

from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

from . import digest


class Defaults:
    """Finds default values; those of each function are looked up once."""

    def __init__(self) -> None:
        # By id of the code, which is kept so that its id stays taken.
        self._known: dict[int, tuple[CodeType, str]] = {}

    def text(self, code: CodeType, scope: Mapping[str, Any]) -> str:
        """Return the default values of the function of a module or a class that has a code.

        Args:
            code: the code.
            scope: the function's global names.
        """
        found = self._known.get(id(code))
        if found is None:
            texts = {_defaults(function) for function in _named(code, scope)}
            found = self._known[id(code)] = code, digest.combined(texts)
        return found[1]


def _named(code: CodeType, scope: Mapping[str, Any]) -> Iterator[FunctionType]:
    """Yield the function that has a code's qualified name, if it has that code; wrappers are looked into."""
    first, *rest = code.co_qualname.split(".")
    found: Any = scope.get(first)
    for name in rest:
        found = vars(found).get(name) if isinstance(found, type) else None
    candidates = [found.fget, found.fset, found.fdel] if isinstance(found, property) else [found]
    for one in candidates:
        inner = one
        while inner is not None:
            inner = getattr(inner, "__func__", inner)
            if isinstance(inner, FunctionType) and inner.__code__ is code:
                yield inner
            inner = getattr(inner, "__wrapped__", None)


def _defaults(function: FunctionType) -> str:
    given = [*(function.__defaults__ or ()), *sorted((function.__kwdefaults__ or {}).items())]
    return ", ".join(digest.plain(value) or type(value).__qualname__ for value in given)
