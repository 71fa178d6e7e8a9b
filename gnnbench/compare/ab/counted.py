"""Counts the instructions of benchmarks on both sides, after they were timed."""

from dataclasses import replace

from ...measure.instructions.counting import counter_name
from ...variants.child import SIDES
from ...variants.command import Listener
from ...variants.prepare import Prepared
from ..instructions import InstructionChange
from ..result import Result
from .pairs import Pairs
from .processes import Setting, Terms
from .visit import NotTimed

ANSWER_SECONDS = 1800.0
"""Under callgrind, an import of torch and PyG takes half a minute of processor time."""


def counted(found: Result, base: Prepared, head: Prepared, setting: Setting, listener: Listener) -> Result:
    """Return a result with the instructions of a call, of benchmarks whose sides do not run the same code.

    Args:
        found: the result.
        base: the older side.
        head: the newer side.
        setting: how it was timed.
        listener: receives the progress.

    Raises:
        UsageError: nothing counts instructions here, or the benchmarks import nothing from a variant.
    """
    names = [row.fullname for row in found.rows if not row.judgement.same_code]
    if not names:
        return found
    changes: dict[str, InstructionChange] = {}
    notes: list[str] = []
    counter, setting = counter_name(), replace(setting, timeout_seconds=ANSWER_SECONDS)
    with Pairs(setting, listener) as pairs:
        terms = Terms(base, head, counter=counter, about=f"under {counter}: ", spared=SIDES)
        with pairs.started(terms) as workers:
            for number, name in enumerate(names, 1):
                if workers.broken:
                    break
                listener.step(f"counting instructions of benchmark {number} of {len(names)}: {name}")
                both = workers.count(name)
                if not isinstance(both, NotTimed):
                    changes[name] = InstructionChange.between(*both)
                elif not workers.broken:
                    notes.append(f"instructions not counted: {name}: {both.text}")
        if changes:
            workers.check_trees()
    if workers.broken:
        left = len(names) - len(changes) - len(notes)
        notes.append(f"instructions of {left} benchmarks not counted: {workers.broken}")
    rows = []
    for row in found.rows:
        work = replace(row.work, instructions=changes.get(row.fullname))
        rows.append(replace(row, work=work, notes=work.notes()))
    comparison = replace(found.comparison, rows=rows)
    return replace(found, comparison=comparison, notes=(*found.notes, *notes))
