"""Exit codes and arguments that several subcommands share."""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..ground.codec import as_text
from ..ground.errors import UsageError
from ..ground.files import above, cache_folder, check_writable, save
from ..ground.options import OPTIONS, TIMEOUT_SECONDS, Option, seconds
from ..show.progress import Progress
from ..store.option_defaults import from_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..judge.comparison import Comparison
    from ..judge.verdict import Thresholds
    from ..process.plan import Plan
    from ..process.variants.variant import Prepared

NOTHING_SLOWER, SLOWER, NOT_JUDGED = 0, 1, 3
INTERRUPTED = 130
WRONG_USAGE = 2


def suite(rest: Sequence[str], command: str) -> list[str]:
    """Return pytest's arguments. If none of them is a path, the nearest folder `benchmarks` is added."""
    from ..plugin.rootdir import has_testpaths

    # A word after an option may be the option's value.
    words = [word for before, word in zip(("", *rest), rest, strict=False) if not before.startswith("-")]
    if any(os.path.exists(word.partition("::")[0]) for word in words):  # noqa: PTH110 - False for any text
        return [*rest]
    if folder := nearest("benchmarks"):
        return [folder, *rest]
    if has_testpaths(rest):
        return [*rest]
    missing = next((word for word in words if not word.startswith("-")), None)
    reason = f"no such file or folder: {missing}" if missing else "there is no folder named benchmarks"
    raise UsageError(f"{reason}; give the path of the suite: {command} -- PATH")


def nearest(path: str) -> str | None:
    """Return the relative path of the nearest file or folder `path`, here or in a parent folder, or None."""
    candidates = (folder / path for folder in above(Path.cwd()))
    return next((os.path.relpath(candidate) for candidate in candidates if candidate.exists()), None)


EFFECT = OPTIONS["effect"].described("minimum effect of interest. Default: 3%.")
STRICT = OPTIONS["strict"].described("exit with 3 if a benchmark is undecided or incomparable")
RESULTS = OPTIONS["results"].described(
    "compare the outputs of both variants if their code differs. Default: compare."
)
PROCESSES = (
    seconds("timeout", TIMEOUT_SECONDS, "stop a process that has not answered for S seconds"),
    Option("dependencies", "", False).described("also install the dependencies of pip:REQUIREMENT"),
)
"""Options of commands that run variants in processes."""
BUILD = OPTIONS["build"]


def declare(
    parser: argparse.ArgumentParser, options: Sequence[Option] = (), shared: Sequence[Option] = ()
) -> None:
    """Declare the options of a command and those shared with pytest; settings may change their defaults."""
    for option in (*options, *shared):
        option.declare(parser.add_argument)
    parser.set_defaults(table=(options, shared))


def thresholds_of(options: argparse.Namespace) -> "Thresholds":
    """Return the minimum effect, and the project's rules and accepted changes."""
    from ..judge.verdict import Thresholds
    from ..store import accepted

    return Thresholds(options.effect, rules=options.settings, accepted=accepted.find(Path.cwd()))


def plan_of(options: argparse.Namespace, command: str, **more: Any) -> "Plan":
    """Check that the file of `--json` can be written, and return how the processes of a command run.

    `command`: the usage of the command, for a message. `more`: other fields of the plan.
    """
    from ..process.plan import Plan

    if file := vars(options).get("json"):
        check_writable(file)
    typed = options.typed
    flags = {"--effect": typed.get("effect"), "--build": options.build, "--plant": typed.get("plant")}
    words = [word for name, value in flags.items() if value for word in (name, value)]
    return Plan(
        arguments=tuple(suite(options.rest, command)),
        defaults=from_settings(options.settings),
        folder=Path.cwd(),
        cache=cache_folder(),
        timeout_seconds=options.timeout,
        dependencies=options.dependencies,
        build=options.build,
        thresholds=thresholds_of(options),
        options=(*words, *(("--dependencies",) if options.dependencies else ())),
        **more,
    )


def add_variants(parser: argparse.ArgumentParser) -> None:
    kinds = "git:REF, git:DIR@REF, path:DIR, pip:REQUIREMENT, env:NAME=VALUE, or . for the working tree"
    parser.add_argument(
        "base",
        metavar="BASE",
        help=f"the older variant: {kinds}; to combine several, quote them as one argument",
    )
    parser.add_argument("head", metavar="HEAD", help="the newer variant")


def add_output(parser: argparse.ArgumentParser) -> None:
    """Declare the options for the result's file and for printing more."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the result to FILE")
    parser.add_argument("-v", "--verbose", action="store_true", help="print all notes below the tables")


@contextmanager
def both_sides(options: argparse.Namespace, plan: "Plan") -> "Iterator[tuple[Prepared, Prepared, Progress]]":
    """Prepare BASE and HEAD, and show the progress of processes that run them."""
    from ..ground import environment
    from ..process.variants import prepare, variant

    sides = variant.parse(options.base), variant.parse(options.head)
    environment.let_idle_threads_sleep()  # the variants' processes set OMP_WAIT_POLICY by themselves
    with (
        Progress() as progress,
        prepare.both(
            *sides, plan.folder, progress, dependencies=plan.dependencies, build=plan.build
        ) as prepared,
    ):
        yield *prepared, progress


@contextmanager
def saving(file: Path | None, result: Any) -> "Iterator[None]":
    """Save a result after the `with` block has printed it, even if the output was closed."""
    try:
        yield
        sys.stdout.flush()
    finally:
        if file:
            save(file, as_text(result))


def exit_code(comparison: "Comparison", *, strict: bool) -> int:
    """Return the exit code for a comparison, see docs/cli.md."""
    if any(row.is_worse for row in comparison.rows):
        return SLOWER
    inconclusive = any(row.judgement.verdict in ("undecided", "incomparable") for row in comparison.rows)
    return NOTHING_SLOWER if comparison.is_judged and not (strict and inconclusive) else NOT_JUDGED
