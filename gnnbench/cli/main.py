"""The `gnnbench` command."""

import argparse
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress

from .. import __version__, signals
from ..errors import UsageError, one_line
from ..options import HELP
from . import ab, baseline, calibrate, comment, compare, merge, profile, report, streams, trend
from .compare import NOTHING_SLOWER

WRONG_USAGE = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code, see docs/cli.md; what follows `--` is the command's own."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    streams.prepare()
    with signals.as_ctrl_c() as received:
        try:
            status = _run(words)
        except UsageError as error:
            status = _failed(str(error))
        except KeyboardInterrupt:
            _failed("interrupted; nothing was saved")
            status = INTERRUPTED
        except BrokenPipeError:
            status = _failed("the output was closed before all of it was written")
        except OSError as error:
            where = "" if error.filename is None else f"{error.filename}: "
            status = _failed(one_line(f"{where}{error.strerror or error}"))
        except Exception:  # noqa: BLE001 - Python's own exit code would be that of "slower"
            status = _failed(f"a mistake in gnnbench itself, please report it\n{traceback.format_exc()}")
        finally:
            streams.discard()
    return 128 + received.number if received.number else status


def _run(words: list[str]) -> int:
    """Run the command, and have all written that it prints.

    Raises:
        UsageError: something that the user gave or has here cannot be used.
        OSError: the output takes no more, or a file cannot be read or written.
    """
    end = words.index("--") if "--" in words else len(words)
    try:
        options = _parser().parse_args(words[:end])
    finally:
        sys.stdout.flush()  # --help ends here
    options.rest = words[end + 1 :]
    try:
        status: int = options.run(options)
    except SystemExit:  # with which rich answers a closed pipe
        raise BrokenPipeError from None
    sys.stdout.flush()
    return status


def _failed(text: str) -> int:
    with suppress(OSError):
        print(f"gnnbench: {text}", file=sys.stderr)
    return WRONG_USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gnnbench",
        description="Performance regression suite for graph neural network kernels. "
        "The benchmarks themselves run as: pytest benchmarks",
    )
    parser.add_argument("--version", action="version", version=f"gnnbench {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, run, text in (
        ("list", _list, "data sets, platforms and operations, and which are here"),
        ("doctor", _doctor, "what is installed, what is missing, and what will disturb timings"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--data", metavar="ROOT", help=HELP["data"])
        command.set_defaults(run=run)
    text = "saved timings to compare with: record, list, show, verify, prune"
    baseline.add_commands(commands.add_parser("baseline", help=text, description=text))
    text = "time two variants in turns: ab BASE HEAD [-- PYTEST ARGS]"
    ab.add_arguments(commands.add_parser("ab", help=text, description=text))
    text = "how often ab is wrong on this machine, and the smallest slowdown that it finds"
    calibrate.add_arguments(commands.add_parser("calibrate", help=text, description=text))
    text = "why a benchmark takes as long as it does: profile SELECT --with KIND"
    profile.add_arguments(commands.add_parser("profile", help=text, description=text))
    text = "judge saved runs: compare A.json... -- B.json..."
    compare.add_arguments(commands.add_parser("compare", help=text, description=text))
    text = "write results as a pull request's comment: comment RESULT.json..."
    comment.add_arguments(commands.add_parser("comment", help=text, description=text))
    text = "join the shards of one kind of machine: merge SHARD.json... -o WHOLE.json"
    merge.add_arguments(commands.add_parser("merge", help=text, description=text))
    text = "a page of what was measured and judged: report RUN.json [BASE.json ...]"
    report.add_arguments(commands.add_parser("report", help=text, description=text))
    text = "what changed in a history of runs, and when: trend DIR|GLOB"
    trend.add_arguments(commands.add_parser("trend", help=text, description=text))
    return parser


def _list(options: argparse.Namespace) -> int:
    from rich.console import Console

    from ..files import cache_folder
    from ..report import listing
    from ..workloads.graphs.locate import data_folder

    console = Console(highlight=False, markup=False)  # x[source] is code
    for table in listing.tables(data_folder(options.data), cache_folder()):
        console.print(table)
        console.print()
    return NOTHING_SLOWER


def _doctor(options: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from ..files import cache_folder
    from ..workloads.graphs.locate import data_folder
    from . import doctor

    console = Console(highlight=False)
    marks = {"ok": "[green]ok[/green]", "note": "[yellow]note[/yellow]", "missing": "[red]missing[/red]"}
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    unusable = False
    with console.status("looking"):
        for finding in doctor.examine(data_folder(options.data), cache_folder()):
            remedy = f"\n→ {finding.remedy}" if finding.remedy else ""
            table.add_row(finding.what, marks[finding.status], escape(f"{finding.detail}{remedy}"))
            unusable |= finding.required and finding.status == "missing"
    console.print(table)
    return WRONG_USAGE if unusable else NOTHING_SLOWER
