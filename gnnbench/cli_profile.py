"""`gnnbench profile SELECT --with KIND`: why a benchmark takes as long as it does."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.markup import escape

from gnnbench.errors import UsageError, unknown_name
from gnnbench.options import FLAGS, HELP, LISTS, Options, suite
from gnnbench.profile.kinds import KINDS

if TYPE_CHECKING:
    from gnnbench.ab.prepared import Prepared
    from gnnbench.profile.process import Ended
    from gnnbench.profile.report import Profile

EPOCH = "benchmarks/test_epoch.py::test_epoch"
DEFAULT = ("phases", "layers")
SORT = "cumulative"
DONE, WRONG, NOT_PROFILED, INTERRUPTED = 0, 2, 3, 130
_COMMAND = "gnnbench profile SELECT"
_PASSED_ON = ("dataset", "platform", "device", "hidden", "dtype", "index-dtype", "data", "real")
"""The plugin's options for what is run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "select",
        nargs="?",
        metavar="SELECT",
        help=f"pytest's node id, an expression as after its -k, or epoch: {EPOCH}",
    )
    parser.add_argument(
        "--with",
        dest="kinds",
        action="append",
        default=[],
        metavar="KIND",
        help=f"repeatable or comma-separated: {', '.join(KINDS)}. Default: {','.join(DEFAULT)}.",
    )
    for name in (*_PASSED_ON, "epochs"):
        if name in LISTS:
            parser.add_argument(f"--{name}", action="append", default=[], metavar="NAME", help=HELP[name])
        elif name in FLAGS:
            parser.add_argument(f"--{name}", action="store_true", help=HELP[name])
        else:
            parser.add_argument(f"--{name}", metavar=name.upper(), help=HELP[name])
    parser.add_argument("--folder", metavar="DIR", help=HELP["profile-folder"])
    parser.add_argument(
        "--sort",
        default=SORT,
        metavar="ORDER",
        help=f"of functions: cumulative, self or calls. Default: {SORT}.",
    )
    parser.add_argument(
        "--seed-table", action="store_true", help="put the figures published in 2021 beside today's"
    )
    parser.add_argument(
        "--diff",
        nargs=2,
        metavar=("A", "B"),
        help="what differs between two saved profiles; with SELECT, between two variants as in gnnbench ab",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Profile, show, and return the exit code."""
    if options.diff and not options.select:
        return _compare_saved(*map(Path, options.diff))
    if not options.select:
        raise UsageError(f"say what to profile: {_COMMAND}, such as gnnbench profile epoch")
    session = _Session(options)
    try:
        return session.compare(*options.diff) if options.diff else session.show()
    except KeyboardInterrupt:
        print(f"gnnbench: interrupted; what was done is in {session.folder}", file=sys.stderr)
        return INTERRUPTED


def _compare_saved(before: Path, after: Path) -> int:
    from gnnbench.profile import record

    for path in (before, after):
        if not path.exists():
            raise UsageError(
                f"{path}: there is no such profile; for two variants say what to profile too: {_COMMAND}"
            )
    _print_difference(record.read(before), record.read(after))
    return DONE


def _print_difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    from gnnbench.profile import diff

    print(f"before: {before['id']}\nafter:  {after['id']}")
    print(diff.table(diff.diff(before, after)))


class _Session:
    """What was asked for, and how it goes."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Check what can be checked.

        Raises:
            UsageError: an option cannot be used, or the folder cannot be written.
        """
        from gnnbench import environment
        from gnnbench.profile.store import Store

        environment.let_idle_threads_sleep()  # in the processes that profile, as in the suite's own
        given = {name: getattr(options, name.replace("-", "_")) for name in _PASSED_ON}
        chosen = Options.parse(
            **{name.replace("-", "_"): value for name, value in given.items()},
            profile=options.kinds,
            epochs=options.epochs,
            profile_folder=options.folder,
        )
        if options.sort != SORT:
            from gnnbench.profile.functions import ORDERS

            if options.sort not in ORDERS:
                raise unknown_name("order", options.sort, ORDERS)
        self.folder = chosen.profile_folder
        Store(self.folder).check()
        self._kinds, self._repeats = chosen.profile or DEFAULT, chosen.epochs
        self._select, self._sort, self._seed_table = options.select, options.sort, options.seed_table
        self._arguments = [*_selection(options.select, options.rest), *_passed_on(given)]
        self._console = Console(highlight=False, stderr=True)
        self._failed = False

    def show(self) -> int:
        """Profile here, and show what was found."""
        from gnnbench.profile import report

        profiles = self._profile()
        for page in report.pages(profiles, sort=self._sort, seed_table=self._seed_table):
            print(f"\n{page}")
        return self._status(profiles)

    def compare(self, before: str, after: str) -> int:
        """Profile two variants, and show in what they differ."""
        from gnnbench.ab import variant
        from gnnbench.ab.prepared import prepared
        from gnnbench.graphs.locate import cache_folder

        variants = [variant.parse(text) for text in (before, after)]
        found: list[dict[str, Profile]] = []
        for one in variants:
            with prepared(one, Path.cwd(), cache=cache_folder(), say=self._say) as side:
                self._say(f"profiling {one.text}")
                found.append({profile.record["id"]: profile for profile in self._profile(side)})
        both = [name for name in found[0] if name in found[1]]
        for name in both:
            print()
            _print_difference(found[0][name].record, found[1][name].record)
            print(f"saved in {found[0][name].folder}\n     and {found[1][name].folder}")
        for name in found[0].keys() ^ found[1].keys():
            self._say(f"{name}: profiled on one side only")
        return self._status(both)

    def _profile(self, side: "Prepared | None" = None) -> "list[Profile]":
        from gnnbench.profile import process, record
        from gnnbench.profile.report import Profile

        with _Progress(self._console) as progress:
            ended = process.run(
                self._arguments,
                kinds=self._kinds,
                repeats=self._repeats,
                folder=self.folder,
                trees=side.trees if side else (),
                environment=side.environment if side else {},
                progress=progress,
            )
        if not ended:
            raise UsageError(f"no benchmark is called '{self._select}'; gnnbench list shows what there is")
        self._failed |= any(one.failed for one in ended)
        for reason in dict.fromkeys(reason for one in ended for reason in one.unavailable.values()):
            self._say(reason)
        here = Path.cwd()
        profiles = [
            Profile(folder.relative_to(here) if folder.is_relative_to(here) else folder, record.read(folder))
            for folder in (one.folder for one in ended)
            if folder
        ]
        graphs = dict.fromkeys((profile.record["spec"] or {}).get("dataset", "") for profile in profiles)
        if twins := [name for name in graphs if ":synthetic" in name]:
            self._say(f"synthetic data: {', '.join(twins)}")
        return profiles

    def _status(self, done: Sequence[object]) -> int:
        if self._failed:
            return WRONG
        return DONE if done else NOT_PROFILED

    def _say(self, text: str) -> None:
        self._console.print(f"gnnbench: {text}", markup=False, soft_wrap=True)


def _selection(select: str, rest: Sequence[str]) -> list[str]:
    """Return pytest's arguments that select benchmarks."""
    if select == "epoch":
        return [EPOCH, *rest]
    if "::" in select or Path(select).exists():
        return [select, *rest]
    return [*suite(rest, _COMMAND), "-k", select]


def _passed_on(given: Mapping[str, Any]) -> list[str]:
    arguments = []
    for name, value in given.items():
        if name in FLAGS:
            arguments += [f"--gnn-{name}"] if value else []
        else:
            values = value if name in LISTS else filter(None, [value])
            arguments += [f"--gnn-{name}={one}" for one in values]
    return arguments


class _Progress:
    """A line for each benchmark that has ended, and in a terminal one for that which runs."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = console.status("starting pytest")

    def __enter__(self) -> Self:
        self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._status.stop()

    def __call__(self, number: int, count: int, benchmark: "str | Ended") -> None:
        place = f"[{number:{len(str(count))}}/{count}]"
        if isinstance(benchmark, str):
            line = f"{place} {_short(benchmark)} ..."
            self._status.update(escape(line[: self._console.width - 4]))
            return
        result = "failed" if benchmark.failed else benchmark.left_out or "profiled"
        self._print(f"{place} {_short(benchmark.id)}: {result}")
        if benchmark.failed:
            self._print(benchmark.failed)

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)


def _short(name: str) -> str:
    """Leave out what only says where the benchmark is written, if its parameters say what it is."""
    _, bracket, parameters = name.partition("[")
    return parameters.removesuffix("]") if bracket else name
