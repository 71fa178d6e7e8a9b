"""`gnnbench compare A.json... -- B.json...`: compares saved run files as `--benchmark-compare` does.

With `--by`, it compares the benchmarks of one run.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..ground.codec import as_text
from ..ground.errors import UsageError
from ..ground.files import distinct, save
from . import streams
from .common import (
    EFFECT,
    NOT_JUDGED,
    NOTHING_SLOWER,
    STRICT,
    add_json,
    add_verbose,
    declare,
    effect_of,
    exit_code,
    say_left_out,
    thresholds_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..show.document import Document
    from ..store.run_file import RunFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "base",
        nargs="+",
        type=Path,
        metavar="A.json",
        help="run files of the older version, one for each process; after --: those of the newer version",
    )
    declare(parser, (), (EFFECT, STRICT))
    add_json(parser)
    add_verbose(parser)
    parser.add_argument(
        "--by",
        metavar="FIELD[=BASE]",
        help="compare the benchmarks of one run that differ only in this field with those in which it is "
        "BASE, or the run's first value. FIELD: platform, dtype, hidden, dataset, threads, or a parameter "
        "of pytest. The files are processes of one run.",
    )
    parser.add_argument(
        "--format", choices=("json", "markdown"), help="print the result in this form, without a table"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare, print the verdicts, and return the exit code."""
    paths = distinct((*options.base, *map(Path, options.rest)))
    return _two_sides(options, paths) if options.by is None else _along(options, paths)


def _two_sides(options: argparse.Namespace, paths: "Sequence[Path]") -> int:
    from ..drive.result import of_runs
    from ..drive.runs import check_alike
    from ..ground.environment import WHAT
    from ..show import causes, markdown, verdicts, wording
    from ..show.lines import Note
    from ..store import run_file

    if not options.rest:
        raise UsageError("name run files on both sides: gnnbench compare A.json... -- B.json...")
    head, base = ([run_file.read(Path(file)) for file in side] for side in (options.rest, options.base))
    say_left_out((run.path, run.left_out) for run in (*base, *head))
    for side in (base, head):
        check_alike(side, WHAT, "not of the versions of", "give runs of one version on each side")
    effect = () if options.effect is None else ("--effect", options.effect)
    result = of_runs(base, head, thresholds_of(options), effect)
    found = result.comparison
    if not found.rows:
        raise UsageError("these files contain no benchmarks")
    notes = (*_changes(base[0], head[0]), *result.notes)
    result = replace(result, path=options.json or Path(), notes=notes)
    _give(
        options,
        paths,
        result,
        lambda: [
            *verdicts.document(found, causes.of_result(result), result, verbose=options.verbose),
            Note(wording.result(found)),
        ],
        markdown=lambda: markdown.write(result),
    )
    return exit_code(found, strict=options.strict)


def _along(options: argparse.Namespace, paths: "Sequence[Path]") -> int:
    """Compare the benchmarks of one run: nothing within a run is a regression."""
    from ..drive import along
    from ..judge.verdict import Thresholds
    from ..show import along as along_document
    from ..show import markdown_text
    from ..store import run_file

    if options.rest:
        raise UsageError("--by compares within one run: name its files without --, one for each process")
    axis = along.Axis.parse(options.by)
    thresholds = Thresholds(effect_of(options))
    runs = [run_file.read(path) for path in options.base]
    say_left_out((run.path, run.left_out) for run in runs)
    found = along.compare(runs, axis, thresholds)
    _give(
        options,
        paths,
        found,
        lambda: along_document.document(found, verbose=options.verbose),
        markdown=lambda: markdown_text.Markdown().write(along_document.document(found)),
    )
    compared = [row for row in found.rows if row.judgement.ratio is not None]
    verdicts = {row.judgement.verdict for row in found.rows}
    unsure = options.strict and verdicts & {"undecided", "incomparable"}
    return NOTHING_SLOWER if compared and not unsure else NOT_JUDGED


def _give(
    options: argparse.Namespace,
    paths: "Sequence[Path]",
    content: object,
    document: "Callable[[], Document]",
    **forms: "Callable[[], str]",
) -> None:
    """Save the result if that is asked for, and print it: as a document, or in the form that is asked for."""
    text = as_text(content)
    if options.json:
        save(options.json, text, paths)
    if options.format:
        sys.stdout.write(text if options.format == "json" else forms[options.format]())
    else:
        streams.show(document())


def _changes(base: "RunFile", head: "RunFile") -> list[str]:
    """Return a line on what differs between the code of two runs, if anything is known to."""
    from ..process.variants import rebuild

    if not base.sources or not head.sources:
        return []
    # Of other packages, one of the files does not say anything.
    both = {name: one for name, one in base.sources.packages.items() if name in head.sources.packages}
    found = rebuild.differences(replace(base.sources, packages=both), head.sources)
    return [f"since the base: {', '.join(found)}"] if found else []
