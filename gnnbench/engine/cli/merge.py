"""`gnnbench merge SHARD.json... -o WHOLE.json`: joins the results of shards."""

import argparse
import json
from pathlib import Path

from ..ground import units
from ..ground.files import save


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shards",
        nargs="+",
        type=Path,
        metavar="SHARD.json",
        help="run files (--benchmark-json) or results of gnnbench ab --json: one file for each shard, all "
        "measured on the same kind of machine",
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="WHOLE.json", help="write the result to this file"
    )


def run(options: argparse.Namespace) -> int:
    """Join the files, save the result, and return the exit code."""
    from ..drive.merge import merge

    result = merge(options.shards)
    save(options.output, json.dumps(result, indent=1) + "\n", options.shards)
    incomplete = len(result.get("gnnbench", {}).get("incomplete", ()))
    more = f", {incomplete} interrupted" if incomplete else ""
    files = units.count(len(options.shards), "file")
    benchmarks = result["comparison"]["rows"] if "comparison" in result else result["benchmarks"]
    count = units.count(len(benchmarks), "benchmark")
    print(f"{files}, {count}{more}: {options.output}")
    return 0
