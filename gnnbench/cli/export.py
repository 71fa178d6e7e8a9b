"""`gnnbench export RUN.json --to FORMAT`: writes a run's times in the format of another tool."""

import argparse
import json
import sys
from pathlib import Path

from ..files import save
from . import streams

EXPORTED = 0
FORMATS = ("bencher", "github-action-benchmark", "csv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "run_file", type=Path, metavar="RUN.json", help="a run file of pytest --benchmark-json"
    )
    parser.add_argument(
        "--to",
        required=True,
        choices=FORMATS,
        help="bencher: Bencher Metric Format; github-action-benchmark: its tool customSmallerIsBetter; csv: "
        "a row for each benchmark",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write to FILE, not to standard output"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the export, and return 0."""
    from ..report import export

    found, left_out = export.read(options.run_file)
    if options.to == "csv":
        text = export.csv(found)
    else:
        make = export.bencher if options.to == "bencher" else export.github_action_benchmark
        text = json.dumps(make(found), indent=1, allow_nan=False) + "\n"
    for line in left_out:
        streams.say(f"gnnbench: {line}", sys.stderr)
    if options.output:
        save(options.output, text, [options.run_file])
    else:
        sys.stdout.write(text)
    return EXPORTED
