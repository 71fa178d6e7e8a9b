"""`gnnbench init`: writes settings, a first benchmark and a workflow, and runs the benchmark once."""

import argparse
import importlib.util
import shlex
import sys
import tempfile
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from .. import git, units
from ..errors import UsageError
from . import streams

if TYPE_CHECKING:
    from ..adopt.models import Model
    from ..adopt.plan import Plan
    from ..adopt.repository import Repository

READY = 0
_MOST_NAMED = 5


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
    parser.add_argument("--yes", action="store_true", help="write without asking")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Show what is found and what would be written, write it, run the benchmark once, and return 0."""
    from ..adopt import plan
    from ..adopt.repository import Repository

    folder = Path.cwd()
    if (top := git.top(folder)) != folder.resolve():
        raise UsageError(f"{folder} is not the top of its repository: cd {shlex.quote(str(top))}")
    repository = Repository(folder)
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
    _try(planned)
    _say_next(planned)
    return READY


def _model(repository: "Repository", wanted: str | None) -> "Model | None":
    """Return the model to write a benchmark of; None: there are benchmarks already.

    Raises:
        UsageError: there is no such model, or none that a benchmark can be written of.
    """
    from ..adopt import models

    if repository.benchmarks and not wanted:
        return None
    found = models.find(repository)
    if wanted:
        if wanted not in (one.place for one in found):
            places = ", ".join(one.place for one in found[:_MOST_NAMED]) or "there is none"
            raise UsageError(f"--model {wanted!r} is no torch module with a forward in this folder: {places}")
        found = [one for one in found if one.place == wanted]
    if not found:
        raise UsageError(
            "no benchmark and no torch module here; write a test with pytest-benchmark's fixture: "
            "def test_name(benchmark): benchmark(function, argument)"
        )
    if found[0].unknown:
        unknown = ", ".join(found[0].unknown)
        raise UsageError(
            f"{found[0].place}: cannot tell from their names what to give to {unknown}; write a test that "
            "calls it through pytest-benchmark's fixture benchmark, and run gnnbench init again"
        )
    if len(found) > 1:
        others = ", ".join(one.place for one in found[1 : _MOST_NAMED + 1])
        streams.say(f"models: {found[0].place} is measured; --model names another: {others}")
    return found[0]


def _show(planned: "Plan") -> None:
    repository = planned.repository
    packages = ", ".join(repository.packages[:_MOST_NAMED]) or "none"
    streams.say(f"packages: {packages}")
    if planned.model:
        streams.say(f"model: {planned.model.name} ({planned.model.path}:{planned.model.line})")
    else:
        count = units.count(len(repository.benchmarks), "benchmark function")
        streams.say(f"{count} in {' '.join(planned.suite)}")
        for name in repository.packages:
            if any(PurePath(one).is_relative_to(repository.root / name) for one in repository.suite):
                streams.say(
                    f"they lie inside the package {name}: gnnbench ab cannot compare versions of it; "
                    "move them out of it"
                )
    for path in planned.kept:
        streams.say(f"exists, and is kept: {path}")
    if planned.benchmark:
        print(f"\n{planned.benchmark.path}:\n")
        print("".join(f"    {line}".rstrip() + "\n" for line in planned.benchmark.text.splitlines()))
    for one in planned.files:
        added = f": {units.count(len(one.text.split()), 'line')} added" if one.appended else ""
        streams.say(f"will be written: {one.path}{added}")


def _agreed(count: int) -> bool:
    """Ask, and return the answer.

    Raises:
        UsageError: there is nobody to ask.
    """
    if not sys.stdin.isatty():
        raise UsageError("nothing was written: nobody can answer here; give --yes to write without asking")
    print(f"write {units.count(count, 'file')}? [Y/n] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")


def _try(planned: "Plan") -> None:
    """Run the benchmark once, and print its times.

    Raises:
        UsageError: it fails.
    """
    from ..results import run_file
    from ..variants import fresh
    from .progress import Progress

    with Progress() as progress, tempfile.TemporaryDirectory() as place:
        output = Path(place, "run.json")
        title = f"pytest {planned.first}"
        arguments = [planned.first, "--benchmark-enable"]  # a project may have disabled them in its settings
        try:
            fresh.run(arguments, output, planned.repository.folder, 1, progress.below(title))
        except UsageError as error:
            what = "change it" if planned.model else "does it need packages that are not installed?"
            raise UsageError(f"{planned.first} does not run: {what}", *str(error).splitlines()) from None
        entries = run_file.load(output)["benchmarks"]
    for entry in entries:
        streams.say(f"timed: {entry['fullname']}, {units.seconds(entry['stats']['median'])}")


def _say_next(planned: "Plan") -> None:
    from ..adopt.plan import UNKNOWN_ACTION

    if planned.action == UNKNOWN_ACTION and any("workflows" in str(one.path) for one in planned.files):
        streams.say(
            f"in the workflow, replace {UNKNOWN_ACTION.replace('@', ' and ')} by gnnbench's repository and "
            "commit on GitHub"
        )
    streams.say(
        f"after your next change: gnnbench ab git:HEAD . --json ab.json -- {shlex.join(planned.suite)}"
    )
    install = "" if importlib.util.find_spec("altair") else "pip install 'gnnbench[report]', and "
    streams.say(f"then a page of it: {install}gnnbench report ab.json")
