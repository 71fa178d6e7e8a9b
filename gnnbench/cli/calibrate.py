"""`gnnbench calibrate [-- PYTEST ARGS]`: measures false positives and power of `ab` on this machine."""

import argparse
import sys
from collections import Counter
from dataclasses import asdict, replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from .. import units
from ..clocks import RealTime
from ..errors import UsageError
from ..option_defaults import passed_on
from ..options import TIMEOUT_SECONDS
from . import streams
from .common import (
    INTERRUPTED,
    NOT_JUDGED,
    NOTHING_SLOWER,
    add_effect,
    add_seconds,
    effect_of,
    suite,
)
from .progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..compare.ab.schedule import Decision
    from ..compare.calibration import Calibration, Rate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    for name, number, text in (
        ("--runs", 20, "runs on identical code"),
        ("--planted", 10, "runs with each injected slowdown (2, 3, 5, 8 and 12%%)"),
    ):
        parser.add_argument(
            name, type=int, default=number, metavar="N", help=f"{text}. Default: %(default)s."
        )
    add_seconds(parser, "--budget", "seconds per benchmark in each run", 10.0)
    add_seconds(parser, "--total-budget", "seconds for each run")
    add_effect(parser)
    parser.add_argument("--fresh", action="store_true", help="replace the saved runs")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Make the runs that are missing, show the results of all, and return the exit code."""
    from .. import environment
    from ..compare import calibration
    from ..files import cache_folder
    from ..variants import variant
    from ..variants.prepare import prepared

    wanted = options.runs, options.planted
    if min(wanted) < 0 or not any(wanted):
        raise UsageError("--runs and --planted must be at least 0, and not both 0")
    settings = {
        "effect": effect_of(options),
        "folder": str(Path.cwd()),
        "arguments": suite(options.rest, "gnnbench calibrate"),
        "budget_seconds": options.budget,
        "total_budget_seconds": options.total_budget,
    }
    environment.let_idle_threads_sleep()  # the timed processes do so too
    store = calibration.CalibrationStore(cache_folder(), asdict(environment.collect()))
    known = store.get(settings)
    if options.fresh:
        known = replace(known, runs=())
    left, interrupted = known.left(*wanted), False
    try:
        with (
            passed_on(options.settings, options.rest),
            _Runs() as progress,
            prepared(variant.parse("."), Path.cwd(), progress, cache=store.cache) as here,
        ):
            if not left:
                progress.say("all runs are done; --fresh starts again")
            start_seconds, saved = RealTime.seconds(), len(known.runs)
            for number, planted in enumerate(left, 1):
                what = f"{planted:.0%} slower" if planted else "identical code"
                title = f"run {saved + number} of {saved + len(left)}, {what}"
                progress.show(title)
                found = calibration.measure(known, planted, here, TIMEOUT_SECONDS, progress)
                if not found.judged:
                    break
                known = replace(known, runs=(*known.runs, found))
                store.save(known)
                each_seconds = (RealTime.seconds() - start_seconds) / number
                rest = units.duration(each_seconds * (len(left) - number))
                progress.print(f"{title}: {_counts(found.verdicts.values())}; about {rest} left")
    except KeyboardInterrupt:
        interrupted = True
    if known.runs:
        _show(known)
    if not interrupted:
        return NOT_JUDGED if known.left(*wanted) else NOTHING_SLOWER
    how = "the same command without --fresh" if options.fresh else "the same command"
    count = f"{units.count(len(known.runs), 'run')} saved in {store.path}"
    streams.say(f"gnnbench: interrupted; {count}; {how} continues", sys.stderr)
    return INTERRUPTED


class _Runs(Progress):
    """Shows the current run, and not what happens in it."""

    def step(self, text: str, at_most_seconds: float | None = None) -> None:
        """Ignore a step of a run."""

    def update(self, decisions: "Mapping[str, Decision]", spent_seconds: float, left_seconds: float) -> None:
        """Ignore the decisions of a run."""


def _counts(verdicts: "Iterable[str]") -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in sorted(Counter(verdicts).items()))


def _show(known: "Calibration") -> None:
    from ..compare.calibration import SIZES
    from ..report.document import Column, Note, tables
    from ..report.names import spec_of

    rates = {name: known.found(name) for name in known.names}
    cells = {
        name: [
            *(f"{found[size].count}/{found[size].of}" if size in found else "" for size in SIZES),
            _finds(known, name),
        ]
        for name, found in rates.items()
    }
    titles = (*(f"{size:.0%}" for size in SIZES), "finds")
    columns = [Column(title, "number", itemgetter(place)) for place, title in enumerate(titles)]
    said = Note("slowdowns injected, and in how many runs each was found:")
    streams.show([said, *tables({name: spec_of(name) for name in cells}, columns, cells)])
    wrong, runs = known.false_positives()
    if wrong.of:
        streams.say(
            f"identical code: {wrong} verdicts were false positives ({_interval(wrong)}), "
            f"in {runs} runs ({_interval(runs)})"
        )


def _finds(known: "Calibration", name: str) -> str:
    smallest, rates = known.smallest(name), known.found(name)
    if smallest is not None:
        return f"{smallest:.0%}"
    if rates:
        return f"over {max(rates):.0%}"
    return "not compared" if any(run.planted for run in known.runs) else ""


def _interval(rate: "Rate") -> str:
    low, high = rate.interval()
    return f"95% interval {low:.1%} to {high:.1%}"
