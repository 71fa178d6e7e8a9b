"""Notes of a calibration, shown with verdicts of `gnnbench ab` and `gnnbench compare`."""

import math
from collections.abc import Collection, Sequence
from pathlib import Path

from ..compare.calibration import Calibration, CalibrationStore
from ..errors import UsageError
from ..files import project
from . import labels
from .names import spec_of
from .table import grouped


def notes(store: CalibrationStore, names: Collection[str], effect: float, folder: Path) -> list[str]:
    """Return the notes of the calibration with most of the benchmarks, then most runs; none if there is none.

    Args:
        store: calibrations of the environment.
        names: names of the benchmarks.
        effect: minimum effect of interest, as a fraction; the calibration must have the same.
        folder: working directory of pytest; that of the calibration must be in the same project.
    """
    try:
        kept = store.read()
    except UsageError as error:
        return [str(error)]
    here = project(folder)
    fitting = [
        (len(known), len(one.runs), number)
        for number, one in enumerate(kept)
        if (one.settings.effect, project(Path(one.settings.folder))) == (effect, here)
        and (known := set(one.names) & set(names))
    ]
    return _told(kept[max(fitting)[2]], list(names)) if fitting else []


def _told(found: Calibration, names: Sequence[str]) -> list[str]:
    wrong = found.false_positives()
    lines = []
    head = f"calibrated here (gnnbench ab, {found.settings.budget_seconds:g} s per benchmark)"
    if wrong.of:
        most = wrong.interval()[1]
        lines.append(f"{head}: {wrong} verdicts of A/A tests were false positives (rate at most {most:.1%})")
    remarks: dict[float, list[tuple[str, list[str]]]] = {}
    shown = labels.short({name: spec_of(name) for name in names})
    for name in names:
        rates, smallest = found.found(name), found.smallest(name)
        if smallest is not None:
            size, text = smallest, f"finds {smallest:.0%}"
        elif rates:
            size = max(rates)
            text = f"needs more than {size:.0%}"
        else:
            size, text = math.inf, "not calibrated"
        count = f" ({rates[size]})" if size in rates else ""
        remarks.setdefault(size, []).append((f"{shown[name]}{count}", [text]))
    return [*lines, "; ".join(grouped(one for size in sorted(remarks) for one in remarks[size]))]
