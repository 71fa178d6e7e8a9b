"""`gnnbench init`: writes settings, a first benchmark and a workflow."""

import argparse
import importlib.util
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..ground import git, units
from ..ground.errors import UsageError
from ..show.lines import Note
from ..show.progress import Progress
from . import streams

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ..drive.adopt import Adoption, Project
    from ..drive.survey import Survey
    from ..process.variants.outcome import Ending

_MOST_NAMED = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="files and folders with benchmarks, if pytest does not find them by itself",
    )
    parser.add_argument(
        "--action",
        metavar="WHERE",
        help="where the workflow gets gnnbench: OWNER/NAME@REF on GitHub, or the folder of a clone on a "
        "self-hosted runner",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="list operations without a benchmark")
    parser.add_argument("--yes", action="store_true", help="write without asking")


def run(options: argparse.Namespace) -> int:
    """Show the benchmarks and the files to write, write the files, and return 0."""
    from ..drive import adopt
    from ..process.variants import fresh

    for path in options.paths:
        if not Path(path.partition("::")[0] or "missing").exists():
            raise UsageError(f"no such file or folder: {path!r}; give files with benchmarks, or no path")
    if reason := git.refusal(Path.cwd()):
        raise UsageError(f"git refuses the repository at {Path.cwd()}: {reason}")
    folder = git.top(Path.cwd())
    if folder != Path.cwd().resolve():
        streams.say(f"repository: {folder}")
    paths = [os.path.relpath(path, folder) for path in options.paths]
    project = _project(folder, paths, verbose=options.verbose)
    plan = adopt.make(project, options.action, settings=options.settings.file is None)
    _show(plan)
    if not plan.files:
        streams.say("nothing to write")
    elif options.yes or _is_confirmed(len(plan.files)):
        adopt.write(plan)
    else:
        streams.say("nothing was written")
        return 0
    streams.say(Note("to run the benchmarks", fresh.shell_command(_arguments(project), Path.cwd())))
    _say_next(plan)
    return 0


def _project(folder: Path, paths: "Sequence[str]", *, verbose: bool) -> "Project":
    """Return the repository with the benchmarks that pytest collects, or with a first benchmark."""
    from ..drive.adopt import Project
    from ..drive.survey import Survey

    with Progress() as progress:
        progress.step("reading the sources")
        survey = Survey(folder)
        modules = survey.may_time
    ending = _collect(folder, paths, modules)
    first = "" if ending.benchmarks else _write_first(survey, verbose=verbose)
    functions = tuple(dict.fromkeys(name.partition("[")[0] for name in ending.benchmarks))
    return Project(folder, functions, paths, ending.overriding, first)


def _collect(folder: Path, paths: "Sequence[str]", modules: "Collection[Path]") -> "Ending":
    """Let pytest collect `paths`, or else `modules`, which may contain benchmarks. Report what fails."""
    from ..process.variants import fresh
    from ..process.variants.outcome import Ending

    if not paths and not modules:
        return Ending()
    with Progress() as progress:
        progress.step("pytest --collect-only")
        ending = fresh.collect(paths or ["."], folder, None if paths else modules)
    refused = [f"{file} cannot be collected: {reason}" for file, reason in ending.refused.items()]
    unread = [folder / path for path in ending.refused]
    if not ending.benchmarks and any(file.is_relative_to(path) for file in modules for path in unread):
        raise UsageError("pytest finds no benchmarks; install the packages that these files import", *refused)
    if not ending.benchmarks and (paths or ending.untimed):
        raise UsageError("pytest finds no benchmarks here", *ending.untimed, *refused)
    for line in (*refused[:_MOST_NAMED], *ending.untimed):
        streams.say(line)
    return ending


def _write_first(survey: "Survey", *, verbose: bool) -> str:
    """Return the text of a first benchmark, and print which operations it does not time."""
    from ..drive import first_benchmark

    with Progress() as progress:
        progress.step("trying which operations can be timed")
        draft = first_benchmark.write(survey)
    limit = sys.maxsize if verbose else _MOST_NAMED
    # First one line for each reason, then the lines that repeat a reason.
    first_lines = {line.split(": ", 2)[2]: line for line in reversed(draft.cannot)}.values()
    lines = sorted(draft.cannot, key=lambda line: line not in first_lines)
    for line in lines[:limit]:
        streams.say(f"no benchmark for {line}")
    if names := [line.split(": ")[1] for line in lines[limit:]]:
        streams.say(f"no benchmark for {units.listed(names, limit)}; -v says why")
    if draft.untried:
        count = units.count(len(draft.untried), "more operation")
        streams.say(f"{count} could be timed: {units.listed(draft.untried, limit)}")
    if draft.is_example:
        streams.say("no operation of this repository could be called, so the benchmark times an example")
    return draft.text


def _show(plan: "Adoption") -> None:
    from ..drive.adopt import BENCHMARK, GITIGNORE

    project = plan.project
    if project.benchmarks:
        count = units.count(len(project.benchmarks), "benchmark function")
        streams.say(f"{count} in {' '.join(project.suite)}")
    for path in plan.existing:
        streams.say(f"exists already and is not changed: {path}")
    if text := plan.files.get(BENCHMARK):
        print(f"\n{BENCHMARK}:\n")
        print("".join(f"    {line}".rstrip() + "\n" for line in text.splitlines()))
    for path, text in plan.files.items():
        added = f" ({units.count(len(text.split()), 'line')} added)" if path == GITIGNORE else ""
        streams.say(f"will be written: {path}{added}")


def _is_confirmed(count: int) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("nothing was written: stdin is not a terminal; give --yes to write without asking")
    print(f"write {units.count(count, 'file')}? [Y/n] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")


def _say_next(plan: "Adoption") -> None:
    project = plan.project
    if to_do := plan.to_do():
        streams.say(f"still to do: {to_do}")
    suite = shlex.join(_arguments(project))
    if not project.benchmarks and not project.survey.has_setting("testpaths"):
        streams.say(
            f"pytest without arguments also runs {suite}: to skip it, use pytest --benchmark-skip, or set "
            'testpaths = ["tests"] in pytest\'s settings'
        )
    streams.say(Note("after your next change", f"gnnbench ab git:HEAD . --json ab.json -- {suite}"))
    install = "" if importlib.util.find_spec("altair") else "pip install 'gnnbench[report]', and "
    streams.say(f"then, for a page with the result: {install}gnnbench report ab.json")


def _arguments(project: "Project") -> list[str]:
    """Return pytest's arguments for the benchmarks, relative to the current folder."""
    return [*(os.path.relpath(project.folder / path) for path in project.suite), *project.options]
