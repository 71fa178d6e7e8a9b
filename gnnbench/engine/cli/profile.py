"""`gnnbench profile SELECT --with KIND`: shows where a benchmark spends its time."""

import argparse
import sys

from ..ground.errors import UsageError
from ..ground.options import OPTIONS, PROFILE_KINDS
from ..store.option_defaults import every, passed_on
from ..store.suite import installed
from . import streams
from .common import INTERRUPTED
from .profile_session import COMMAND, DEFAULT, ProfileSession


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    short = "".join(f", or {name} for {test}" for name, test in installed().tests.items())
    parser.add_argument(
        "select",
        nargs="?",
        metavar="SELECT",
        help="an operation (spmm_sum) or a prefix of several names (spmm), a test's node id, an expression "
        f"for pytest's -k{short}",
    )
    kinds = ", ".join(PROFILE_KINDS)
    text = f"kind of profile; repeatable or comma-separated: {kinds}. Default: {','.join(DEFAULT)}."
    OPTIONS["profile"].declare(parser.add_argument, text=text)
    passed_on = [one for one in every().values() if one.passed_on]
    for option in (*passed_on, OPTIONS["epochs"], OPTIONS["profile-folder"]):
        option.declare(parser.add_argument)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Profile, print the tables, and return the exit code."""
    if not options.select:
        raise UsageError(f"name a benchmark: {COMMAND}, such as gnnbench profile epoch")
    session = ProfileSession(options)
    try:
        with passed_on(options.settings, session.wanted.arguments):
            return _show(session)
    except KeyboardInterrupt:
        streams.say(f"gnnbench: interrupted; finished profiles are in {session.wanted.folder}", sys.stderr)
        return INTERRUPTED


def _show(session: ProfileSession) -> int:
    """Profile the installed code, and print the tables."""
    from ..show.profile import pages

    profiles = session.profile()
    for page in pages(list(profiles.values())):
        print(f"\n{page}")
    return session.status(profiles)
