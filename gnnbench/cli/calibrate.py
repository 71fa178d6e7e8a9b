"""`gnnbench calibrate [-- PYTEST ARGS]`: measures false positives and power of `ab` on this machine."""

import argparse
import secrets
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, replace
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
    effect_of,
    positive_seconds,
    suite,
)
from .progress import Progress

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..compare.ab.schedule import Decision
    from ..compare.calibration import (
        Calibration,
        CalibrationRun,
        CalibrationSettings,
        CalibrationStore,
        Rate,
    )
    from ..compare.verdict import Verdict
    from ..variants.prepare import Prepared

RUNS = 20
PLANTED = 10
BUDGET_SECONDS = 10.0
_SEEDS = 1000
"""Seeds of the simulated machine that are reserved for each run; each pair of processes uses one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--runs", type=int, default=RUNS, metavar="N", help=f"runs on identical code. Default: {RUNS}."
    )
    parser.add_argument(
        "--planted",
        type=int,
        default=PLANTED,
        metavar="N",
        help=f"runs with each injected slowdown (2, 3, 5, 8 and 12%%). Default: {PLANTED}.",
    )
    parser.add_argument(
        "--budget",
        type=positive_seconds,
        default=BUDGET_SECONDS,
        metavar="S",
        help=f"seconds per benchmark in each run. Default: {BUDGET_SECONDS:.0f}.",
    )
    parser.add_argument("--total-budget", type=positive_seconds, metavar="S", help="seconds for each run")
    add_effect(parser)
    parser.add_argument("--fresh", action="store_true", help="delete the saved runs and start again")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Make the runs that are missing, show the results of all, and return the exit code."""
    from .. import environment
    from ..compare.calibration import CalibrationSettings, CalibrationStore
    from ..files import cache_folder

    if min(options.runs, options.planted) < 0 or not options.runs + options.planted:
        raise UsageError("--runs and --planted must be at least 0, and not both 0")
    effect = effect_of(options)
    environment.let_idle_threads_sleep()  # the timed processes do so too
    root = Path.cwd()
    settings = CalibrationSettings(
        str(root),
        tuple(suite(options.rest, "gnnbench calibrate")),
        options.budget,
        options.total_budget,
        effect,
    )
    store = CalibrationStore(cache_folder(), asdict(environment.collect()))
    known = store.get(settings)
    work = _Work(store, settings, options.runs, options.planted)
    judged, interrupted = True, False
    try:
        with passed_on(options.settings, options.rest), _CalibrationProgress() as progress:
            judged = work.go(known, progress, fresh=options.fresh)
    except KeyboardInterrupt:
        interrupted = True
    known = store.get(settings)
    if known.runs:
        _show(known)
    if not interrupted:
        return NOTHING_SLOWER if judged else NOT_JUDGED
    how = "the same command without --fresh" if options.fresh else "the same command"
    saved = f"{units.count(len(known.runs), 'run')} saved in {store.path}"
    streams.say(f"gnnbench: interrupted; {saved}; {how} continues", sys.stderr)
    return INTERRUPTED


class _Work:
    def __init__(
        self, store: "CalibrationStore", settings: "CalibrationSettings", runs: int, planted: int
    ) -> None:
        self._store, self._settings, self._wanted = store, settings, (runs, planted)
        self._root = Path(settings.folder)

    def go(self, known: "Calibration", progress: "_CalibrationProgress", *, fresh: bool) -> bool:
        """Make the runs that are missing, and save each when it ends.

        Returns:
            False if no benchmark of a run could be compared. That run is not saved, and no more are made.
        """
        from ..variants import variant
        from ..variants.prepare import prepared

        if fresh:
            known = replace(known, runs=())
        left = known.left(*self._wanted)
        if not left:
            progress.say("all runs are done; --fresh starts again")
            return True
        self._store.check()
        count = len(known.runs[-1].verdicts) if known.runs else self._count()
        at_most = count * self._settings.budget_seconds
        at_most = len(left) * min(at_most, self._settings.total_budget_seconds or at_most)
        before = f" (and {len(known.runs)} saved)" if known.runs else ""
        progress.say(
            f"{units.count(count, 'benchmark')}, {units.count(len(left), 'run')}{before}: up to about "
            f"{units.duration(at_most)}"
        )
        if fresh:
            known = self._store.clear(self._settings)
        start = RealTime.seconds()
        everything = len(known.runs) + len(left)
        with prepared(variant.parse("."), self._root, cache=self._store.cache, say=progress.say) as here:
            for number, planted in enumerate(left, 1):
                title = f"run {len(known.runs) + 1} of {everything}, {_named(planted)}"
                progress.begin(title)
                found = self._run(here, planted, len(known.runs), progress)
                if not found.judged:
                    return False
                known = self._store.add(self._settings, found)
                spent = RealTime.seconds() - start
                progress.done(title, found, spent / number * (len(left) - number))
        return True

    def _count(self) -> int:
        """Return the number of benchmarks.

        Raises:
            UsageError: there are none.
        """
        from ..variants.child import Child, DiedError
        from ..variants.collected import no_benchmarks

        with tempfile.TemporaryDirectory(prefix="gnnbench-calibrate-") as folder:
            log = Path(folder, "log")
            try:
                with Child(
                    self._settings.arguments, environment={}, trees=(), folder=self._root, log=log
                ) as one:
                    answer = one.answer(TIMEOUT_SECONDS)
            except DiedError as error:
                raise UsageError(str(error)) from None
        if not answer["declared"]:
            refused = [f"{file} cannot be collected: {why}" for file, why in answer["refused"].items()]
            raise UsageError(no_benchmarks("gnnbench calibrate", refused, answer["marked"]))
        return len({*answer["declared"]} - {*answer["left_out"]})

    def _run(
        self, here: "Prepared", planted: float, number: int, progress: "_CalibrationProgress"
    ) -> "CalibrationRun":
        from ..compare.ab import coordinator, slowdown
        from ..compare.calibration import CalibrationRun
        from ..compare.verdict import Thresholds
        from ..measure import simulated_clock

        simulated = simulated_clock.reseeded(_SEEDS * number)
        base, head = (
            replace(here, environment={**here.environment, **simulated, slowdown.VARIABLE: str(share)})
            for share in (0.0, planted)
        )
        settings = self._settings
        budget = coordinator.Budget(settings.budget_seconds, settings.total_budget_seconds, TIMEOUT_SECONDS)
        seed = secrets.randbits(32)
        found = coordinator.run(
            base,
            head,
            settings.arguments,
            self._root,
            Thresholds(settings.effect),
            budget,
            progress,
            seed,
            time_all=True,
        )
        if found.interrupted:
            raise KeyboardInterrupt
        for note in found.notes:
            progress.say(note)
        judgements = {name: decision.judgement for name, decision in found.decisions.items()}
        verdicts: dict[str, Verdict] = {
            name: judgement.verdict if judgement.judged else "incomparable"
            for name, judgement in judgements.items()
        }
        ended = CalibrationRun(planted, seed, round(found.seconds, 3), verdicts)
        if not ended.judged:
            reasons = dict.fromkeys(judgement.reason for judgement in judgements.values())
            progress.say(
                f"no benchmark could be compared; this run is not saved, and no more are made: "
                f"{'; '.join(reasons)}"
            )
        return ended


class _CalibrationProgress(Progress):
    """In a terminal, shows the current run; in a pipe, prints a line for each run."""

    _title = _left = ""

    def begin(self, title: str) -> None:
        """Set the title of the next run."""
        self._title = title
        self._show_run("starting")

    def step(self, text: str, at_most_seconds: float | None = None) -> None:
        """Ignore the steps of a run."""

    def update(self, decisions: "Mapping[str, Decision]", spent_seconds: float, left_seconds: float) -> None:
        """Show how many benchmarks of the run are decided."""
        del spent_seconds, left_seconds  # they concern this run only
        decided = sum(one.decided for one in decisions.values())
        self._show_run(f"{decided} of {units.count(len(decisions), 'benchmark')} decided")

    def done(self, title: str, found: "CalibrationRun", left_seconds: float) -> None:
        """Print the verdicts of a run that has ended."""
        counts = ", ".join(
            f"{count} {verdict}" for verdict, count in sorted(Counter(found.verdicts.values()).items())
        )
        self._left = f"; about {units.duration(left_seconds)} left"
        if not self.in_terminal:
            self.print(f"{title}: {counts}{self._left}")

    def _show_run(self, text: str) -> None:
        self.show(f"{self._title}: {text}{self._left}")


def _show(known: "Calibration") -> None:

    from ..compare.calibration import SIZES
    from ..report import labels
    from ..report.names import spec_of

    console = streams.console()
    streams.say("slowdowns injected, and in how many runs each was found:")
    for group in labels.groups({name: spec_of(name) for name in known.names}):
        console.print()
        console.print(group.heading())
        table = group.table()
        for size in SIZES:
            table.add_column(f"{size:.0%}", justify="right", no_wrap=True)
        table.add_column("finds", justify="right", no_wrap=True)
        for name in group.cells:
            rates = known.found(name)
            cells = [f"{rates[size].count}/{rates[size].of}" if size in rates else "" for size in SIZES]
            table.add_row(*group.row(name), *cells, _finds(known, name))
        console.print(table)
    wrong, runs = known.false_positives(), known.false_positive_runs()
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


def _named(planted: float) -> str:
    return f"{planted:.0%} slower" if planted else "identical code"
