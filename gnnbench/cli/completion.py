"""`gnnbench completion SHELL`: prints the script with which a shell completes commands, options and files."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import packages
from ..errors import UsageError

PRINTED = 0
SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=SHELLS, help="the shell to print the script for")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the script, and return 0.

    Args:
        options: what was typed, and as `parser` the parser of the whole command, which the script completes.

    Raises:
        UsageError: shtab is not installed.
    """
    if reason := packages.missing(("shtab",)):
        raise UsageError(reason)
    import shtab

    for action in _actions(options.parser):
        if action.type is Path:
            action.complete = shtab.FILE  # where shtab looks for it
    sys.stdout.write(shtab.complete(options.parser, shell=options.shell))
    return PRINTED


def _actions(parser: argparse.ArgumentParser) -> Iterator[Any]:
    """Yield the arguments of a command and of its subcommands."""
    for action in parser._actions:  # noqa: SLF001
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for inner in action.choices.values():
                yield from _actions(inner)
