"""`gnnbench bisect GOOD BAD [-- PYTEST ARGS]`: finds what made benchmarks slower, or faster."""

import argparse
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from ..ground import units
from ..ground.errors import UsageError
from ..ground.files import check_writable
from ..ground.json_io import as_text
from ..store.option_defaults import passed_on
from . import streams
from .common import (
    INTERRUPTED,
    NOT_JUDGED,
    NOTHING_SLOWER,
    SLOWER,
    add_effect,
    add_processes,
    add_seconds,
    saving,
    suite,
    thresholds_of,
)
from .progress import Progress

if TYPE_CHECKING:
    from ..drive.bisect.journal import BisectSetting
    from ..drive.bisect.result import BisectResult

BUDGET_SECONDS = 180.0
TOTAL_SECONDS = 1800.0
BUILD_CACHE = "10 GiB"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    ends = "git:REF, git:DIR@REF or pip:NAME==VERSION"
    parser.add_argument("good", metavar="GOOD", help=f"the older end: {ends}")
    parser.add_argument("bad", metavar="BAD", help="the newer end, of the same kind")
    add_processes(parser)
    text = "average seconds per benchmark to find out whether the ends differ"
    add_seconds(parser, "--budget", text, BUDGET_SECONDS)
    add_seconds(parser, "--total-budget", "seconds for everything together", TOTAL_SECONDS)
    add_effect(parser)
    parser.add_argument(
        "--skip",
        action="append",
        default=[],
        metavar="REF",
        help="do not measure this candidate; of commits also a range, A..B. Repeatable",
    )
    parser.add_argument(
        "--build",
        metavar="CMD",
        help="build each commit by this shell command, in its folder, with its submodules. Builds are kept",
    )
    parser.add_argument(
        "--build-cache",
        default=BUILD_CACHE,
        metavar="SIZE",
        help=f"size of all kept builds, at most. Default: {BUILD_CACHE}.",
    )
    parser.add_argument(
        "--hunks",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="search the hunks of a commit that is found. Default: search.",
    )
    parser.add_argument(
        "--outputs",
        action="store_true",
        help="find what changed outputs, and time nothing",
    )
    parser.add_argument("--fresh", action="store_true", help="forget an interrupted run and start again")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="also write the answer in Markdown to FILE"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Bisect, print the answer, and return the exit code."""
    from ..drive.bisect import run as bisection
    from ..drive.bisect.journal import BisectSetting
    from ..ground import environment
    from ..ground.files import cache_folder
    from ..process.variants.builds import Build
    from ..show import bisect as shown
    from ..show.document import Note

    arguments = suite(options.rest, "gnnbench bisect GOOD BAD")
    for file in filter(None, (options.json, options.markdown)):
        check_writable(file)
    setting = BisectSetting(
        arguments=tuple(arguments),
        folder=Path.cwd(),
        cache=cache_folder(),
        thresholds=thresholds_of(options),
        per_benchmark_seconds=options.budget,
        total_seconds=options.total_budget,
        timeout_seconds=options.timeout,
        seed=secrets.randbits(32),
        dependencies=options.dependencies,
        build=None if options.build is None else Build(options.build, _most_bytes(options.build_cache)),
        hunks=options.hunks,
        fresh=options.fresh,
    )
    environment.let_idle_threads_sleep()
    if options.outputs:
        return _of_outputs(options, setting)
    with passed_on(options.settings, arguments), Progress() as progress:
        found = bisection.run(options.good, options.bad, setting, progress, skip=options.skip)
    texts = {options.json: as_text(found.as_json()), options.markdown: shown.markdown(found)}
    texts.pop(None, None)
    with saving(texts):
        streams.show([*shown.document(found), Note(shown.summary(found))])
        if found.interrupted:
            streams.say("interrupted; the same command continues")
        elif found.unfinished:
            more = f"--total-budget {round(2 * options.total_budget)}"
            streams.say(f"{found.unfinished}; the same command with {more} continues")
    for file, text in texts.items():
        streams.say(f"{file}: {units.size(len(text.encode()))}")
    return _exit_code(found)


def _of_outputs(options: argparse.Namespace, setting: "BisectSetting") -> int:
    """Find what changed outputs, print it, and return the exit code."""
    from ..drive.bisect import outputs
    from ..ground import codec
    from ..show import bisect as shown
    from ..show.markdown_text import Markdown

    with passed_on(options.settings, setting.arguments), Progress() as progress:
        found = outputs.run(options.good, options.bad, setting, progress, skip=options.skip)
    document = shown.of_outputs(found)
    with saving({options.json: as_text(codec.encode(found)), options.markdown: Markdown().write(document)}):
        streams.show(document)
    if found.changes:
        return SLOWER
    known = any(one.status != "not compared" for one in found.results.values())
    return NOTHING_SLOWER if known else NOT_JUDGED


def _most_bytes(text: str) -> int:
    found = units.read_size(text)
    if found is None:
        raise UsageError(f"--build-cache {text!r} must be a size with its unit, as in '10 GiB'")
    return found


def _exit_code(found: "BisectResult") -> int:
    if found.interrupted:
        return INTERRUPTED
    counts = found.verdicts()
    if counts["slower"]:
        return SLOWER
    if counts["faster"]:
        return NOTHING_SLOWER
    unsure = counts["undecided"] or counts["incomparable"] or not counts
    return NOT_JUDGED if unsure else NOTHING_SLOWER
