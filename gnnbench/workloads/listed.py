"""`gnnbench list`: shows data sets, platforms and operations."""

import argparse

from ..cli import streams
from ..cli.common import NOTHING_SLOWER
from .options import OPTIONS

HELP = "list data sets, platforms (libraries) and operations, and show which are installed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `gnnbench list`."""
    OPTIONS["data"].declare(parser.add_argument)
    parser.add_argument(
        "operations",
        nargs="*",
        metavar="OPERATION",
        help="show all calls of an operation, their limits, and why a platform has none; also the "
        "beginning of several names (spmm)",
    )
    parser.set_defaults(run=_list)


def _list(options: argparse.Namespace) -> int:
    from ..files import cache_folder
    from . import listing
    from .graphs.locate import data_folder

    if options.operations:
        for line in [line for name in options.operations for line in listing.operation(name)]:
            streams.say(line, indent=" " * 9)
        return NOTHING_SLOWER
    folder, cache = data_folder(options.data), cache_folder()
    streams.show(listing.document(folder, cache, streams.width()))
    return NOTHING_SLOWER
