"""Times again, in new processes, the benchmarks that look slower than their record."""

import tempfile
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pytest

from .. import signals, units
from ..compare import drift
from ..compare.comparison import Comparison
from ..compare.verdict import Thresholds
from ..results import run_file
from ..results.run_file import RunFile
from ..variants import fresh
from . import writing

_FIRST = 101
"""Number of the first confirming process; the processes of a record have smaller ones."""


def run(
    config: pytest.Config, found: Comparison, thresholds: Thresholds, passed: Collection[str], processes: int
) -> list[RunFile]:
    """Time again what looks slower, and what had CPU contention.

    Args:
        config: of the session whose options the new processes get.
        found: the comparison with the record.
        thresholds: effect and levels.
        passed: ids of the tests that may run again.
        processes: number of new processes.

    Returns:
        The run files of the new processes; none if nothing had to be timed again.

    Raises:
        UsageError: a process failed.
    """
    suspects = np.array(
        [row.contended or row.judgement.looks_slower(thresholds.of(row.fullname)) for row in found.rows]
    )
    # The drift is estimated from benchmarks timed just before and after, so these run again too.
    wanted = drift.neighbours(suspects) if found.shared else suspects
    again = (row.fullname for row, is_one in zip(found.rows, wanted, strict=True) if is_one)
    names = [name for name in again if name in passed]
    return _timed(config, names, int(suspects.sum()), processes) if names else []


def _timed(config: pytest.Config, names: list[str], suspects: int, processes: int) -> list[RunFile]:
    parameters = config.invocation_params
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    found = []
    with signals.as_ctrl_c(), tempfile.TemporaryDirectory() as folder:
        listing = Path(folder, "names")
        listing.write_text("\n".join(names), encoding="utf-8")
        for number in range(processes):
            if reporter:
                reporter.ensure_newline()
                writing.say(
                    reporter,
                    f"{units.count(suspects, 'benchmark')} may be slower or had CPU contention: "
                    f"timing again, new process {number + 1} of {processes}",
                )
            output = Path(folder, f"{number}.json")
            # With "=": pytest would use a path that is a separate argument to determine its rootdir.
            arguments = [*parameters.args, f"--gnn-again={listing}"]
            fresh.run(arguments, output, parameters.dir, _FIRST + number, lambda _: None)
            found.append(run_file.read(output))
    return found
