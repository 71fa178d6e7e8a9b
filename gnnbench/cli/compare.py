"""`gnnbench compare A.json... -- B.json...`: compares saved run files as `--benchmark-compare` does."""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .. import units
from ..errors import UsageError
from ..files import real_path, save
from ..options import fraction
from . import streams
from .common import add_effect, exit_code

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    parser.add_argument(
        "--strict", action="store_true", help="exit with 3 if a benchmark is undecided or incomparable"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the result to FILE")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare, print the verdicts, and return the exit code."""
    from ..compare import calibration, result_file, runs
    from ..compare.acceptance import Acceptance
    from ..compare.revision import Revision
    from ..compare.verdict import Thresholds
    from ..files import cache_folder
    from ..report import markdown
    from ..report import verdicts as verdict_table
    from ..report.calibration import notes as calibrated_notes
    from ..results import accepted, record_fingerprints

    if not options.rest:
        raise UsageError("name run files on both sides: gnnbench compare A.json... -- B.json...")
    paths = [real_path(path) for path in (*options.base, *map(Path, options.rest))]
    if twice := next((path for path in paths if paths.count(path) > 1), None):
        raise UsageError(f"{twice} is named twice; name each run file once")
    head, base = map(record_fingerprints.read, (map(Path, options.rest), options.base))
    for side in (base, head):
        _check_versions(side)
    thresholds = Thresholds(fraction("effect", options.effect))
    revisions = Revision.of_runs(base), Revision.of_runs(head)
    acceptance = Acceptance(accepted.find(Path.cwd()), Path.cwd())
    found = acceptance.judge(runs.compare(base, head, thresholds), thresholds, lambda _: revisions)
    rows = found.rows
    if not rows:
        raise UsageError("these files contain no benchmarks")
    if options.json:
        content = result_file.compare_json(
            found, thresholds, [one.path for one in base], [one.path for one in head], revisions
        )
        save(options.json, json.dumps(content, indent=1) + "\n", paths)
    here, changes = head[0].environment, _changes(base[0], head[0])
    names = [row.fullname for row in rows]
    known = (
        calibrated_notes(
            calibration.CalibrationStore(cache_folder(), here), names, thresholds.effect, Path.cwd()
        )
        if here
        else []
    )
    if options.markdown:
        older, newer = (units.count(len(side), "run") for side in (base, head))
        result = result_file.ResultFile(
            options.json or Path(),
            "compare",
            found,
            thresholds,
            older,
            newer,
            notes=(*changes, *acceptance.lines()),
        )
        sys.stdout.write(markdown.write([markdown.section(result, known)]))
    else:
        for line in changes:
            streams.say(line)
        verdict_table.write(found, streams.write_rendered, streams.width(), colour=sys.stdout.isatty())
        for note in (*acceptance.lines(), *known):
            streams.say(note)
        print(verdict_table.count(rows))
    return exit_code(found, strict=options.strict)


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
