"""One run of `gnnbench profile`: its options, its processes and its progress."""

import argparse
import textwrap
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..ground import units
from ..ground.errors import UsageError
from ..ground.files import check_folder, shown
from ..ground.options import Options
from ..store.option_defaults import every
from ..store.suite import installed
from .common import NOT_JUDGED, nearest, suite
from .progress import Progress

if TYPE_CHECKING:
    from ..profile.process import Ended
    from ..show.profile import Profile

DEFAULT = ("phases", "layers")
_MOST_NAMED = 20
COMMAND = "gnnbench profile SELECT"


class ProfileSession:
    """One run of `gnnbench profile`."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Check the options."""
        from ..ground import environment
        from ..profile.process import Wanted

        environment.let_idle_threads_sleep()  # the profiling processes inherit the variable
        chosen = Options.parse(**vars(options))
        check_folder(chosen.profile_folder)
        arguments, select = _selection(options.select, options.rest)
        self.wanted = Wanted(
            [*arguments, *_passed_on(vars(options))],
            chosen.profile or DEFAULT,
            chosen.epochs,
            chosen.profile_folder,
            select,
        )
        self._select = options.select
        self._failed = False

    def profile(self) -> "dict[str, Profile]":
        """Profile, and show the progress; return the profiles by node id of the test."""
        from ..profile import process, record
        from ..show.profile import Profile

        with _ProfilingProgress() as progress:
            ended = process.run(self.wanted, progress)
        if not ended:
            raise UsageError(f"no benchmark is called '{self._select}'; gnnbench list shows all operations")
        self._failed |= any(one.failed for one in ended)
        for reason in dict.fromkeys(reason for one in ended for reason in one.unavailable.values()):
            self.say(reason)
        profiles = {
            one.id: Profile(shown(one.folder), record.read(one.folder)) for one in ended if one.folder
        }
        labelled = [labels for one in profiles.values() if (labels := one.record.labels)]
        for remark in installed().remarks(labelled):
            self.say(remark)
        return profiles

    def status(self, done: Collection[object]) -> int:
        """Return the exit code, given all that was profiled."""
        if self._failed:
            return 2
        return 0 if done else NOT_JUDGED

    def say(self, text: str) -> None:
        """Print a line on standard error."""
        Progress().say(text)


def _selection(select: str, rest: Sequence[str]) -> tuple[list[str], str | None]:
    """Return pytest's arguments, and the words that select benchmarks among those they name."""
    from ..plugin.rootdir import settled

    if select in installed().tests:
        file, colons, test = installed().tests[select].partition("::")
        return settled([f"{nearest(file) or file}{colons}{test}", *rest]), None
    if "::" in select or Path(select).exists():
        return settled([select, *rest]), None
    return suite(rest, COMMAND), select


def _passed_on(given: Mapping[str, Any]) -> list[str]:
    arguments = []
    for option in (option for option in every().values() if option.passed_on):
        value = given[option.key]
        option.value(value)  # a mistake is reported before pytest starts
        if option.is_flag:
            arguments += [] if value is None else [f"--{'' if value else 'no-'}gnn-{option.name}"]
        else:
            values = value if option.is_list else [value]
            arguments += [f"--gnn-{option.name}={one}" for one in values or () if one]
    return arguments


class _ProfilingProgress(Progress):
    """Prints the benchmarks to profile and a line for each result; shows the current one in a terminal."""

    def __init__(self) -> None:
        super().__init__()
        self.show("starting pytest")

    def collected(self, titles: Sequence[str], notes: Sequence[str]) -> None:
        """List the benchmarks."""
        for note in notes:
            self.say(note)
        if titles:
            count, names = units.count(len(titles), "benchmark"), units.listed(titles, _MOST_NAMED)
            text = f"gnnbench: profiling {count}: {names}"
            self.print(textwrap.fill(text, 80, subsequent_indent="  ", break_on_hyphens=False))

    def benchmark(self, number: int, count: int, found: "str | Ended") -> None:
        """Show that a benchmark begins (`found` is its name), or print how it ended."""
        place = f"[{number:{len(str(count))}}/{count}]"
        if isinstance(found, str):
            self.show(f"{place} {_short(found)} ...")
            return
        result = "failed" if found.failed else found.left_out or "profiled"
        self.print(f"{place} {_short(found.id)}: {result}")
        if found.failed:
            self.print(found.failed)


def _short(name: str) -> str:
    """Return the parameters in a node id, or the whole id if it has none."""
    _, bracket, parameters = name.partition("[")
    return parameters.removesuffix("]") if bracket else name
