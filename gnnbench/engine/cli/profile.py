"""`gnnbench profile SELECT --with KIND`: shows where a benchmark spends its time."""

import argparse
import json
import math
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..ground import units
from ..ground.errors import UsageError
from ..ground.files import check_folder, scratch, shown
from ..ground.options import PROFILE_OPTIONS, ProfileOptions, values_of
from ..process.variants.child import Child, DiedError
from ..show.names import labels_in, short
from ..store.option_defaults import every, passed_on
from ..store.suite import installed
from . import streams
from .common import INTERRUPTED, NOT_JUDGED, WRONG_USAGE, nearest, suite
from .progress import Progress

_COMMAND = "gnnbench profile SELECT"
_MOST_NAMED = 20
_REASON = re.compile(r"ERROR: (.+)|!+ _pytest\.outcomes\.Exit: (.+) !+")
"""A line in which pytest gives the reason for an early end."""
_TAIL_LINES = 20
_REGULAR = (0, 1, 5)
"""Exit statuses of pytest: passed; a benchmark failed; none was collected."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    short = "".join(f", or {name} for {test}" for name, test in installed().tests.items())
    parser.add_argument(
        "select",
        nargs="?",
        metavar="SELECT",
        help="an operation (spmm_sum) or a prefix of several names (spmm), a test's node id, an expression "
        f"for pytest's -k{short}",
    )
    passed = [option for option in every().values() if option.passed_on]
    for option in (PROFILE_OPTIONS["with"], *passed, PROFILE_OPTIONS["epochs"], PROFILE_OPTIONS["folder"]):
        option.declare(parser.add_argument)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Profile, print the tables, and return the exit code."""
    from ..ground import environment
    from ..profile.record import FILE
    from ..show.profile import pages

    if not options.select:
        raise UsageError(f"name a benchmark: {_COMMAND}, such as gnnbench profile epoch")
    environment.let_idle_threads_sleep()  # the profiling process inherits the variable
    chosen = ProfileOptions(**values_of(ProfileOptions, vars(options)))
    check_folder(chosen.folder)
    arguments, select = _selection(options.select, options.rest)
    arguments += _given(vars(options))
    try:
        with passed_on(options.settings, arguments), Progress() as progress:
            ended = profile(arguments, select, chosen, progress)
    except KeyboardInterrupt:
        streams.say(f"gnnbench: interrupted; finished profiles are in {chosen.folder}", sys.stderr)
        return INTERRUPTED
    if not ended:
        raise UsageError(f"no benchmark is called '{options.select}'; gnnbench list shows all operations")
    folders = [Path(one["folder"]) for one in ended if one["folder"]]
    profiles = [(shown(one), json.loads((one / FILE).read_text(encoding="utf-8"))) for one in folders]
    labels = [installed().labels(record["spec"]) for _, record in profiles if record["spec"]]
    reasons = dict.fromkeys(reason for _, record in profiles for reason in record["unavailable"].values())
    for line in (*reasons, *installed().remarks([one for one in labels if one])):
        Progress().say(line)
    for page in pages(profiles):
        print(f"\n{page}")
    if any(one["failed"] for one in ended):
        return WRONG_USAGE
    return 0 if profiles else NOT_JUDGED


def _selection(select: str, rest: Sequence[str]) -> tuple[list[str], str | None]:
    """Return pytest's arguments, and the words that select benchmarks among those they name."""
    from ..plugin.rootdir import settled

    if select in installed().tests:
        file, colons, test = installed().tests[select].partition("::")
        return settled([f"{nearest(file) or file}{colons}{test}", *rest]), None
    if "::" in select or Path(select).exists():
        return settled([select, *rest]), None
    return suite(rest, _COMMAND), select


def _given(options: Mapping[str, Any]) -> list[str]:
    """Return the options that are passed on to pytest; a mistake is reported before it starts."""
    arguments = []
    for option in (option for option in every().values() if option.passed_on):
        value = options[option.key]
        option.value(value)
        if option.is_flag:
            arguments += [] if value is None else [f"--{'' if value else 'no-'}gnn-{option.name}"]
        else:
            values = value if option.is_list else [value]
            arguments += [f"--gnn-{option.name}={text}" for text in values or () if text]
    return arguments


def profile(
    arguments: Sequence[str], select: str | None, chosen: ProfileOptions, progress: Progress
) -> list[dict[str, Any]]:
    """Run pytest in a process, profile what it collects, and show the progress.

    Returns:
        How the benchmarks ended, see `profile/session.py`; an empty list if none is selected. If pytest ended
        early, the last is the benchmark that was running, as failed.
    """
    progress.show("starting pytest")
    with scratch() as files:
        log = files / "pytest.log"
        with Child(
            arguments,
            environment={},
            trees=(),
            folder=Path.cwd(),
            log=log,
            module="engine.profile.session",
            terms={
                "kinds": list(chosen.kinds),
                "repeats": chosen.repeats,
                "folder": str(chosen.folder.absolute()),
                "select": select,
            },
        ) as child:
            return _ended(child, log, progress)


def _ended(child: Child, log: Path, progress: Progress) -> list[dict[str, Any]]:
    ended: list[dict[str, Any]] = []
    titles: Mapping[str, str] | None = None
    running = None
    try:
        while True:
            answer = child.answer(math.inf)
            if answer["answer"] == "collected":
                titles = short(labels_in(answer["names"]))
                for note in answer["notes"]:
                    progress.say(note)
                count, names = units.count(len(titles), "benchmark"), [*titles.values()]
                text = f"gnnbench: profiling {count}: {units.listed(names, _MOST_NAMED)}"
                text = textwrap.fill(text, 80, subsequent_indent="  ", break_on_hyphens=False)
                if titles:
                    progress.print(text)
            elif answer["answer"] == "began":
                running = f"[{len(ended) + 1}/{len(titles or ())}] {(titles or {})[answer['name']]}"
                progress.show(f"{running} ...")
            else:
                how = "failed" if answer["failed"] else answer["left_out"] or "profiled"
                progress.print("\n".join(filter(None, (f"{running}: {how}", answer["failed"]))))
                running = None
                ended.append(answer)
    except DiedError as error:
        if titles is not None and running is None and child.status() in _REGULAR:
            return ended
        why = _why(str(error).partition(" while ")[0], log.read_text(errors="replace"))
    if not ended and not running:
        raise UsageError(*why.split("\n"))
    progress.print(f"{running or 'pytest'}: failed\n{why}")
    return [*ended, {"folder": None, "failed": why}]


def _why(how: str, log: str) -> str:
    """Return why pytest ended early: in one line if it gives the reason, else with the end of its output."""
    lines = log.splitlines()
    if reasons := [match[1] or match[2] for line in lines if (match := _REASON.match(line))]:
        return reasons[0].removeprefix("gnnbench: ")
    return "\n".join((f"pytest {how}", *lines[-_TAIL_LINES:]))
