"""`gnnbench compare A.json... -- B.json...`: compares saved run files as `--benchmark-compare` does.

With `--by`, it compares the benchmarks of one run: see `compare_by`.
"""

import argparse
import json
import sys
from argparse import SUPPRESS
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..files import real_path, save
from . import compare_by, streams
from .common import add_effect, add_strict, exit_code, say_left_out, thresholds_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..compare.result import Result
    from ..results.run_file import RunFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "base",
        nargs="+",
        type=Path,
        metavar="A.json",
        help="run files of the older version, one for each process; after --: those of the newer version",
    )
    add_effect(parser)
    add_strict(parser)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the result to FILE")
    parser.add_argument(
        "--by",
        metavar="FIELD[=BASE]",
        help="compare the benchmarks of one run that differ only in this field with those in which it is "
        "BASE, or the run's first value. FIELD: platform, dtype, hidden, dataset, threads, or a parameter "
        "of pytest. The files are processes of one run.",
    )
    parser.add_argument(
        "--format", choices=("csv", "json", "markdown"), help="print the result in this form, without a table"
    )
    # The former name of --format markdown.
    parser.add_argument("--markdown", dest="format", action="store_const", const="markdown", help=SUPPRESS)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare, print the verdicts, and return the exit code."""
    if options.by is not None:
        return compare_by.run(options)
    from ..compare.result import of_runs
    from ..report import csv_text
    from ..results import accepted, record_fingerprints

    if not options.rest:
        raise UsageError("name run files on both sides: gnnbench compare A.json... -- B.json...")
    paths = [real_path(path) for path in (*options.base, *map(Path, options.rest))]
    if twice := next((path for path in paths if paths.count(path) > 1), None):
        raise UsageError(f"{twice} is named twice; name each run file once")
    head, base = map(record_fingerprints.read, (map(Path, options.rest), options.base))
    say_left_out((run.path, run.left_out) for run in (*base, *head))
    for side in (base, head):
        _check_versions(side)
    effect = () if options.effect is None else ("--effect", options.effect)
    intended = accepted.find(Path.cwd())
    result = of_runs(base, head, thresholds_of(options), intended, effect)
    found = result.comparison
    if not found.rows:
        raise UsageError("these files contain no benchmarks")
    content = json.dumps(result.as_json(), indent=1) + "\n"
    if options.json:
        save(options.json, content, paths)
    if options.format == "json":
        sys.stdout.write(content)
    elif options.format == "csv":
        sys.stdout.write(csv_text.of_comparison(found))
    else:
        result = replace(result, path=options.json or Path())
        _show(result, _changes(base[0], head[0]), as_markdown=options.format == "markdown")
    return exit_code(found, strict=options.strict)


def _show(result: "Result", changes: "Sequence[str]", *, as_markdown: bool) -> None:
    """Print the verdicts.

    Args:
        result: the verdicts.
        changes: lines on what changed between the sides.
        as_markdown: whether to print Markdown.
    """
    from ..report import causes, markdown, verdicts, wording
    from ..report.document import Note

    if as_markdown:
        noted = replace(result, notes=(*changes, *result.notes))
        sys.stdout.write(markdown.write([noted]))
        return
    table = verdicts.document(result.comparison, causes.of_result(result))
    last = wording.result(result.comparison)
    streams.show([*map(Note, changes), *table, *map(Note, (*result.notes, last))])


def _check_versions(side: "Sequence[RunFile]") -> None:
    """Refuse runs of one side that have different versions."""
    from .. import environment
    from ..compare.runs import describe_fields

    first = side[0]
    for run in side[1:]:
        if run.environment and first.environment:
            fields = environment.differences(first.environment, run.environment, environment.WHAT)
            if fields:
                raise UsageError(
                    f"{first.path} and {run.path} are on one side, but differ in {describe_fields(fields)}; "
                    "give runs of one version on each side"
                )


def _changes(base: "RunFile", head: "RunFile") -> list[str]:
    """Return a line on what differs between the code of two runs, if anything is known to."""
    from ..variants import rebuild

    if not base.sources or not head.sources:
        return []
    # Of other packages, one of the files does not say anything.
    both = {name: one for name, one in base.sources.packages.items() if name in head.sources.packages}
    found = rebuild.differences(replace(base.sources, packages=both), head.sources)
    return [f"since the base: {', '.join(found)}"] if found else []
