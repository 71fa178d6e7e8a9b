"""`gnnbench submit --slurm -- COMMAND`: runs shards on the machines of a cluster, and merges them."""

import argparse
from pathlib import Path

from ..errors import UsageError
from . import streams
from .common import NOTHING_SLOWER, exit_code

_SHARDS = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--slurm", action="store_true", required=True, help="the cluster's scheduler is Slurm"
    )
    parser.add_argument(
        "--shards",
        type=_count,
        default=_SHARDS,
        metavar="N",
        help=f"number of shards, each on a machine of its own. Default: {_SHARDS}.",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="WHOLE.json",
        help="write the merged result to this file",
    )
    parser.add_argument(
        "--sbatch",
        action="append",
        default=[],
        metavar="OPTION",
        help="option of sbatch for the shards, such as --sbatch=--partition=gpu; repeatable",
    )
    parser.add_argument(
        "--wait", action="store_true", help="wait for the result, and exit as the command would"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Submit the jobs, say where the result will be, and return the exit code."""
    from ..compare import result
    from ..variants import slurm

    jobs = slurm.submit(options.rest, options.shards, options.output, options.sbatch, wait=options.wait)
    if not options.wait:
        streams.say(f"submitted: {options.shards} shards as job {jobs.array}; job {jobs.merge} merges them")
        streams.say(f"the result will be {options.output}; logs and files of the shards: {jobs.folder}")
        streams.say(
            f"to see them: squeue -j {jobs.array},{jobs.merge}; to stop: scancel {jobs.array} {jobs.merge}"
        )
        return NOTHING_SLOWER
    if not options.output.exists():
        raise UsageError(f"{options.output} was not written: see the logs in {jobs.folder}")
    streams.say((jobs.folder / "merge.log").read_text(errors="replace").strip())
    if options.rest[1:2] != ["ab"]:
        return NOTHING_SLOWER
    return exit_code(result.read(options.output).comparison, strict="--strict" in options.rest)


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text} must be at least 1")
    return count
