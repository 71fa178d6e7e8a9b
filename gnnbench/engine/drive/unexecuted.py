"""Finds the benchmarks that execute none of the functions that differ in compiled code.

Their calls run once more, on both sides, in copies of the builds in which these functions end the process,
whatever calls them and in whichever thread. What comes to its end has executed the same code since the
libraries were loaded. Constants that such a function names belong to it; others, and variables, are the same.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from ..ground.cpu import RealTime
from ..judge.trial import Trial
from ..judge.visit import Inspections
from ..measure.fingerprint.difference import Difference
from ..measure.fingerprint.libraries import functions_differing
from ..measure.fingerprint.machine_code import CONSTANTS
from ..process.pairs import Pairs
from ..process.processes import Terms
from ..process.variants.builds import trapped
from ..process.variants.child import SIDES

_NOTE = "executes none of the functions that differ in compiled code"


def unexecuted(
    trials: Iterable[Trial], terms: Terms, pairs: Pairs, end: float
) -> Iterator[tuple[Trial, Inspections]]:
    """Yield such benchmarks of those that were inspected, with their new inspections.

    `end`: when to cease, by RealTime.
    """
    differing = {trial: found for trial in trials if (found := _functions(trial.inspections))}
    functions = {library: names for found in differing.values() for library, names in found.items()}
    if not functions:
        return
    with ExitStack() as stack:
        base, head = (stack.enter_context(trapped(side, functions)) for side in (terms.base, terms.head))
        trees = tuple(map(str, (*base.trees, *head.trees)))
        terms = Terms(base, head, about="changed functions: ", spared=SIDES, untimed=True, trapped=functions)
        pair = stack.enter_context(pairs.started(terms))
        for trial in differing:
            in_time = not pair.broken and RealTime.seconds() < end
            again = pair.inspect(Trial(trial.name)) if in_time else None
            if isinstance(again, Inspections) and again.same_code:
                loaded = (file for used in pair.used.values() for file in used["native"])
                if all(file.startswith(trees) for file in loaded if Path(file).name in functions):
                    yield trial, replace(again, notes=(*again.notes, _NOTE))


def _functions(found: Inspections | None) -> Mapping[str, list[str]]:
    """Return by library the functions that differ; empty if anything else does, or may."""
    changed = found.work.changed if found else None
    if not found or not changed or changed != Difference(libraries=changed.libraries):
        return {}
    base, head = (side["fingerprint"]["libraries"] for side in found.sides)
    differing = {
        name: functions_differing(base[name], head[name]) for name in base if base[name] != head[name]
    }
    is_known = all(names and CONSTANTS not in names for names in differing.values())
    return differing if is_known else {}
