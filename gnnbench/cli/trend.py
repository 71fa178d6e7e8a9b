"""`gnnbench trend DIR|GLOB`: finds changes in a history of runs."""

import argparse
import json
import shutil
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console

from ..errors import UsageError
from ..files import save, user_path
from ..options import fraction
from .compare import NOT_JUDGED, NOTHING_SLOWER, SLOWER, add_effect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.status import Status

    from ..compare.trend.index import Refused
    from ..compare.trend.result import TrendResult

NEWEST = 1000
_PACKAGES = ("jinja2", "altair", "vl_convert")
"""Packages that a page needs."""
_NAMED = 3
"""How many unusable files are named; more are counted."""
_LONGEST = 1000
"""Characters of the reason for one unusable file."""
_EVERY_SECONDS = 10.0
"""Time between two lines of progress if the output is no terminal."""


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
    """Read the run files, find changes, print them, and return the exit code."""
    from .. import packages, units
    from ..compare.trend import history, index, result, sources
    from ..compare.trend.penalty import Penalties
    from ..files import cache_folder
    from ..report.trend import table

    if options.output and (reason := packages.missing(_PACKAGES)):
        raise UsageError(reason)
    effect = fraction("effect", options.effect)
    paths = sources.find(options.runs)
    names = "\n".join(sorted(str(user_path(name).absolute()) for name in options.runs))
    cache = cache_folder()
    with _ReadingProgress("reading run files") as progress:
        digests, refused = index.digests(cache, names, paths, progress.update)
    histories, lacking = history.histories(digests, options.last)
    refused += lacking
    _warn(refused, len(paths))
    penalties = Penalties(cache)
    with _ReadingProgress("calibrating lengths of histories, once for each length") as progress:
        penalties.prepare(result.lengths(histories), progress.update)
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    found = result.judge(histories, penalties, effect, now)
    skipped = [one.reason for one in refused]
    if options.json:
        save(options.json, json.dumps(result.as_json(found, skipped), indent=1) + "\n", paths)
    if options.output:
        from ..report.trend import page

        save(options.output, page.html(found, skipped), paths)
    encoding = sys.stdout.encoding or "utf-8"
    width = shutil.get_terminal_size((80, 24)).columns
    sys.stdout.write(table.text(found, width, encoding, colour=sys.stdout.isatty()))
    print(table.count(found))
    if options.output:
        print(f"{options.output}: {units.size(options.output.stat().st_size)}")
    return exit_code(found)


def exit_code(found: "TrendResult") -> int:
    """Return the exit code for a history, see docs/cli.md."""
    if not found.judged:
        return NOT_JUDGED
    return SLOWER if found.slower else NOTHING_SLOWER


def _warn(refused: "Sequence[Refused]", of: int) -> None:
    """Print why files are skipped.

    Raises:
        UsageError: no file can be used.
    """
    from ..report.names import clean

    if len(refused) == of:
        more = f" (and {of - 1} more, none can be used)" if of > 1 else ""
        raise UsageError(f"{clean(refused[0].reason, _LONGEST)}{more}")
    for one in refused[:_NAMED]:
        print(f"gnnbench: skipped: {clean(one.reason, _LONGEST)}", file=sys.stderr)
    if len(refused) > _NAMED:
        print(f"gnnbench: skipped: {len(refused)} of {of} files; --json lists all", file=sys.stderr)


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"'{text}' must be a whole number of runs, as in {NEWEST}")
    return int(text)


class _ReadingProgress:
    """Shows a changing line in a terminal, and prints a line every ten seconds elsewhere."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._console = Console(stderr=True, highlight=False, markup=False)
        self._status: Status | None = None
        self._said = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status:
            self._status.stop()

    def update(self, done: int, of: int) -> None:
        """Show that `done` of `of` are done."""
        text = f"{self._what}: {done} of {of}"
        if self._console.is_terminal:
            if self._status is None:
                self._status = self._console.status(text)
                self._status.start()
            self._status.update(text)
        elif time.monotonic() - self._said >= _EVERY_SECONDS:
            self._said = time.monotonic()
            print(f"gnnbench: {text}", file=sys.stderr)
