"""`gnnbench ab BASE HEAD [-- PYTEST ARGS]`: two variants of the code, timed in turns."""

import argparse
import json
import secrets
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from gnnbench import units
from gnnbench.cli_compare import NOTHING_SLOWER, exit_code
from gnnbench.errors import UsageError
from gnnbench.files import save
from gnnbench.options import EFFECT, fraction, suite
from gnnbench.shard import Shard

if TYPE_CHECKING:
    from gnnbench.ab.schedule import Decision

BUDGET_SECONDS = 60.0
TIMEOUT_SECONDS = 120.0
INTERRUPTED = 130
_MOST_SHOWN = 20
"""Benchmarks below the progress line."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    kinds = "git:REF, path:DIR, pip:REQUIREMENT, env:NAME=VALUE, several in one word, or . for this tree"
    parser.add_argument("base", metavar="BASE", help=f"the older variant: {kinds}")
    parser.add_argument("head", metavar="HEAD", help="the newer variant")
    parser.add_argument(
        "--budget",
        type=positive_seconds,
        default=BUDGET_SECONDS,
        metavar="S",
        help=f"seconds per benchmark, shared by those that need them. Default: {BUDGET_SECONDS:.0f}.",
    )
    parser.add_argument("--total-budget", type=positive_seconds, metavar="S", help="seconds for all of them")
    parser.add_argument(
        "--timeout",
        type=positive_seconds,
        default=TIMEOUT_SECONDS,
        metavar="S",
        help=f"seconds without an answer after which a process is given up. Default: {TIMEOUT_SECONDS:.0f}.",
    )
    parser.add_argument(
        "--effect", default=f"{EFFECT:.0%}", metavar="E", help="change that matters. Default: 3%%."
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit with 3 if something is undecided or incomparable"
    )
    parser.add_argument(
        "--dependencies", action="store_true", help="let pip: install what a requirement requires too"
    )
    parser.add_argument("--shard", metavar="I/N", help="time only part I of N, with an Nth of the error rate")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the result there")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write a table for a page there")
    parser.set_defaults(run=run)


def positive_seconds(text: str) -> float:
    """Read an argument."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} must be more than 0 seconds, as in 30")
    return seconds


def run(options: argparse.Namespace) -> int:
    """Measure, show, and return the exit code."""
    from gnnbench import calibration, environment, markdown, result_file, verdict_table
    from gnnbench.ab import coordinator, variant
    from gnnbench.ab.prepared import prepared
    from gnnbench.graphs.locate import cache_folder
    from gnnbench.judgement import Thresholds

    shard = None if options.shard is None else Shard.parse(options.shard)
    thresholds = Thresholds(fraction("effect", options.effect))
    if shard:
        thresholds = replace(thresholds, family_level=shard.family_level(thresholds.family_level))
    budget = coordinator.Budget(options.budget, options.total_budget, options.timeout)
    if any(word.startswith("--gnn-shard") for word in options.rest):
        raise UsageError(
            "--gnn-shard after --: give gnnbench ab its own --shard, which divides the error rate"
        )
    arguments = suite(options.rest, "gnnbench ab BASE HEAD")
    variants = [variant.parse(text) for text in (options.base, options.head)]
    for file in filter(None, (options.json, options.markdown)):
        if not file.absolute().parent.is_dir():
            raise UsageError(f"{file} cannot be written: its folder is not there")
    console = Console(highlight=False, stderr=True)

    def say(text: str) -> None:
        console.print(f"gnnbench: {text}", markup=False, soft_wrap=True)

    environment.let_idle_threads_sleep()  # as in the processes that are timed
    root = Path.cwd()
    common = {"cache": cache_folder(), "dependencies": options.dependencies, "say": say}
    with (
        prepared(variants[0], root, **common) as base,
        prepared(variants[1], root, **common) as head,
        _Progress(console) as progress,
    ):
        seed = secrets.randbits(32)
        found = coordinator.run(base, head, arguments, root, thresholds, budget, progress, seed, shard)
    comparison = found.comparison()
    known = calibration.Store(cache_folder(), found.environment)
    calibrated = calibration.notes(known, found.decisions, thresholds.effect, root)
    content = found.as_json()
    _save(options.json, json.dumps(content, indent=1) + "\n")
    saved = result_file.parse(options.json or Path(), content)
    _save(options.markdown, markdown.write([markdown.section(saved, calibrated)]))
    width = shutil.get_terminal_size((80, 24)).columns
    verdict_table.write(comparison, sys.stdout.write, width, colour=sys.stdout.isatty())
    for note in (*found.notes, *calibrated):
        print(note)
    print(f"{verdict_table.count(comparison.rows)}; {units.seconds(found.seconds)}")
    if found.interrupted:
        return INTERRUPTED
    if shard and not comparison.rows:
        return NOTHING_SLOWER  # nothing fell to this shard
    return exit_code(comparison, strict=options.strict)


def _save(file: Path | None, text: str) -> None:
    if file:
        save(file, text)


class _Progress:
    """In a terminal each benchmark's interval as it closes in; in a pipe a line for each decision."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, transient=True, refresh_per_second=4)
        self._said: set[str] = set()

    def __enter__(self) -> Self:
        start = "starting the first pair of processes, and timing each benchmark for a moment"
        if self._console.is_terminal:
            self._live.start()
            self._live.update(start)
        else:
            self.say(start)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def say(self, text: str) -> None:
        """Print a line above what is shown."""
        self._console.print(f"gnnbench: {text}", markup=False, soft_wrap=True)

    def update(self, decisions: "Mapping[str, Decision]", spent_seconds: float, left_seconds: float) -> None:
        """Show where each benchmark stands."""
        if self._console.is_terminal:
            self._live.update(_shown(decisions, spent_seconds, left_seconds))
            return
        for name, decision in decisions.items():
            if decision.decided and name not in self._said:
                self._said.add(name)
                line = " ".join(filter(None, (*_cells(decision)[::-1], name)))
                self._console.print(f"{spent_seconds:.0f} s: {line}", markup=False, soft_wrap=True)


def _shown(decisions: "Mapping[str, Decision]", spent_seconds: float, left_seconds: float) -> Group:
    waiting = {name: one for name, one in decisions.items() if not one.decided}
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, overflow="ellipsis")
    for _ in range(3):
        table.add_column(no_wrap=True, justify="right")
    for name in list(waiting)[:_MOST_SHOWN]:
        table.add_row(escape(name), *_cells(waiting[name])[:3])
    more = len(waiting) - _MOST_SHOWN
    done = len(decisions) - len(waiting)
    line = (
        f"{done} of {len(decisions)} decided, {spent_seconds:.0f} s spent, at most {left_seconds:.0f} s left"
    )
    return Group(line, table, *([f"and {more} more"] if more > 0 else []))


def _cells(decision: "Decision") -> Sequence[str]:
    """Return pairs, interval, ratio and verdict."""
    found = decision.judgement
    return (
        f"{decision.pairs} pairs",
        units.interval(found.low, found.high, 3),
        "" if found.ratio is None else f"{found.ratio:.3f}x",
        found.verdict,
    )
