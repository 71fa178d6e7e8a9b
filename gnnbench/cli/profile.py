"""`gnnbench profile SELECT --with KIND`: shows where a benchmark spends its time."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..option_defaults import passed_on
from ..options import OPTIONS
from ..profile.kinds import KINDS
from . import streams
from .common import INTERRUPTED
from .profile_session import COMMAND, DEFAULT, EPOCH, ProfileSession
from .progress import Progress

if TYPE_CHECKING:
    from ..variants.prepare import Prepared

_HASH_SEED = "PYTHONHASHSEED"
_TIMES = "Times of profiles are not compared; to compare times: gnnbench ab BASE HEAD"


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
        "--diff",
        nargs=2,
        metavar=("A", "B"),
        help="compare the counts of two saved profiles; with SELECT, A and B are variants as in gnnbench ab: "
        "profile both",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Profile, print the tables, and return the exit code."""
    if options.diff and not options.select:
        return _compare_saved(*map(Path, options.diff))
    if not options.select:
        raise UsageError(f"name a benchmark: {COMMAND}, such as gnnbench profile epoch")
    session = ProfileSession(options)
    try:
        with passed_on(options.settings, session.wanted.arguments):
            return _compare_variants(session, options.diff) if options.diff else _show(session)
    except KeyboardInterrupt:
        streams.say(f"gnnbench: interrupted; finished profiles are in {session.wanted.folder}", sys.stderr)
        return INTERRUPTED


def _show(session: ProfileSession) -> int:
    """Profile the installed code, and print the tables."""
    from ..profile.process import ProfiledSide
    from ..report.profile import pages

    (profiles,) = session.profile([ProfiledSide()])
    for page in pages(list(profiles.values())):
        print(f"\n{page}")
    return session.status(profiles)


def _compare_saved(before: Path, after: Path) -> int:
    from ..profile import diff, record

    for path in (before, after):
        if not path.exists():
            raise UsageError(
                f"{path}: there is no such profile; to compare two variants, name a benchmark: {COMMAND}"
            )
    records = [record.read(path) for path in (before, after)]
    print(f"before: {records[0].id}\nafter:  {records[1].id}")
    print(diff.described(*records))
    streams.say(_TIMES)
    return 0


def _compare_variants(session: ProfileSession, texts: Sequence[str]) -> int:
    """Profile two variants, and print their differences."""
    from ..profile import diff
    from ..profile.process import ProfiledSide
    from ..variants import variant
    from ..variants.prepare import both

    base, head = (variant.parse(text) for text in texts)
    seed = {_HASH_SEED: os.environ.get(_HASH_SEED, "0")}  # the same order of sets on both sides
    with both(base, head, Path.cwd(), Progress()) as made:
        sides = [
            ProfiledSide(name, one.trees, {**seed, **one.environment})
            for name, one in zip(("before", "after"), made, strict=True)
        ]
        before, after = session.profile(sides)
    for side, one, other in ((sides[0], before, after), (sides[1], after, before)):
        for name in (name for name in one if name not in other):
            session.say(f"{name}: profiled on one side only: {side.name}")
    shared = [name for name in before if name in after]
    for name in shared:
        print(f"\n{before[name].record.id}")
        for side, variant_ in zip(sides, made, strict=True):
            print(f"{side.name + ':':7} {_described(variant_)}")
        print(diff.described(before[name].record, after[name].record))
        print(f"saved in {before[name].folder}\n     and {after[name].folder}")
    streams.say(_TIMES)
    return session.status(shared)


def _described(made: "Prepared") -> str:
    facts = [made.commit[:10]] if made.commit else []
    facts += ["uncommitted changes"] if made.dirty else []
    facts += [f"{folder} {commit[:10]}" for folder, commit in made.checkouts.items()]
    facts += [f"{name} {version}" for name, version in made.versions.items()]
    return f"{made.text} ({', '.join(facts)})" if facts else made.text
