"""`gnnbench profile SELECT --with KIND`: why a benchmark takes as long as it does."""

import argparse
import sys
from pathlib import Path

from ..errors import UsageError
from ..options import FLAGS, HELP, LISTS
from ..profile.kinds import KINDS
from .profile_session import COMMAND, DEFAULT, DONE, EPOCH, INTERRUPTED, PASSED_ON, SORT, Session


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "select",
        nargs="?",
        metavar="SELECT",
        help="an operation or the first words of some, pytest's node id, an expression as after its -k, or "
        f"epoch: {EPOCH}",
    )
    parser.add_argument(
        "--with",
        dest="kinds",
        action="append",
        default=[],
        metavar="KIND",
        help=f"repeatable or comma-separated: {', '.join(KINDS)}. Default: {','.join(DEFAULT)}.",
    )
    for name in (*PASSED_ON, "epochs"):
        if name in LISTS:
            parser.add_argument(f"--{name}", action="append", default=[], metavar="NAME", help=HELP[name])
        elif name in FLAGS:
            parser.add_argument(f"--{name}", action="store_true", help=HELP[name])
        else:
            parser.add_argument(f"--{name}", metavar=name.upper(), help=HELP[name])
    parser.add_argument("--folder", metavar="DIR", help=HELP["profile-folder"])
    parser.add_argument(
        "--sort",
        default=SORT,
        metavar="ORDER",
        help=f"of functions: cumulative, self or calls. Default: {SORT}.",
    )
    parser.add_argument(
        "--seed-table", action="store_true", help="put the figures published in 2021 beside today's"
    )
    parser.add_argument(
        "--diff",
        nargs=2,
        metavar=("A", "B"),
        help="what one call does differently in two saved profiles; with SELECT, also which ranges take "
        "longer, in two variants as in gnnbench ab",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Profile, show, and return the exit code."""
    if options.diff and not options.select:
        return _compare_saved(*map(Path, options.diff))
    if not options.select:
        raise UsageError(f"say what to profile: {COMMAND}, such as gnnbench profile epoch")
    session = Session(options)
    try:
        if options.diff:
            from . import profile_diff

            return profile_diff.run(session, options.diff)
        return session.show()
    except KeyboardInterrupt:
        print(f"gnnbench: interrupted; what was done is in {session.wanted.folder}", file=sys.stderr)
        return INTERRUPTED


def _compare_saved(before: Path, after: Path) -> int:
    from ..profile import diff, record

    for path in (before, after):
        if not path.exists():
            raise UsageError(
                f"{path}: there is no such profile; for two variants say what to profile too: {COMMAND}"
            )
    records = [record.read(path) for path in (before, after)]
    print(f"before: {records[0]['id']}\nafter:  {records[1]['id']}")
    print(diff.table(diff.diff(*records)))
    print(f"Times are compared only where both sides took turns: {COMMAND} --diff A B.")
    return DONE
