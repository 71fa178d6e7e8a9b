"""Hashes of the bytecode and of the default values of functions.

The hashes leave out line numbers, file names, docstrings, the names of functions and of local variables,
instructions that do nothing, and inline caches. They include the names of parameters, because callers may use
these names. A renamed function has the same hash, but another name in the fingerprint's list of functions.
"""

import __future__

import dis
import inspect
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from . import digest

_IDLE = {dis.opmap.get("CACHE", 0), dis.opmap["NOP"], dis.EXTENDED_ARG}
_CONSTANTS = frozenset(dis.hasconst)
_JUMPS = frozenset(dis.hasjrel)
COMPILED = re.compile(r"\b__(compiled_fn|resume_at)_\w+")
"""Names that torch.compile generates; they contain numbers that depend on the process."""
_IMPORT = dis.opmap["IMPORT_NAME"]
_IMPORTERS = {"import_module", "__import__", "modules"}
"""Names by which code imports modules that its strings name: `modules` is an attribute of `sys`."""
_FAST = "((?:LOAD|STORE)_FAST(?:_BORROW)?)"
_PAIRS = {
    number: (dis.opmap[pair[1]], dis.opmap[pair[2]])
    for name, number in dis.opmap.items()
    if (pair := re.fullmatch(f"{_FAST}_{_FAST}", name))
}
"""By the opcode of a superinstruction (since Python 3.13), the opcodes of the two instructions in it."""
_IDLE_FLAGS = 0x4000000 | __future__.annotations.compiler_flag
"""Flags that do not change what code does. The first marks functions with docstrings in Python 3.14."""


@cache
def code_hash(code: CodeType, *, of_import: bool = False) -> str:
    """Return the hash of code. With `of_import`, bodies of functions are left out, as none runs."""
    return digest.short(*_parts(code, of_import))


def _parts(code: CodeType, of_import: bool) -> Iterator[str]:
    """Yield a text for each part of a code object that is hashed."""
    yield from _signature(code)
    yield COMPILED.sub(r"__\1", " ".join(code.co_names))
    bytecode = dis.Bytecode(code)
    parts = [(item, *part) for item in bytecode if item.opcode not in _IDLE for part in _divide(item)]
    offsets = [item.offset for item, *_ in parts]
    for entry in bytecode.exception_entries:  # type: ignore[attr-defined]
        numbers = (bisect_left(offsets, place) for place in (entry.start, entry.end, entry.target))
        yield f"{' '.join(map(str, numbers))} {entry.depth << 1 | entry.lasti}"
    following = [*(item for item, *_ in parts[1:]), None]
    for (item, operation, argument), after in zip(parts, following, strict=True):
        if after and (after.opname, after.argval) == ("STORE_NAME", "__firstlineno__"):
            continue  # the line number of a class, since Python 3.13
        if operation in _CONSTANTS:
            text = _constant(code.co_consts[argument], of_import)
        elif operation in _JUMPS:
            text = str(bisect_left(offsets, item.argval))
        else:
            text = str(argument)
        yield f"{operation} {text}"


def _signature(code: CodeType) -> tuple[str, str]:
    """Return two texts: the numbers of parameters with the flags, and the names of the parameters."""
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    counts = f"{code.co_argcount} {code.co_posonlyargcount} {code.co_flags & ~_IDLE_FLAGS}"
    return counts, " ".join(parameters)


def _constant(value: object, of_import: bool) -> str:
    if isinstance(value, CodeType):
        is_function = value.co_flags & inspect.CO_OPTIMIZED  # not the body of a class
        if of_import and is_function:
            return f"{value.co_qualname} {_signature(value)}"
        return code_hash(value, of_import=of_import)
    if isinstance(value, tuple | frozenset):
        texts = [_constant(item, of_import) for item in value]
        return f"({', '.join(texts)})" if isinstance(value, tuple) else f"{{{', '.join(sorted(texts))}}}"
    return digest.plain(value) or repr(value)


def _divide(instruction: dis.Instruction) -> Sequence[tuple[int, int]]:
    """Return opcode and argument of an instruction, or of the two instructions in a superinstruction."""
    argument = instruction.arg or 0
    if instruction.opcode not in _PAIRS:
        return [(instruction.opcode, argument)]
    first, second = _PAIRS[instruction.opcode]
    return [(first, argument >> 4), (second, argument & 15)]  # each half byte is a variable's index


def nested(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object, and recursively the code objects in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested(constant)


@cache
def imports(code: CodeType, package: str) -> frozenset[str]:
    """Return full names of modules that a function may import. Some of the names may not be modules."""
    names: set[str] = set()
    for inner in nested(code):
        modules = set[str]()
        if not _IMPORTERS.isdisjoint(inner.co_names):
            modules |= {item.lstrip(".") for item in inner.co_consts if isinstance(item, str)}
        if _IMPORT in inner.co_code[::2]:
            modules |= {item.argval for item in dis.get_instructions(inner) if item.opcode == _IMPORT}
        if modules:
            names |= modules
            parent = package
            while parent:  # relative imports, and submodules
                names |= {f"{parent}.{name}" for name in {*modules, *inner.co_names}}
                parent = parent.rpartition(".")[0]
    return frozenset(names)


def defaults(code: CodeType, scope: Mapping[str, Any]) -> str:
    """Return a hash of a function's defaults. `Values` adds those of functions that have no global name."""
    return digest.combined({_defaults(function) for function in _functions_of(code, scope)})


def _functions_of(code: CodeType, scope: Mapping[str, Any]) -> Iterator[FunctionType]:
    """Look the code's qualified name up; yield functions with this code, also those that are wrapped."""
    first, *rest = code.co_qualname.split(".")
    item: Any = scope.get(first)
    for name in rest:
        item = vars(item).get(name) if isinstance(item, type) else None
    candidates = [item.fget, item.fset, item.fdel] if isinstance(item, property) else [item]
    for candidate in candidates:
        inner = candidate
        while inner is not None:
            inner = getattr(inner, "__func__", inner)
            if isinstance(inner, FunctionType) and inner.__code__ is code:
                yield inner
            inner = getattr(inner, "__wrapped__", None)


def _defaults(function: FunctionType) -> str:
    values = [*(function.__defaults__ or ()), *sorted((function.__kwdefaults__ or {}).items())]
    return ", ".join(digest.plain(value) or type(value).__qualname__ for value in values)
