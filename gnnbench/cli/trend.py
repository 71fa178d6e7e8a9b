"""`gnnbench trend DIR|GLOB`: finds steps in a history of runs."""

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..files import save
from ..json_io import as_text
from ..settings import NONE, Settings
from . import streams
from .common import NOT_JUDGED, NOTHING_SLOWER, SLOWER, add_effect, effect_of, say_left_out
from .progress import Progress

if TYPE_CHECKING:
    from ..compare.trend.result import TrendResult

NEWEST = 1000
_NAMED = 3
"""How many unusable files are named; more are counted."""
_LONGEST = 1000
"""Characters of the reason for one unusable file."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="DIR|GLOB",
        help="run files of any age and machine, folders of them, or patterns",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="also write an HTML page to FILE")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the result to FILE")
    add_effect(parser)
    parser.add_argument(
        "--last",
        type=_positive,
        default=NEWEST,
        metavar="N",
        help=f"use only the newest N runs of each environment. Default: {NEWEST}.",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read the run files, find steps, print them, and return the exit code."""
    from .. import packages, units
    from ..compare.trend import history, result, run_digests
    from ..report import trend
    from ..report.document import Note

    if options.output and (reason := packages.missing(packages.PAGES)):
        raise UsageError(reason)
    effect = effect_of(options)
    paths = run_digests.find(options.runs)
    with Progress() as progress:
        digests, refused = run_digests.read(paths, progress.counter("run files read"))
    histories, lacking = history.histories(digests, options.last)
    refused += lacking
    _warn(refused, len(paths))
    say_left_out((path, one.left_out) for path, one in digests.items())
    found = result.judge(histories, effect, datetime.now(UTC).isoformat(timespec="microseconds"))
    if options.json:
        save(options.json, as_text(result.as_json(found, refused)), paths)
    if options.output:
        from ..report import trend_page

        save(options.output, trend_page.html(found, refused), paths)
    encoding = sys.stdout.encoding or "utf-8"
    streams.show([*trend.document(found, encoding), Note(trend.headline(found))])
    if options.output:
        print(f"{options.output}: {units.size(options.output.stat().st_size)}")
    return exit_code(found, options.settings)


def exit_code(found: "TrendResult", settings: Settings = NONE) -> int:
    """Return the exit code for a history, see docs/cli.md, and name what rules ignore."""
    from ..report.names import clean

    failing = dict.fromkeys(one.series.benchmark for one in (*found.slower, *found.heavier))
    ignored = {name: rule for name in failing if (rule := settings.rule("ignore", name))}
    for name, rule in ignored.items():
        streams.say(f"ignored: {clean(name)}: {settings.reason(rule)}")
    if failing.keys() - ignored.keys():
        return SLOWER
    return NOTHING_SLOWER if found.judged else NOT_JUDGED


def _warn(refused: Sequence[str], of: int) -> None:
    """Print why files are skipped.

    Raises:
        UsageError: no file can be used.
    """
    from ..report.names import clean

    if len(refused) == of:
        more = f" (and {of - 1} more, none can be used)" if of > 1 else ""
        raise UsageError(f"{clean(refused[0], _LONGEST)}{more}")
    for one in refused[:_NAMED]:
        streams.say(f"gnnbench: skipped: {clean(one, _LONGEST)}", sys.stderr)
    if len(refused) > _NAMED:
        streams.say(f"gnnbench: skipped: {len(refused)} of {of} files; --json lists all", sys.stderr)


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"'{text}' must be a whole number of runs, as in {NEWEST}")
    return int(text)
