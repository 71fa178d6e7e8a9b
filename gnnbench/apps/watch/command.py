"""`gnnbench watch WHAT --state FOLDER [-- PYTEST ARGS]`: compares each new version with the one before."""

import argparse
import sys
from fcntl import LOCK_EX, LOCK_NB
from pathlib import Path
from typing import TYPE_CHECKING

from ...engine.cli import common, streams
from ...engine.cli.common import INTERRUPTED, NOT_JUDGED, NOTHING_SLOWER, SLOWER
from ...engine.ground import packages, units
from ...engine.ground.errors import UsageError
from ...engine.ground.files import check_writable, locked, save
from ...engine.ground.options import Option, seconds
from ...engine.show.progress import Progress

if TYPE_CHECKING:
    from .state import State, Step

_OPTIONS = (
    Option("anchor", "N|VERSION", None).described(
        "also compare the newest version with an older one: N versions before it, or a named version or "
        "variant; 0 turns this off. Default: 5 for releases, 30 for commits and nightly builds."
    ),
    Option("clone", "DIR[@REF]", None).described("repository in which to find the commit behind a change"),
    seconds("budget", 60.0, "average seconds per benchmark in each comparison"),
    seconds("total-budget", 360.0, "seconds for all benchmarks of a comparison"),
    seconds("search-budget", 1800.0, "seconds for each bisection"),
    *common.PROCESSES,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="?",
        metavar="WHAT",
        help="what to watch: the releases or nightly builds of a package, or the commits of git:REF or "
        "git:DIR@REF. Without it, nothing is compared: only reports and the page are written",
    )
    parser.add_argument("--state", type=Path, required=True, metavar="FOLDER", help="folder with all results")
    parser.add_argument(
        "--since",
        metavar="VERSION",
        help="base of the first comparison in a new folder. Default: the last version but one.",
    )
    parser.add_argument("--until", metavar="VERSION", help="last version to compare. Default: the newest.")
    common.declare(parser, _OPTIONS, (common.EFFECT, common.RESULTS, common.BUILD))
    parser.add_argument("--page", type=Path, metavar="FILE", help="also write an HTML page to FILE")


def run(options: argparse.Namespace) -> int:
    """Compare new versions, print the changes, write reports and the page, and return the exit code."""
    from . import texts
    from .state import State, kinds

    if options.what:
        options.state.mkdir(parents=True, exist_ok=True)  # the page may be in it
    if options.page:
        check_writable(options.page)
        if reason := packages.missing(packages.PAGES):
            raise UsageError(reason)
    state = State(options.state)
    if options.what is None and state.watched is None:
        raise UsageError(f"{options.state} has no results yet; name what to watch: gnnbench watch PACKAGE")
    steps, interrupted = _compare(options, state) if options.what else ([], False)
    for step in steps:
        streams.show(texts.step_document(step))
    _write(options.page, state)
    if interrupted:
        streams.say("interrupted; repeat the command to continue")
        return INTERRUPTED
    sys.stdout.flush()
    pairs = [pair for step in steps for pair in step.confirmed().values()]
    changes = set().union(*(kinds(first) & kinds(second) for first, second in pairs))
    if changes - {"faster", "less memory"}:
        return SLOWER
    return NOT_JUDGED if steps and all("first" in step.failed for step in steps) else NOTHING_SLOWER


def _write(page: Path | None, state: "State") -> None:
    """Write a report on each change into the state's folder, and the page if its path is given."""
    from ...engine.show.markdown_text import Markdown
    from . import texts

    for change in state.changes():
        file = state.folder / "changes" / f"{change.slug}.md"
        save(file, Markdown().write(texts.report(change, state.watched or "")))
        streams.say(f"{file}: {texts.title(change, state.watched or '')}")
    if page:
        from .page import html

        save(page, html(state))
        streams.say(f"{page}: {units.size(page.stat().st_size)}")


def _compare(options: argparse.Namespace, state: "State") -> "tuple[list[Step], bool]":
    """Compare new versions; return the new steps, and whether the user interrupted the run."""
    from ...engine.ground import environment
    from .run import Watch, WatchPlan
    from .versions import Watched

    common_plan = common.plan_of(
        options,
        "gnnbench watch WHAT --state FOLDER",
        results=options.results,
        per_benchmark_seconds=options.budget,
        total_seconds=options.total_budget,
    )
    since, until, anchor = options.since, options.until, options.anchor
    plan = WatchPlan(
        **vars(common_plan), search_seconds=options.search_budget, since=since, until=until, anchor=anchor
    )
    watched = Watched(options.what, plan.folder, options.clone)
    environment.let_idle_threads_sleep()
    try:
        with locked(options.state.resolve(), LOCK_EX | LOCK_NB), Progress() as progress:
            watch = Watch(watched, state, plan, progress)
            try:
                watch.run()
            except KeyboardInterrupt:
                return watch.new, True
            return watch.new, False
    except BlockingIOError:
        raise UsageError("another process uses the --state FOLDER: wait until it ends, or stop it") from None
