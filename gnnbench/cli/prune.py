"""`gnnbench prune [WORD...]`: removes the packages that pip installed for variants."""

import argparse
from datetime import UTC, datetime

from .. import units
from ..files import cache_folder
from . import streams
from .common import NOTHING_SLOWER


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "words",
        nargs="*",
        metavar="WORD",
        help="only those with this in what is listed: torch==2.12.0",
    )
    parser.add_argument("--yes", action="store_true", help="remove them, instead of only listing them")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """List or remove them, and return the exit code."""
    from ..variants import overlay

    cache, removed_bytes = cache_folder(), 0
    found = [
        one
        for one in overlay.kept(cache)
        if not options.words or any(word in one.packages for word in options.words)
    ]
    for one in found:
        is_removed = options.yes and one.remove()
        removed_bytes += one.size_bytes if is_removed else 0
        what = "removed" if is_removed else "kept, as a run uses it:" if options.yes else "would remove"
        day = datetime.fromtimestamp(one.used_at, UTC).date()
        streams.say(f"{what} {one.packages}, {units.size(one.size_bytes)}, last used {day}")
    if not found:
        streams.say(f"nothing to remove in {cache}")
    elif options.yes:
        streams.say(f"{units.size(removed_bytes)} removed")
    return NOTHING_SLOWER
