"""What several subcommands share: exit codes and arguments."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..options import EFFECT, TIMEOUT_SECONDS

if TYPE_CHECKING:
    from ..compare.comparison import Comparison

NOTHING_SLOWER, SLOWER, NOT_JUDGED = 0, 1, 3
INTERRUPTED = 130


def add_effect(parser: argparse.ArgumentParser, text: str = "minimum effect of interest") -> None:
    """Declare `--effect`."""
    parser.add_argument("--effect", default=f"{EFFECT:.0%}", metavar="E", help=f"{text}. Default: 3%%.")


def add_variants(parser: argparse.ArgumentParser) -> None:
    """Declare BASE and HEAD, and the options of the processes that run them."""
    kinds = "git:REF, git:DIR@REF, path:DIR, pip:REQUIREMENT, env:NAME=VALUE, or . for the working tree"
    parser.add_argument(
        "base",
        metavar="BASE",
        help=f"the older variant: {kinds}; to combine several, quote them as one argument",
    )
    parser.add_argument("head", metavar="HEAD", help="the newer variant")
    add_processes(parser)


def add_processes(parser: argparse.ArgumentParser) -> None:
    """Declare the options of processes that run variants, and `--json`."""
    parser.add_argument(
        "--timeout",
        type=positive_seconds,
        default=TIMEOUT_SECONDS,
        metavar="S",
        help=f"stop a process that has not answered for S seconds. Default: {TIMEOUT_SECONDS:.0f}.",
    )
    parser.add_argument(
        "--dependencies", action="store_true", help="also install the dependencies of pip: requirements"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the result to FILE")


def positive_seconds(text: str) -> float:
    """Read a number of seconds; argparse reports one that is not positive."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} must be more than 0 seconds, as in 30")
    return seconds


def exit_code(found: "Comparison", *, strict: bool) -> int:
    """Return the exit code for a comparison, see docs/cli.md."""
    verdicts: set[str] = {row.judgement.verdict for row in found.rows}
    judged = any(row.judgement.judged for row in found.rows)
    if found.shared:
        verdicts.add(found.shared.verdict)
    if "slower" in verdicts:
        return SLOWER
    unsure = verdicts & {"undecided", "incomparable"}
    return NOTHING_SLOWER if judged and not (strict and unsure) else NOT_JUDGED
