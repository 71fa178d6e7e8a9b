"""Instructions of a benchmark, in a line."""

from collections.abc import Mapping
from typing import Any

from .. import units
from ..compare.instructions import InstructionChange
from ..measure.counter_changes import CounterChange
from ..measure.fingerprint.difference import short_names
from ..measure.instructions.counting import Instructions


def counted(found: Instructions) -> str:
    """Return the number of instructions, and what makes calls differ: `1,234,567 instructions`."""
    text = f"{found.total:,} instructions"
    if found.is_steady:
        return text
    where = f" in {', '.join(map(_named, found.varying))}" if found.varying else ""
    return f"{text}; calls differ by {units.fraction(found.spread)}{where}"


def outcome(saved: Mapping[str, Any]) -> str:
    """Return the result of a benchmark, as a run file has it."""
    if why := saved.get("left_out"):
        return f"not counted: {why}"
    change = saved["change"]
    return f"{saved['counted']['total']:>15,} instructions{'' if change is None else f' {change:+.2%}'}"


def sentence(change: InstructionChange) -> str:
    """Return what changed, and where: `+2.3% instructions: +2.1 M in GCNConv.forward`."""
    signed = f"{change.fraction:+.1%}" if abs(change.fraction) < 10 else f"{change.fraction + 1:,.0f} times"  # noqa: PLR2004
    text = f"{signed} instructions ({units.amount(change.base.total)} → {units.amount(change.head.total)})"
    frames = change.frames()
    shorter = short_names(one.name for one in frames)
    python = [_moved(one, name) for one, name in zip(frames, shorter, strict=True)]
    native = [_moved(one, _named(one.name)) for one in change.functions()]
    where = "; ".join(filter(None, (", ".join(python), ", ".join(native))))
    return f"{text}: {where}" if where else text


def _moved(change: CounterChange, name: str) -> str:
    """Return one function's change: `+2.1 M (+18%) in spmm_cpu (torch_sparse)`."""
    moved = change.head - change.base
    relative = f" ({moved / change.base:+.0%})" if change.base and change.head else ""
    return f"{'+' if moved > 0 else '-'}{units.amount(abs(moved))}{relative} in {name}"


def _named(name: str) -> str:
    package, _, function = name.partition(":")
    return f"{function} ({package})"
