"""The default values of functions, found by their code.

A frame has its function's code, but not the function. Functions of a module or a class are found by name.
Those defined inside others, such as decorators' wrappers, are found by a search among all objects.
"""

import gc
import sys
import weakref
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

from . import digest

_OLDEST = 2
"""The garbage collector's last generation."""


class Defaults:
    """Finds default values; each function is found once."""

    def __init__(self) -> None:
        # By id of the code, which is kept so that its id stays taken.
        self._known: dict[int, tuple[CodeType, str]] = {}
        self._inner: dict[int, list[weakref.ref[FunctionType]]] = {}
        """Functions with defaults that were defined inside others, by id of their code."""
        self._state: tuple[int, int] | None = None

    def text(self, code: CodeType, scope: Mapping[str, Any]) -> str:
        """Return the default values of the functions with a code.

        Args:
            code: the code.
            scope: the functions' global names.
        """
        found = self._known.get(id(code))
        if found is None:
            if code.co_argcount + code.co_kwonlyargcount == 0:
                functions: Iterator[FunctionType] = iter(())
            elif "<locals>" in code.co_qualname:
                functions = self._search(code)
            else:
                functions = _named(code, scope)
            texts = {_defaults(function) for function in functions}
            found = self._known[id(code)] = code, digest.combined(texts)
        return found[1]

    def _search(self, code: CodeType) -> Iterator[FunctionType]:
        # Until the next collection of the oldest generation, new objects are in the younger ones.
        state = gc.get_stats()[_OLDEST]["collections"], len(sys.modules)
        if state != self._state:
            self._inner.clear()
            self._add(gc.get_objects())
            self._state = state
        elif id(code) not in self._inner:
            for generation in range(_OLDEST):
                self._add(gc.get_objects(generation))
        for reference in self._inner.get(id(code), ()):
            function = reference()
            if function is not None and function.__code__ is code:
                yield function

    def _add(self, objects: list[Any]) -> None:
        for one in objects:
            if type(one) is FunctionType and (one.__defaults__ or one.__kwdefaults__):
                code = one.__code__
                if "<locals>" in code.co_qualname:
                    self._inner.setdefault(id(code), []).append(weakref.ref(one))


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
