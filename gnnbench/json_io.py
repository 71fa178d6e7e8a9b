"""Checked reading of JSON files and numbers, which may be cut off or written by other programs."""

import json
import reprlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from . import units
from .errors import UsageError
from .files import read_whole

DAMAGE = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)
"""What reading a file's content raises if the content departs from its format."""
_MEMORY_BYTES = 2**29
"""What reading a file may take: ten times as much as the run of a large suite needs."""
_COSTS = {b"[": 88, b"{": 184, b",": 40, b'"': 32}
"""Bytes of memory for each of these signs, of which a string has two."""
_LONGEST_REASON = 300
"""Characters."""
NAMES = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}
"""What stands for the numbers that JSON lacks: the texts that Python, and so a test id, has for them."""
KEY = "gnnbench"
"""Of gnnbench's part of a file of pytest-benchmark."""
_NESTED = (dict, list)
_DEEPEST = 64
"""Levels of lists and objects; a run file of pytest-benchmark has ten. Much more exhausts Python's stack."""


def read(path: Path, kind: str, max_bytes: int, remedy: str) -> tuple[Any, bytes]:
    """Return the content of a JSON file, and its raw bytes.

    NaN and Infinity, which JSON lacks and Python writes, become texts; see NAMES.

    Args:
        path: the file.
        kind: what the file should be, for messages: `run file`.
        max_bytes: a larger file is refused; far more than a real one has.
        remedy: what to do when the file is not JSON, for messages.

    Raises:
        UsageError: the file is missing, no regular file, too large or not complete JSON.
    """
    try:
        raw = read_whole(path, max_bytes)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    memory_bytes = _memory_bytes(raw)
    if memory_bytes > _MEMORY_BYTES:
        needed, most = units.size(memory_bytes), units.size(_MEMORY_BYTES)
        reason = f"too large: reading it would take {needed} of memory, and at most {most} are used"
        refuse(path, reason, "save fewer benchmarks in one file")
    try:
        content = json.loads(raw, parse_constant=NAMES.__getitem__)
    except (ValueError, RecursionError) as error:
        refuse(path, f"not JSON, or cut off: {error}", remedy)
    if _is_deeper(content, _DEEPEST):
        refuse(path, f"nested deeper than {_DEEPEST} levels, as no {kind} is", remedy)
    return content, raw


def as_text(content: Any) -> str:
    """Return what is written to a file."""
    return json.dumps(content, indent=1) + "\n"


def refuse(path: Path, reason: str, remedy: str) -> NoReturn:
    """Raise the error for a file that cannot be used.

    Raises:
        UsageError: always; one line with the file, the reason and the remedy.
    """
    raise UsageError(f"{path}: {clipped(reason)}; {remedy}")


@contextmanager
def refusing(path: Path, what: str, remedy: str) -> Iterator[None]:
    """Refuse a file whose content departs from its format, where the context reads it.

    Args:
        path: the file.
        what: what to say of it, before what is wrong: `damaged`.
        remedy: what to do.

    Raises:
        UsageError: one of DAMAGE was raised.
    """
    try:
        yield
    except DAMAGE as error:
        refuse(path, f"{what}: {damage(error)}", remedy)


def clipped(reason: str) -> str:
    """Return what is said of a file, which may quote it, with at most 300 characters."""
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[: _LONGEST_REASON - 3]}..."


def damage(error: Exception) -> str:
    """Return what one of DAMAGE says of a file, in words."""
    if isinstance(error, (TypeError, AttributeError)):
        return "a field has another form"  # their texts are about Python's types
    return f"no {error}" if isinstance(error, KeyError) else str(error)


def fields(value: Any) -> dict[str, Any]:
    """Return an object of JSON; empty: the value is none, as where users may write anything."""
    return value if isinstance(value, dict) else {}


def own_part(whole: Any) -> dict[str, Any]:
    """Return gnnbench's part of a benchmark's `extra_info`, or of a run file; empty: there is none.

    It has a whole number as `version`. Users may write anything in its place.
    """
    found = fields(fields(whole).get(KEY))
    return found if type(found.get("version")) is int else {}


def _memory_bytes(raw: bytes) -> int:
    """Return about how much memory JSON takes while it is parsed: at most, and without parsing it.

    If there is a character outside of ASCII, Python may store up to four bytes for each one. A list takes 88
    bytes, an object 184, a number and its place 40, and a string 64 beside its characters.
    """
    texts = len(raw) * (2 if raw.isascii() else 8)
    return texts + sum(cost * raw.count(sign) for sign, cost in _COSTS.items())


def _is_deeper(content: Any, levels: int) -> bool:
    """Tell whether lists and objects are nested deeper than `levels`."""
    nested = [content]
    for _ in range(levels):
        inside = (
            one.values() if isinstance(one, dict) else one for one in nested if isinstance(one, _NESTED)
        )
        nested = [one for values in inside for one in values if isinstance(one, _NESTED)]
        if not nested:
            return False
    return True


LARGEST = 1e18
"""Far above any plausible value: 30 years are 1e18 ns."""


def positive(value: Any) -> float:
    """Return a positive number, such as a time or a ratio, as a float.

    Raises:
        ValueError: it is not between 1e-18 and 1e18; the message is one short line.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # Compared, not converted: an integer in JSON may be larger than any float.
    if not is_number or not 1 / LARGEST < value < LARGEST:
        raise ValueError(f"{reprlib.repr(value)} is no time or ratio")
    return float(value)
