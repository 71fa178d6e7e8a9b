"""Instructions of a benchmark, in a line."""

from collections.abc import Mapping
from typing import Any

from .. import units
from ..measure.instructions.counting import Instructions, named


def counted(found: Instructions) -> str:
    """Return the number of instructions, and what makes calls differ: `1,234,567 instructions`."""
    text = f"{found.total:,} instructions"
    if found.is_steady:
        return text
    where = f" in {', '.join(map(named, found.varying))}" if found.varying else ""
    return f"{text}; calls differ by {units.fraction(found.spread)}{where}"


def outcome(saved: Mapping[str, Any]) -> str:
    """Return the result of a benchmark, as a run file has it."""
    if why := saved.get("left_out"):
        return f"not counted: {why}"
    change = saved["change"]
    return f"{saved['counted']['total']:>15,} instructions{'' if change is None else f' {change:+.2%}'}"
