"""`gnnbench init`: writes settings, a first benchmark and a workflow, and runs the benchmark once."""

import argparse
import importlib.util
import os
import shlex
import sys
import tempfile
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from .. import git, units
from ..errors import UsageError
from . import streams
from .common import positive_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..adopt.models import Model
    from ..adopt.plan import Adoption
    from ..adopt.repository import Project
    from ..variants.outcome import Ending

READY = 0
_MOST_NAMED = 5
_PACKAGES = "does it need packages that are not installed?"
_TIMEOUT_SECONDS = 300.0
"""Of the benchmark's first run. Importing torch and a first benchmark took 8 s on a quiet machine."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--model",
        metavar="MODULE:CLASS",
        help="the torch module to write a benchmark of. Default: one that gnnbench finds, if the repository "
        "has no benchmark yet",
    )
    parser.add_argument(
        "--action",
        metavar="OWNER/NAME@REF",
        help="gnnbench's own repository and commit, for the workflow. Default: those it was installed from",
    )
    parser.add_argument(
        "--timeout",
        type=positive_seconds,
        default=_TIMEOUT_SECONDS,
        metavar="S",
        help="stop the collection, and the run of the benchmark, after S seconds. "
        f"Default: {_TIMEOUT_SECONDS:.0f}.",
    )
    parser.add_argument("--yes", action="store_true", help="write without asking")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Show what is found and what would be written, write it, run the benchmark once, and return 0."""
    from ..adopt import plan

    folder = git.top(Path.cwd())
    if folder != Path.cwd().resolve():
        streams.say(f"repository: {folder}")
    repository = _repository(folder, options.timeout)
    model = _model(repository, options.model)
    planned = plan.make(repository, model, options.action, settings=options.settings.file is None)
    _show(planned)
    if not planned.files:
        streams.say("nothing to write")
    elif options.yes or _agreed(len(planned.files)):
        plan.write(planned)
    else:
        streams.say("nothing was written")
        return READY
    if planned.left:
        streams.say(f"still to do: {planned.left}; then run: pytest {_here(planned, [planned.first])}")
    else:
        _try(planned, options.timeout)
    _say_next(planned)
    return READY


def _repository(folder: Path, timeout_seconds: float) -> "Project":
    """Return the repository with the benchmarks that pytest collects in it.

    Raises:
        UsageError: pytest cannot collect them, or takes too long.
    """
    from ..adopt.repository import Project
    from ..variants import fresh
    from .progress import Progress

    def collect(words: "Sequence[str]") -> "Ending":
        with Progress() as progress:
            progress.step("pytest --collect-only", timeout_seconds)
            try:
                return fresh.collect(words, folder, timeout_seconds)
            except fresh.LateError as error:
                raise _late("collecting", timeout_seconds, error) from None

    repository, found = Project(folder), collect(["."])
    reasons = dict(found.refused)
    named = [file for file in repository.likely if not any(map(PurePath(file).is_relative_to, reasons))]
    is_named = not found.benchmarks and bool(named)
    if is_named:  # files whose names are no tests' to pytest, but that are named to it
        found = collect(named)
        reasons |= found.refused
    refused = [f"{file} cannot be collected: {reason}" for file, reason in reasons.items()]
    if not found.benchmarks and refused and repository.likely:
        raise UsageError(f"no benchmark here: {_PACKAGES}", *refused)
    for line in (*refused[:_MOST_NAMED], *found.untimed):
        streams.say(line)
    functions = dict.fromkeys(_function(one) for one in found.benchmarks)
    return Project(folder, tuple(functions), is_named, found.has_testpaths)


def _function(name: str) -> str:
    """Return a test id without its parameters."""
    file, colons, test = name.partition("::")
    return f"{file}{colons}{test.partition('[')[0]}"


def _late(what: str, timeout_seconds: float, error: UsageError) -> UsageError:
    """Return the error for a process of pytest that did not end in time."""
    said = f"{what} did not end within {timeout_seconds:g} s, and was stopped; --timeout gives it longer"
    return UsageError(said, *str(error).splitlines()[1:])


def _model(repository: "Project", wanted: str | None) -> "Model | None":
    """Return the model to write a benchmark of; None: there are benchmarks already.

    Raises:
        UsageError: there is none, or not the one that is wanted.
    """
    from ..adopt import models

    if repository.benchmarks and not wanted:
        return None
    found = models.find(repository)
    chosen = next((one for one in found if wanted in (None, one.place)), None)
    if chosen is None and wanted:
        places = ", ".join(one.place for one in found[:_MOST_NAMED]) or "there is none"
        raise UsageError(f"--model {wanted!r} is no torch module with a forward in this folder: {places}")
    if chosen is None:
        raise UsageError(
            "no benchmark and no torch module here; write a test with pytest-benchmark's fixture: "
            "def test_name(benchmark): benchmark(function, argument)"
        )
    if not wanted and len(found) > 1:
        others = ", ".join(one.place for one in found[1 : _MOST_NAMED + 1])
        streams.say(f"models: {chosen.place} is measured; --model names another: {others}")
    return chosen


def _show(planned: "Adoption") -> None:
    from ..adopt.plan import IGNORED

    repository = planned.repository
    packages = ", ".join(repository.packages[:_MOST_NAMED]) or "none"
    streams.say(f"packages: {packages}")
    if planned.model:
        streams.say(f"model: {planned.model.name} ({planned.model.path}:{planned.model.line})")
    else:
        count = units.count(len(repository.benchmarks), "benchmark function")
        streams.say(f"{count} in {' '.join(planned.suite)}")
        if repository.around:
            streams.say(
                f"they lie inside the package {repository.around}: gnnbench ab cannot compare versions of "
                "it; move them out of it"
            )
    for path in planned.kept:
        streams.say(f"exists, and is kept: {path}")
    if planned.model:
        print(f"\n{planned.first}:\n")
        lines = planned.files[PurePath(planned.first)].splitlines()
        print("".join(f"    {line}".rstrip() + "\n" for line in lines))
    for path, text in planned.files.items():
        added = f": {units.count(len(text.split()), 'line')} added" if path == IGNORED else ""
        streams.say(f"will be written: {path}{added}")


def _agreed(count: int) -> bool:
    """Ask, and return the answer.

    Raises:
        UsageError: there is nobody to ask.
    """
    if not sys.stdin.isatty():
        raise UsageError("nothing was written: nobody can answer here; give --yes to write without asking")
    print(f"write {units.count(count, 'file')}? [Y/n] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")


def _try(planned: "Adoption", timeout_seconds: float) -> None:
    """Run the benchmark once, and print its times.

    Raises:
        UsageError: it fails, or takes too long.
    """
    from .. import cpu
    from ..results import run_file
    from ..variants import fresh
    from .progress import Progress

    watch = cpu.ContentionWatch()
    with Progress() as progress, tempfile.TemporaryDirectory() as place:
        output = Path(place, "run.json")
        progress.step(f"pytest {planned.first}", timeout_seconds)
        words = [planned.first]
        try:
            lines = fresh.run(words, output, planned.repository.folder, 1, lambda _: None, timeout_seconds)
        except fresh.LateError as error:
            raise _late(planned.first, timeout_seconds, error) from None
        except UsageError as error:
            remedy = "change it" if planned.model else _PACKAGES
            raise UsageError(f"{planned.first} does not run: {remedy}", *str(error).splitlines()) from None
        entries = run_file.load(output)["benchmarks"]
    for line in lines:
        streams.say(line)
    for entry in entries:
        streams.say(f"timed: {entry['fullname']}, {units.seconds(entry['stats']['median'])}")
    share = watch.contention_share()
    if share > cpu.CONTENDED:
        streams.say(
            f"the machine is busy: other programs used {units.fraction(share)} of its CPU time meanwhile, so "
            "times are longer than usual"
        )


def _say_next(planned: "Adoption") -> None:
    if to_do := planned.to_do():
        streams.say(f"still to do: {to_do}")
    if planned.model and not planned.repository.has_testpaths:
        streams.say(
            f"pytest without arguments runs {planned.suite[0]} too: pytest --benchmark-skip leaves it out, "
            'and so does testpaths = ["tests"] in pytest\'s settings'
        )
    suite = _here(planned, planned.suite)
    if not planned.model and planned.repository.around:
        streams.say(f"commit, and before your next change: gnnbench baseline record -- {suite}")
        streams.say(f"after it: pytest {suite} --benchmark-compare")
        return
    streams.say(f"after your next change: gnnbench ab git:HEAD . --json ab.json -- {suite}")
    install = "" if importlib.util.find_spec("altair") else "pip install 'gnnbench[report]', and "
    streams.say(f"then a page of it: {install}gnnbench report ab.json")


def _here(planned: "Adoption", paths: "Sequence[str]") -> str:
    """Return paths of the repository as they are typed in this folder."""
    return shlex.join(os.path.relpath(planned.repository.folder / one) for one in paths)
