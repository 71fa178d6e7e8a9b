"""`gnnbench profile SELECT --with KIND`: shows where a benchmark spends its time."""

import argparse
import sys
from pathlib import Path

from ..errors import UsageError
from ..option_defaults import passed_on
from ..options import OPTIONS
from ..profile.kinds import KINDS
from . import streams
from .profile_session import COMMAND, DEFAULT, DONE, EPOCH, INTERRUPTED, SORT, Session


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "select",
        nargs="?",
        metavar="SELECT",
        help="an operation (spmm_sum) or a prefix of several names (spmm), a test's node id, an expression "
        f"for pytest's -k, or epoch for {EPOCH}",
    )
    text = (
        f"kind of profile; repeatable or comma-separated: {', '.join(KINDS)}. Default: {','.join(DEFAULT)}."
    )
    OPTIONS["profile"].declare(parser.add_argument, text=text)
    passed_on = [one for one in OPTIONS.values() if one.passed_on]
    for option in (*passed_on, OPTIONS["epochs"], OPTIONS["profile-folder"]):
        option.declare(parser.add_argument)
    parser.add_argument(
        "--sort",
        default=SORT,
        metavar="ORDER",
        help=f"sort order of the function table: cumulative, self or calls. Default: {SORT}.",
    )
    parser.add_argument("--seed-table", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "--diff",
        nargs=2,
        metavar=("A", "B"),
        help="compare the counts of two saved profiles; with SELECT, A and B are variants as in gnnbench ab: "
        "profile both, and compare counts and times",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Profile, print the tables, and return the exit code."""
    if options.seed_table:
        raise UsageError("--seed-table was removed: gnnbench profile epoch --with layers has today's figures")
    if options.diff and not options.select:
        return _compare_saved(*map(Path, options.diff))
    if not options.select:
        raise UsageError(f"name a benchmark: {COMMAND}, such as gnnbench profile epoch")
    session = Session(options)
    try:
        with passed_on(options.settings, session.wanted.arguments):
            if options.diff:
                from . import profile_diff

                return profile_diff.run(session, options.diff)
            return session.show()
    except KeyboardInterrupt:
        streams.say(f"gnnbench: interrupted; finished profiles are in {session.wanted.folder}", sys.stderr)
        return INTERRUPTED


def _compare_saved(before: Path, after: Path) -> int:
    from ..profile import diff, record
    from .profile_diff import instructions_changed

    for path in (before, after):
        if not path.exists():
            raise UsageError(
                f"{path}: there is no such profile; to compare two variants, name a benchmark: {COMMAND}"
            )
    records = [record.read(path) for path in (before, after)]
    print(f"before: {records[0]['id']}\nafter:  {records[1]['id']}")
    print(diff.table(diff.diff(*records)))
    if line := instructions_changed(*records):
        print(line)
    streams.say(f"Saved times are not compared; to compare times: {COMMAND} --diff A B")
    return DONE
