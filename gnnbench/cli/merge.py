"""`gnnbench merge SHARD.json... -o WHOLE.json`: the shards of one kind of machine, joined."""

import argparse
import json
from pathlib import Path

from ..errors import UsageError
from ..files import save

MERGED = 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "shards",
        nargs="+",
        type=Path,
        metavar="SHARD.json",
        help="run files (--benchmark-json), or results of gnnbench ab --json, of all shards",
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="WHOLE.json", help="file to write"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Join, save, and return the exit code."""
    from ..compare.merge import merge

    whole = merge(options.shards)
    try:
        text = json.dumps(whole, indent=1, allow_nan=False)
    except ValueError:
        raise UsageError("a shard has a number that is too large; save it again") from None
    save(options.output, f"{text}\n", options.shards)
    cut_short = len(whole.get("gnnbench", {}).get("incomplete", ()))
    more = f", {cut_short} cut short" if cut_short else ""
    print(f"{len(options.shards)} files, {len(whole['benchmarks'])} benchmarks{more}: {options.output}")
    return MERGED
