"""Counts the instructions of benchmarks on both sides, after they were timed."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...devices import why_no_cuda
from ...errors import UsageError
from ...variants.child import DiedError
from ...variants.prepare import Prepared
from ..instructions import InstructionChange
from .counted_side import CountedSide, Side
from .processes import SIDES
from .turns import joined
from .visit import NotTimed

if TYPE_CHECKING:
    from ...measure.instructions.counting import Instructions


@dataclass(frozen=True)
class InstructionChanges:
    """What was counted."""

    counter: str
    """With its version."""
    changes: Mapping[str, InstructionChange] = field(default_factory=dict)
    """By benchmark."""
    notes: tuple[str, ...] = ()
    """On what was not counted."""


def count(
    base: Prepared,
    head: Prepared,
    arguments: Sequence[str],
    folder: Path,
    names: Sequence[str],
    step: Callable[[str], None],
) -> InstructionChanges:
    """Count the instructions of a call of each benchmark on both sides.

    Args:
        base: the older side.
        head: the newer side.
        arguments: pytest's arguments.
        folder: pytest's working directory.
        names: ids of the benchmarks.
        step: called with the step that begins.

    Raises:
        UsageError: nothing counts instructions here, or the benchmarks import nothing from a variant.
    """
    changes: dict[str, InstructionChange] = {}
    notes: list[str] = []
    apart = why_no_cuda() is not None  # CUDA does not work in a fork
    with ExitStack() as stack:
        sides = {
            side: stack.enter_context(
                CountedSide(Side(arguments, folder, one.trees, one.environment, apart=apart), side)
            )
            for side, one in zip(SIDES, (base, head), strict=True)
        }
        counter = sides["base"].counter
        step(f"starting both sides under {counter}, and collecting")
        try:
            for one in sides.values():
                one.collected()
            for number, name in enumerate(names, 1):
                step(f"counting instructions of benchmark {number} of {len(names)}: {name}")
                found = _on_both(sides, name)
                if isinstance(found, InstructionChange):
                    changes[name] = found
                else:
                    notes.append(f"instructions not counted: {name}: {found.text}")
        except DiedError as error:
            left = len(names) - len(changes) - len(notes)
            notes.append(f"instructions of {left} benchmarks not counted: {error}")
        for side, given in zip(SIDES, (base, head), strict=True):
            if given.trees and changes and not sides[side].loaded:
                raise UsageError(
                    f"{side}: the benchmarks import no package of {given.text}: nothing to count"
                )
    return InstructionChanges(counter, changes, tuple(notes))


def _on_both(sides: Mapping[str, CountedSide], name: str) -> InstructionChange | NotTimed:
    """Hold a benchmark on both sides, and count; where the numbers differ, by Python function too."""
    refused = {side: why for side, one in sides.items() if (why := one.begin(name))}
    found: dict[str, Instructions] = {}
    for side, one in sides.items():
        if not refused:
            answer = one.count()
            if isinstance(answer, NotTimed):
                refused[side] = answer
            else:
                found[side] = answer
    if not refused and InstructionChange.between(*found.values()):
        found = {side: one.with_frames(found[side]) for side, one in sides.items()}
    for side, one in sides.items():
        if failed := one.end():
            refused.setdefault(side, failed)
    return joined(refused) if refused else InstructionChange.between(*(found[side] for side in SIDES))
