"""`gnnbench profile SELECT [-- PYTEST ARGS]`: shows where a benchmark spends its time."""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from ..ground.errors import UsageError
from ..ground.files import check_folder, project, real_path, scratch, shown, user_path
from ..ground.options import Option, positive
from ..process.variants.child import Child, DiedError
from ..process.variants.import_roots import Trees
from ..profile import KINDS
from ..show.names import labels_in, short
from ..show.progress import Progress
from ..store.option_defaults import every, from_settings
from ..store.suite import installed
from . import streams
from .common import INTERRUPTED, NOT_JUDGED, WRONG_USAGE, declare, nearest, suite

_OPTIONS = (
    Option("with", "KIND", ("phases", "layers"), choices=tuple(KINDS)).described(
        f"kind of profile; repeatable or comma-separated: {', '.join(KINDS)}. Default: phases,layers."
    ),
    Option("epochs", "N", "10", positive, "be a whole number of at least 1, as in 10").described(
        "number of profiled calls, after a first call that is shown separately. Default: 10."
    ),
    Option("folder", "DIR", ".benchmarks/profiles", user_path, path="").described(
        "folder in which profiles are saved. Default: .benchmarks/profiles."
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    aliases = "".join(f", or {name} for {test}" for name, test in installed().tests.items())
    parser.add_argument(
        "select",
        metavar="SELECT",
        help="an operation (spmm_sum), the beginning of several names (spmm), a test's node id, an "
        f"expression for pytest's -k{aliases}",
    )
    declare(parser, _OPTIONS, [option for option in every().values() if option.passed_on])


def run(options: argparse.Namespace) -> int:
    """Profile, print the tables, and return the exit code."""
    from ..ground import environment
    from ..profile.record import FILE
    from ..show.profile import document

    environment.let_idle_threads_sleep()  # the profiling process inherits the variable
    check_folder(options.folder)
    try:
        with Progress() as progress:
            folders, has_failed = _profile(options, progress)
    except KeyboardInterrupt:
        streams.say(f"gnnbench: interrupted; finished profiles are in {options.folder}", sys.stderr)
        return INTERRUPTED
    if not folders:
        raise UsageError(f"no benchmark matches '{options.select}'")
    paths = map(Path, filter(None, folders))
    profiles = [(shown(path), json.loads((path / FILE).read_text(encoding="utf-8"))) for path in paths]
    labels = [installed().labels(record["spec"]) for _, record in profiles if record["spec"]]
    reasons = dict.fromkeys(reason for _, record in profiles for reason in record["unavailable"].values())
    for line in (*reasons, *installed().remarks([label for label in labels if label])):
        Progress().say(line)
    for path, record in profiles:
        streams.show([*document(path, record)])
    return WRONG_USAGE if has_failed else 0 if profiles else NOT_JUDGED


def _selection(select: str, rest: Sequence[str]) -> tuple[list[str], str | None]:
    """Return pytest's arguments, and a text that selects some of the benchmarks, or None to profile all."""
    if select in installed().tests:
        file, colons, test = installed().tests[select].partition("::")
        return [f"{nearest(file) or file}{colons}{test}", *rest], None
    if "::" in select or Path(select).exists():
        return [select, *rest], None
    return suite(rest, "gnnbench profile SELECT"), select


def _profile(options: argparse.Namespace, progress: Progress) -> tuple[list[str], bool]:
    """Profile in a pytest subprocess. Return the profiles' folders ("" for a failure), and if one failed."""
    arguments, select = _selection(options.select, options.rest)
    progress.step("starting pytest")
    settings = {
        "select": select,
        "kinds": vars(options)["with"],
        "repeats": options.epochs,
        "folder": str(options.folder.absolute()),
        "defaults": from_settings(options.settings) | options.usual | options.typed,
    }
    with (
        scratch() as files,
        Child(
            arguments,
            environment={},
            trees=Trees([], project=str(real_path(project(Path.cwd())))),
            folder=Path.cwd(),
            log=files / "pytest.log",
            module="engine.profile.session",
            settings=settings,
        ) as child,
    ):
        return _follow(child, files / "pytest.log", progress)


def _follow(child: Child, log: Path, progress: Progress) -> tuple[list[str], bool]:
    """Show the progress of the profiling process until it ends. Return what `_profile` returns."""
    titles, folders = list[str](), list[str]()

    def current() -> str:
        number = len(folders)
        return f"[{number + 1}/{len(titles)}] {titles[number]}" if number < len(titles) else "pytest"

    try:
        while True:
            answer = child.answer(math.inf)
            if answer["answer"] == "collected":
                titles = list(short(labels_in(answer["names"])).values())
                for note in answer["notes"]:
                    progress.say(note)
                if answer["unknown"] and not titles:
                    raise UsageError(answer["unknown"])
            else:
                progress.print(f"{current()}: {answer['how']}")
                folders.append(answer["folder"])
            progress.step(current())
    except DiedError as error:
        reason = f"pytest {error}"
    status, lines = child.status(), log.read_text(errors="replace").splitlines()
    if len(folders) == len(titles) and status in (0, 1, 5):  # all passed, some failed, none collected
        if status == 1:
            progress.print("\n".join(lines))
        return folders, status == 1
    tail = lines[-20:]
    if not titles:
        raise UsageError(reason, *tail)
    progress.print("\n".join([f"{current()}: {reason.partition(' while ')[0]}", *tail]))
    return [*folders, ""], True
