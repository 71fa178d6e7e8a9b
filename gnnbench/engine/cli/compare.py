"""`gnnbench compare A.json... -- B.json...`: compares saved runs, or with --by the benchmarks of one run."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..ground.errors import UsageError
from ..ground.files import check_writable, distinct
from . import common, streams

if TYPE_CHECKING:
    from ..store.run_file import RunFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "base",
        nargs="+",
        type=Path,
        metavar="A.json",
        help="run files of the older version, one for each process; after --: those of the newer version",
    )
    common.declare(parser, (), (common.EFFECT, common.STRICT))
    parser.add_argument(
        "--by",
        metavar="FIELD[=BASE]",
        help="compare benchmarks of one run that differ only in FIELD: platform, dtype, hidden, dataset, "
        "threads, or a pytest parameter. BASE is the value to compare with; default: the run's first. The "
        "files are processes of one run.",
    )
    common.add_output(parser)


def run(options: argparse.Namespace) -> int:
    """Compare, print the verdicts, and return the exit code."""
    paths = distinct((*options.base, *map(Path, options.rest)))
    if options.json:
        check_writable(options.json, paths)
    return _two_sides(options) if options.by is None else _along(options)


def _two_sides(options: argparse.Namespace) -> int:
    """Compare the runs before and after `--`, print the verdicts, and return the exit code."""
    from ..drive import runs
    from ..ground.environment import VERSIONS
    from ..show import causes, verdicts, wording
    from ..show.lines import Note
    from ..store import run_file

    if not options.rest:
        raise UsageError("give run files on both sides of --: gnnbench compare A.json... -- B.json...")
    head, base = ([run_file.read(Path(file)) for file in side] for side in (options.rest, options.base))
    for side in (base, head):
        runs.check_alike(side, VERSIONS, "not of the same versions as", "give runs of one version per side")
    effect = options.typed.get("effect")
    result = runs.result(base, head, common.thresholds_of(options), ("--effect", effect) if effect else ())
    comparison = result.comparison
    if not comparison.rows:
        raise UsageError("these files contain no benchmarks")
    notes = (*_changes(base[0], head[0]), *result.notes)
    result = replace(result, path=options.json or Path(), notes=notes)
    table = verdicts.document(comparison, causes.of_result(result), result, verbose=options.verbose)
    with common.saving(options.json, result):
        streams.show([*table, Note(wording.result(comparison))])
    return common.exit_code(comparison, strict=options.strict)


def _along(options: argparse.Namespace) -> int:
    """Compare the benchmarks of one run with each other. `slower` does not mean a regression here."""
    from ..drive import along
    from ..judge.verdict import Thresholds
    from ..show.along import document
    from ..store import run_file

    if options.rest:
        raise UsageError("--by compares within one run: give its files without --, one for each process")
    runs = [run_file.read(path) for path in options.base]
    result = along.compare(runs, along.Axis.parse(options.by), Thresholds(options.effect))
    with common.saving(options.json, result):
        streams.show(document(result, verbose=options.verbose))
    has_ratios = any(row.judgement.ratio is not None for row in result.rows)
    verdicts = {row.judgement.verdict for row in result.rows}
    inconclusive = options.strict and verdicts & {"undecided", "incomparable"}
    return common.NOTHING_SLOWER if has_ratios and not inconclusive else common.NOT_JUDGED


def _changes(base: "RunFile", head: "RunFile") -> list[str]:
    """Return a line on what differs between the code of two runs. Empty if no difference is known."""
    from ..process.variants import rebuild

    if not base.sources or not head.sources:
        return []
    # Only packages that both files list can be compared.
    packages = {name: item for name, item in base.sources.packages.items() if name in head.sources.packages}
    lines = rebuild.differences(replace(base.sources, packages=packages), head.sources)
    return [f"changed since the base: {', '.join(lines)}"] if lines else []
