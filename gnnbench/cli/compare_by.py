"""`gnnbench compare --by FIELD RUN.json...`: compares the benchmarks of one run along a field."""

import argparse
import json
import sys

from ..errors import UsageError
from ..files import real_path, save
from . import streams
from .common import NOT_JUDGED, NOTHING_SLOWER, effect_of, say_left_out


def run(options: argparse.Namespace) -> int:
    """Compare, print the rows, and return the exit code: nothing within a run is a regression."""
    from ..compare import along
    from ..compare.axis import Axis
    from ..compare.verdict import Thresholds
    from ..report import along as along_document
    from ..report import csv_text, markdown_text
    from ..results import run_file

    if options.rest:
        raise UsageError("--by compares within one run: name its files without --, one for each process")
    axis = Axis.parse(options.by)
    paths = [real_path(path) for path in options.base]
    if twice := next((path for path in paths if paths.count(path) > 1), None):
        raise UsageError(f"{twice} is named twice; name each run file once")
    thresholds = Thresholds(effect_of(options))
    runs = [run_file.read(path) for path in options.base]
    say_left_out((run.path, run.left_out) for run in runs)
    found = along.compare(runs, axis, thresholds)
    content = json.dumps(found.as_json(thresholds, options.base), indent=1) + "\n"
    if options.json:
        save(options.json, content, paths)
    if options.format == "json":
        sys.stdout.write(content)
    elif options.format == "csv":
        sys.stdout.write(csv_text.of_along(found))
    elif options.format == "markdown":
        sys.stdout.write(markdown_text.markdown(along_document.document(found, thresholds)))
    else:
        streams.show(along_document.document(found, thresholds))
    compared = [row for row in found.rows if row.judgement.ratio is not None]
    verdicts = {row.judgement.verdict for row in found.rows}
    unsure = options.strict and verdicts & {"undecided", "incomparable"}
    return NOTHING_SLOWER if compared and not unsure else NOT_JUDGED
