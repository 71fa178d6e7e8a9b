"""Verdicts on peak memory as text."""

from collections.abc import Iterable

from .. import units
from ..compare.comparison import Compared
from ..compare.memory import ACCEPTED, MemoryChange, MemoryVerdict

_CHANGED: tuple[MemoryVerdict, ...] = ("more memory", "less memory")


def sentence(found: MemoryChange) -> str:
    """Write a verdict and both peaks: `more memory: 8 MiB beside the inputs, 4 MiB in the base (2.00x)`."""
    both = found.base_bytes and found.head_bytes
    ratio = f" ({units.ratio(found.head_bytes / found.base_bytes, 'less')})" if both else ""
    here, there = units.size(found.head_bytes), units.size(found.base_bytes)
    excused = f", {excuse(found)}" if found.excused else ""
    return f"{found.verdict}: {here} beside the inputs, {there} in the base{ratio}{excused}"


def excuse(found: MemoryChange) -> str:
    """Write why more memory does not fail: `ignored: known (rule 1 of a.toml)`, `accepted: a reason`."""
    text = found.excused or ""
    return text if text.startswith(ACCEPTED) else f"ignored: {text}"


def notes(found: MemoryChange | None) -> tuple[str, ...]:
    """Return the note of verdict tables, if the memory changed."""
    return (sentence(found),) if found and found.changed else ()


def counted(rows: Iterable[Compared]) -> str:
    """Count what changed: `2 more memory, 1 less memory`; empty: nothing did."""
    words = [row.memory.verdict for row in rows if row.memory and row.memory.changed]
    return ", ".join(f"{words.count(word)} {word}" for word in _CHANGED if word in words)
