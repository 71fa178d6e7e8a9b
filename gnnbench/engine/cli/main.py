"""The `gnnbench` command."""

import argparse
import pkgutil
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

from ... import __version__
from ..ground import settings, signals
from ..ground.errors import UsageError, one_line, unknown_name
from ..ground.packages import missing
from ..store import option_defaults
from ..store.suite import installed
from . import streams
from .common import INTERRUPTED, WRONG_USAGE

_COMMANDS = (
    *("doctor", "init", "baseline", "ab", "accept", "affected", "bisect"),
    *("profile", "compare", "comment", "merge", "report"),
)
"""The modules of this folder that are subcommands, in the order of `--help`, after the suite's."""
_APPS = Path(__file__).parents[2] / "apps"
"""Each folder in `apps` is a subcommand, too. Its functions are in the folder's module `command`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code, see docs/cli.md."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    with streams.prepared(), signals.as_ctrl_c() as received:
        try:
            status = _run(words)
        except UsageError as error:
            status = _failed(str(error))
        except KeyboardInterrupt:
            _failed("interrupted; nothing was saved")
            status = INTERRUPTED
        except BrokenPipeError:
            status = _failed("the output was closed before everything was written")
        except OSError as error:
            where = "" if error.filename is None else f"{error.filename}: "
            status = _failed(one_line(f"{where}{error.strerror or error}"))
        except Exception as error:  # noqa: BLE001 - Python's exit code for an exception, 1, means "slower" here
            bug = f"this is a bug in gnnbench, please report it\n{traceback.format_exc()}"
            status = _failed(_fault_of_machine(error) or bug)
        finally:
            streams.discard()
    return 128 + received[-1] if received else status


def _run(words: list[str]) -> int:
    """Run the command, and flush its output so that a failed write is noticed here."""
    end = words.index("--") if "--" in words else len(words)
    try:
        options, unknown = _parser(words[:1]).parse_known_args(words[:end])
    finally:
        sys.stdout.flush()  # --help raises SystemExit, before invalid settings could matter
    if unknown:
        raise _unknown(options.parser, unknown)
    option_defaults.take(options, settings.find(_current_folder()))
    options.rest = words[end + 1 :]
    try:
        status: int = options.run(options)
    except SystemExit:  # rich raises it when a pipe is closed
        raise BrokenPipeError from None
    sys.stdout.flush()
    return status


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError("the current folder has been removed: change to another folder") from None


def _unknown(parser: argparse.ArgumentParser, words: Sequence[str]) -> UsageError:
    """Return the error for words that a command does not take."""
    names = re.findall(r"--([\w-]+)", parser.format_usage()) if words[0].startswith("--") else ()
    similar = get_close_matches(words[0][2:].partition("=")[0], names, n=1)
    more = ", and arguments of pytest come after --" if "PYTEST" in parser.format_help() else ""
    hint = f": did you mean --{similar[0]}?" if similar else f"; {parser.prog} --help lists all{more}"
    return UsageError(f"unknown argument '{words[0]}'{hint}")


def _fault_of_machine(error: Exception) -> str | None:
    """Return which package or memory the machine lacks, and what to do. Returns None for other errors."""
    if isinstance(error, MemoryError):
        return "memory ran out: stop other programs, or raise the limit of memory (ulimit -v)"
    if not isinstance(error, ImportError) or not error.name:
        return None
    package = error.name.partition(".")[0]
    if isinstance(error, ModuleNotFoundError):
        return missing((package,))
    if package == __name__.partition(".")[0]:
        return None
    reason = one_line(f"{package} cannot be imported: {error}")
    return f"{reason}; install it again, or raise the limit of memory (ulimit -v)"


def _failed(text: str) -> int:
    """Print an error message, and return the exit code."""
    line, _, rest = text.partition("\n")
    with suppress(OSError):
        streams.say(f"gnnbench: {line}", sys.stderr)
        if rest:
            print(rest, file=sys.stderr)
    return WRONG_USAGE


def _parser(first: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of all commands. Raises UsageError if `first`, the first word, is no command."""
    parser = argparse.ArgumentParser(
        prog="gnnbench",
        description="Tells whether a change made code slower, by how much, and why; pytest runs benchmarks.",
    )
    parser.add_argument("--version", action="version", version=f"gnnbench {__version__}")
    parser.set_defaults(table=((), ()))
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", dest="command")
    modules = {
        **installed().commands(),
        **{name: import_module(f".{name}", __package__) for name in _COMMANDS},
        **{
            app.name: import_module(f"...apps.{app.name}.command", __package__)
            for app in pkgutil.iter_modules([str(_APPS)])
        },
    }
    for word in first:
        if word not in modules and not word.startswith("-"):
            raise unknown_name("command", word, modules)
    for name, module in modules.items():
        usage, _, what = str(module.__doc__).partition("\n")[0].replace("`", "").partition(": ")
        command = commands.add_parser(name, help=what, description=f"{usage}: {what}")
        command.set_defaults(run=module.run, parser=command)
        module.add_arguments(command)
    return parser
