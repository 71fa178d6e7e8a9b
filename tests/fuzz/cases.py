"""One case: files of a kind, of which one is changed at random, and what the commands do with them."""

import contextlib
import functools
import io
import json
import os
import shutil
import signal
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from unittest import mock

from gnnbench.engine.cli import main
from gnnbench.engine.plugin import rootdir
from tests.fuzz import hostile
from tests.fuzz.kinds import KINDS, PAGE, Command, Kind

MOST_SECONDS = 10.0
_LONGEST_LINE = 5_000
_PAGES = 8
"""Of every so many cases pages are made, which takes a hundred times as long as the other commands."""
_INTERRUPTED = [128 + number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]


@dataclass(frozen=True)
class Ran:
    status: int | str | None
    out: str
    err: str


class _TooSlowError(BaseException):
    pass


def problems(name: str, seed: int, folder: Path) -> Iterator[str]:
    """Make the files of a case in a new folder, run all commands, and yield what they did wrong."""
    kind = KINDS[name]
    shutil.copytree(_originals(name), folder)
    with _inside(folder):
        _change(kind, Random(f"{name} {seed}"))
        for command in kind.commands:
            if PAGE in command and seed % _PAGES:
                continue
            for problem in _wrong(run(command), kind):
                yield f"{' '.join(command)}: {problem}"


def unchanged(name: str) -> Ran:
    """Run the first command of a kind where no file was changed."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(_originals(name), Path(folder, "case"))
        with _inside(Path(folder, "case")):
            return run(KINDS[name].commands[0])


@functools.cache
def _originals(name: str) -> Path:
    folder = Path(_lasting().name, name.replace(" ", "-"))
    folder.mkdir()
    with _inside(folder), contextlib.redirect_stdout(io.StringIO()):
        KINDS[name].make()
    return folder


@functools.cache
def _lasting() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder that lasts as long as this process."""
    return tempfile.TemporaryDirectory(prefix="gnnbench-fuzz-")


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in a folder, with a cache of its own."""
    settings = {"GNNBENCH_CACHE": str(folder / "cache"), "COLUMNS": "100", "GITHUB_REPOSITORY": ""}
    with (
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, settings),
        mock.patch.object(rootdir, "rootdir", return_value=folder),
    ):
        yield


def _change(kind: Kind, random: Random) -> None:
    files = sorted(file for pattern in kind.files for file in Path().glob(pattern))
    file = random.choice(files)
    text = hostile.changed(file.read_text(), random)
    file.write_text(text, encoding="utf-8")


def run(command: Command) -> Ran:
    """Run a command in this process, as long as it may take."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # which a user would see
        try:
            with _limited():
                status = main.main(command)
        except SystemExit as end:
            status = end.code
        except _TooSlowError:
            status = f"more than {MOST_SECONDS:.0f} s\n{traceback.format_exc()}"
        except Exception:  # noqa: BLE001 - it is reported
            status = traceback.format_exc()
    if status in _INTERRUPTED:  # main has caught it
        raise KeyboardInterrupt
    return Ran(status, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Raise an exception after so many seconds of this process, or six times as many of the clock."""

    def stop(*_: object) -> None:
        raise _TooSlowError

    timers = {signal.ITIMER_PROF: signal.SIGPROF, signal.ITIMER_REAL: signal.SIGALRM}
    kept = {number: signal.signal(number, stop) for number in timers.values()}
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, 6 * MOST_SECONDS)
    try:
        yield
    finally:
        for timer, number in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, kept[number])


def _wrong(ran: Ran, kind: Kind) -> Iterator[str]:
    """Yield what a command must not do, whatever the files are."""
    yield from _wrongly_said(ran)
    yield from _wrongly_written()
    if ran.status not in kind.statuses:
        yield f"exit code {ran.status}"
    if ran.status == main.WRONG_USAGE and not ran.err.startswith("gnnbench: ") and not ran.out:
        yield "exit code 2 without a message"


def _wrongly_said(ran: Ran) -> Iterator[str]:
    if "Traceback" in ran.err or "this is a bug" in ran.err:
        yield ran.err
    elif odd := [line for line in ran.err.splitlines() if not line.startswith(("gnnbench: ", "drawing "))]:
        yield f"on standard error: {odd[0][:500]!r}"
    for line in (*ran.out.splitlines(), *ran.err.splitlines()):
        if not line.replace("\N{NO-BREAK SPACE}", " ").replace("\N{HAIR SPACE}", " ").isprintable():
            yield f"reaches the terminal: {line[:500]!r}"
    if any(len(line) > _LONGEST_LINE for line in ran.err.splitlines()):
        yield "a message of more than 5,000 characters"


def _wrongly_written() -> Iterator[str]:
    if Path(PAGE).exists() and "<script>fuzz" in Path(PAGE).read_text("utf-8"):
        yield "a page contains a script of a file"
    for output in filter(Path.exists, map(Path, ("output.json", "whole.json"))):
        try:
            json.loads(output.read_text("utf-8"), parse_constant=_refuse)
        except ValueError as error:
            yield f"{output}: {error}"
        output.unlink()


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
