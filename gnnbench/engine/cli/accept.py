"""`gnnbench accept FILE [ID...] --reason TEXT`: marks a change as intended."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..ground import units
from ..ground.errors import UsageError
from . import streams
from .common import NOTHING_SLOWER

if TYPE_CHECKING:
    from ..judge.accepted import Accepted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="result of gnnbench ab --json or gnnbench compare --json, or the run file of "
        "pytest --benchmark-compare --benchmark-json=FILE",
    )
    parser.add_argument(
        "ids",
        nargs="*",
        metavar="ID",
        help="the benchmarks to accept. Default: all that are slower or need more memory; with --result, "
        "also those with a different output.",
    )
    parser.add_argument(
        "--result", action=argparse.BooleanOptionalAction, help="also accept different outputs"
    )
    parser.add_argument("--reason", required=True, metavar="TEXT", help="why the changes are intended")


def run(options: argparse.Namespace) -> int:
    """Add entries to accepted.toml, print what was accepted, and return the exit code."""
    from ..drive import settle
    from ..store import accepted

    reason = " ".join(options.reason.split())
    if not reason:
        raise UsageError("--reason is empty; say why the change is intended")
    old = _file()
    new = settle.new_entries(options.file, options.ids, old, reason, results=bool(options.result))
    accepted.write(old, new)
    for entry in new:
        ratio = units.ratio(entry.ratio, changed=True)
        times = [f"{ratio} ({units.interval(entry.low, entry.high)})"] if entry.slows else []
        memory = [f"{units.size(entry.more_bytes)} more memory"] if entry.more_bytes else []
        outputs = ["a different output"] if entry.result else []
        streams.say(f"accepted {' and '.join(times + memory + outputs)}: {entry.benchmark}")
    count = "1 entry" if len(new) == 1 else f"{len(new)} entries"
    streams.say(f"{count} written to {old.file}; commit the file together with the change")
    return NOTHING_SLOWER


def _file() -> "Accepted":
    """Return the project's accepted.toml, or a new one in pytest's rootdir if there is none."""
    from ..plugin.rootdir import rootdir
    from ..store import accepted

    nearest = accepted.find(Path.cwd())
    return nearest if nearest.file.exists() else accepted.find(rootdir())
