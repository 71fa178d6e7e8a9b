"""Hashes of functions: of the bytecode, ignoring what does not change what runs, and of default values.

Left out are line numbers, file names, docstrings, the names of functions and of local variables, instructions
that do nothing, and inline caches. Kept are the names of parameters, which callers may use. (A fingerprint
lists functions by name, so a renamed one differs all the same.)
"""

import dis
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import pairwise
from types import CodeType, FunctionType
from typing import Any

from . import digest

_IDLE = {dis.opmap.get("CACHE", 0), dis.opmap["NOP"], dis.EXTENDED_ARG}
_CACHE = dis.opmap.get("CACHE", 0)
_CONSTANTS = frozenset(dis.hasconst)
_JUMPS = frozenset(dis.hasjrel)
_BACKWARD = frozenset(number for name, number in dis.opmap.items() if "BACKWARD" in name)
_COMPILED = re.compile(r"\b__(compiled_fn|resume_at)_\w+")
"""Names that torch.compile gives to compiled code; they have numbers that depend on the process."""
_IMPORT = dis.opmap["IMPORT_NAME"]
_STORE = dis.opmap["STORE_NAME"]
_END = (0, 0, 0, 0)
_FAST = "((?:LOAD|STORE)_FAST(?:_BORROW)?)"
_PAIRS = {
    number: (dis.opmap[pair[1]], dis.opmap[pair[2]])
    for name, number in dis.opmap.items()
    if (pair := re.fullmatch(f"{_FAST}_{_FAST}", name))
}
"""Instructions that stand for two in one line since Python 3.13; each half byte is a local variable."""
_HAS_DOCSTRING = 0x4000000
"""The flag with which Python 3.14 marks a function that has a docstring."""


class Bytecodes:
    """Hashes of code objects; each is computed once."""

    def __init__(self) -> None:
        # By id: hashing a code object takes as long as a call. The object is kept, so its id stays taken.
        self._known: dict[int, tuple[CodeType, str]] = {}

    def digest(self, code: CodeType) -> str:
        """Return the hash of a code object and of those defined in it."""
        found = self._known.get(id(code))
        if found is None:
            found = self._known[id(code)] = code, digest.short(*self._parts(code))
        return found[1]

    def _parts(self, code: CodeType) -> Iterator[str]:
        parameters = code.co_argcount + code.co_kwonlyargcount
        yield f"{code.co_argcount} {code.co_posonlyargcount} {code.co_flags & ~_HAS_DOCSTRING}"
        yield " ".join(code.co_varnames[:parameters])
        yield _COMPILED.sub(r"__\1", " ".join(code.co_names))
        units = list(_instructions(code.co_code))
        kept = [unit for unit, _, _, _ in units]
        for start, length, target, depth in _handlers(code.co_exceptiontable):
            places = (bisect_left(kept, unit) for unit in (start, start + length, target))
            yield f"{' '.join(map(str, places))} {depth}"
        for (unit, operation, argument, caches), (_, after, name, _) in pairwise((*units, _END)):
            if after == _STORE and code.co_names[name] == "__firstlineno__":
                continue  # the line of a class, since Python 3.13
            if operation in _CONSTANTS:
                text = self.constant(code.co_consts[argument])
            elif operation in _JUMPS:
                text = str(bisect_left(kept, _target(unit, operation, argument, caches)))
            else:
                text = str(argument)
            yield f"{operation} {text}"

    def constant(self, value: object) -> str:
        """Return a constant of the bytecode as text."""
        if isinstance(value, CodeType):
            return self.digest(value)
        if isinstance(value, tuple):
            return f"({', '.join(map(self.constant, value))})"
        if isinstance(value, frozenset):
            return f"{{{', '.join(sorted(map(self.constant, value)))}}}"
        return digest.plain(value) or repr(value)


def _instructions(code: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield position, operation, argument and number of inline caches of each instruction.

    Positions count units of two bytes. This does the same as `dis.get_instructions`, which takes 100 times as
    long, leaves out what does nothing, and divides what Python joins within a line.
    """
    extended, count = 0, len(code) // 2
    for unit in range(count):
        operation, argument = code[2 * unit], code[2 * unit + 1] | extended
        extended = argument << 8 if operation == dis.EXTENDED_ARG else 0
        if operation not in _IDLE:
            caches = 0
            while unit + 1 + caches < count and code[2 * (unit + 1 + caches)] == _CACHE:
                caches += 1
            if operation in _PAIRS:
                first, operation = _PAIRS[operation]
                yield unit, first, argument >> 4, 0
                argument &= 15
            yield unit, operation, argument, caches


def _handlers(table: bytes) -> Iterator[tuple[int, ...]]:
    """Yield start, length and handler of each range of an exception table, in units, and the stack's depth.

    Each is a number of bytes with six bits each, the highest first; all but the last byte have bit 6
    (CPython, Objects/exception_handling_notes.txt).
    """
    numbers, number = list[int](), 0
    for byte in table:
        number = number << 6 | byte & 63
        if not byte & 64:
            numbers.append(number)
            number = 0
    return zip(*[iter(numbers)] * 4, strict=True)


def _target(unit: int, operation: int, argument: int, caches: int) -> int:
    return unit + 1 + caches + (-argument if operation in _BACKWARD else argument)


def nested(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested(constant)


def imports(code: CodeType, package: str) -> Iterator[str]:
    """Yield full names of the modules that a function may import, and of attributes of packages."""
    if _IMPORT not in code.co_code[::2]:
        return
    names = {
        code.co_names[argument] for _, found, argument, _ in _instructions(code.co_code) if found == _IMPORT
    }
    yield from names
    while package:  # relative imports, and submodules
        yield from (f"{package}.{name}" for name in {*names, *code.co_names})
        package = package.rpartition(".")[0]


# By id of the code, which is kept so that its id stays taken.
_known_defaults: dict[int, tuple[CodeType, str]] = {}


def defaults(code: CodeType, scope: Mapping[str, Any]) -> str:
    """Return a hash of the default values of the function of a module or a class that has a code.

    A frame has its function's code, but not the function, which is looked up by name, once. The default
    values of functions that are defined inside others are found with the values that the call may read: see
    `Values`.
    """
    found = _known_defaults.get(id(code))
    if found is None:
        texts = {_defaults(function) for function in _named(code, scope)}
        found = _known_defaults[id(code)] = code, digest.combined(texts)
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
