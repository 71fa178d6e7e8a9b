"""Runs a bisection: reads the ends, and bisects the line between them, then the steps that were found."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ... import environment
from ...errors import UsageError
from ...variants import variant
from ...variants.builds import Build
from ...variants.overlay import overlay
from ...variants.prepare import Prepared, prepared
from ..verdict import Thresholds
from . import journal, lines, refine
from .journal import Journal
from .line import Line
from .pairs import Pairs
from .ready import Ready
from .result import BisectResult, findings, pytest_options
from .session import Bisected, Limits, Session, Watcher


@dataclass(frozen=True)
class Setting:
    """How to measure."""

    arguments: tuple[str, ...]
    """Pytest's."""
    folder: Path
    """Pytest's working directory: the caller's tree, whose benchmarks run."""
    cache: Path
    """The cache folder."""
    thresholds: Thresholds
    limits: Limits
    timeout_seconds: float
    """A process that does not answer for so long is given up."""
    seed: int
    """Seeds the order of sides and of benchmarks."""
    dependencies: bool = False
    """Whether to install the dependencies of pip: requirements too."""
    build: Build | None = None
    """How to build commits; None: they are not built."""
    fresh: bool = False
    """Whether to forget an earlier, unfinished run."""


def run(
    good: str,
    bad: str,
    setting: Setting,
    watcher: Watcher,
    *,
    skip: Sequence[str] = (),
    repositories: Mapping[str, str] | None = None,
) -> BisectResult:
    """Find what changed the benchmarks between two ends.

    Args:
        good: the good end, as the user typed it.
        bad: the bad end.
        setting: how to measure.
        watcher: receives the progress.
        skip: candidates that are not to be measured.
        repositories: folders with the history of packages, by canonical name.

    Raises:
        UsageError: an end cannot be used, or there is nothing to time.
    """

    def install(requirement: str) -> Path:
        return overlay(
            [requirement],
            setting.folder,
            setting.cache,
            dependencies=False,
            say=watcher.say,
            step=watcher.step,
        )

    stages: list[Bisected] = []
    left_seconds = setting.limits.total_seconds
    with ExitStack() as held:
        first = lines.line(good, bad, setting.folder, install, skip=skip)
        for note in first.notes:
            watcher.say(note)  # before all the work, as it may be in vain
        left = [(first, setting.arguments)]
        states = []
        while left and not (stages and stages[-1].unfinished):
            line, arguments = left.pop(0)
            limits = replace(setting.limits, total_seconds=left_seconds)
            state = held.enter_context(_state(line, arguments, setting))
            states.append(state)
            stage = _stage(line, state, replace(setting, arguments=arguments, limits=limits), watcher)
            stages.append(stage)
            left_seconds -= stage.seconds
            left += _closer(stage, setting, repositories or {}, watcher)
        if not stages[-1].unfinished:
            for state in states:
                state.forget()
    found = asdict(environment.collect(setting.folder))
    return BisectResult(good, bad, setting.arguments, setting.thresholds, found, tuple(stages))


@contextmanager
def _state(line: Line, arguments: Sequence[str], setting: Setting) -> Iterator[Journal]:
    """Open the saved state of a line."""
    thresholds = setting.thresholds
    what = [str(thresholds.effect), *(str(rule.as_json()) for rule in thresholds.rules.rules)]
    what += [str(setting.limits.per_benchmark_seconds), str(setting.dependencies)]
    what.append(setting.build.command if setting.build else "")
    name = journal.key([*(one.variant for one in line.candidates), *what], arguments, setting.folder)
    with Journal.held(setting.cache / "bisect", name, setting.seed, fresh=setting.fresh) as state:
        yield state


def _stage(line: Line, state: Journal, setting: Setting, watcher: Watcher) -> Bisected:
    """Bisect one line."""

    @contextmanager
    def prepare(position: int) -> Iterator[Prepared]:
        with prepared(
            variant.parse(line.candidates[position].variant),
            setting.folder,
            cache=setting.cache,
            dependencies=setting.dependencies,
            apart=True,
            build=setting.build,
            say=watcher.say,
            step=watcher.step,
        ) as made:
            yield made

    with (
        tempfile.TemporaryDirectory(prefix="gnnbench-bisect-") as logs,
        Ready(prepare) as ready,
    ):
        pairs = Pairs(
            ready,
            setting.arguments,
            setting.folder,
            Path(logs),
            setting.timeout_seconds,
            watcher,
            state.seed,
        )
        return Session(line, pairs, state, setting.thresholds, setting.limits, watcher).run()


def _closer(
    stage: Bisected, setting: Setting, repositories: Mapping[str, str], watcher: Watcher
) -> Iterator[tuple[Line, tuple[str, ...]]]:
    """Yield the lines within the steps that were found, each with pytest's arguments."""
    for found in findings(stage, setting.arguments):
        if not found.exact:
            continue
        (cause,) = found.causes
        before = stage.line.candidates[found.low]
        try:
            line = refine.closer(stage.line, before, cause, repositories, setting.folder)
        except UsageError as error:
            watcher.say(f"{cause.name}: not looked at closer: {error}")
            continue
        if line:
            yield line, (*found.spans, *pytest_options(setting.arguments))
