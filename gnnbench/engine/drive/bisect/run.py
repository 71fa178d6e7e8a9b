"""Runs a bisection: reads the ends, and bisects the line between them, then the hunks that were found."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, replace

from ...ground import environment
from ...process.pairs import Pairs, Watcher
from ...process.variants import variant
from ...process.variants.prepare import Prepared, prepared
from ...process.variants.requirement import Requirement
from ...process.variants.torch_release import not_usable
from . import hunks, journal, lines
from .bisection import Bisection
from .journal import BisectSetting, Journal
from .line import Line, Ready
from .result import INTERRUPTED, Bisected, BisectResult, pytest_options


def run(
    good: str,
    bad: str,
    setting: BisectSetting,
    watcher: Watcher,
    *,
    skip: Sequence[str] = (),
) -> BisectResult:
    """Find what changed the benchmarks between two ends."""
    folder, cache = setting.folder, setting.cache
    stages: list[Bisected] = []
    left_seconds = setting.total_seconds
    with ExitStack() as held:
        first = lines.line(good, bad, folder, skip=skip)
        for note in first.notes:
            watcher.say(note)  # before all the work, as it may be in vain
        left = [(first, setting.arguments)]
        states = []
        while left and left_seconds and not (stages and stages[-1].unfinished == INTERRUPTED):
            share_seconds = left_seconds / len(left)
            line, arguments = left.pop(0)
            results = setting.results or line.kind == "hunk"
            its = replace(setting, arguments=arguments, total_seconds=share_seconds, results=results)
            state = Journal.held(cache / "bisect", journal.key(line, its), setting.seed, fresh=setting.fresh)
            states.append(held.enter_context(state))
            stage = _stage(line, states[-1], its, watcher)
            stages.append(stage)
            left_seconds = max(left_seconds - stage.seconds, 0.0)
            left += _hunks(stage, setting)
        if not any(one.unfinished for one in stages):
            for one in states:
                one.forget()
    found = asdict(environment.collect(folder))
    return BisectResult(good, bad, tuple(setting.arguments), setting.thresholds, found, tuple(stages))


def _stage(line: Line, state: Journal, setting: BisectSetting, watcher: Watcher) -> Bisected:
    setting = replace(setting, seed=state.seed)
    with Pairs(setting, watcher) as pairs, ready(line, setting, watcher) as candidates:
        return Bisection(line, candidates, pairs, state, setting, watcher).run()


def ready(line: Line, setting: BisectSetting, watcher: Watcher) -> Ready:
    """Return what prepares the candidates of a line."""
    variants = [variant.parse(one.variant) for one in line.candidates]
    hidden = not_usable([[part.text for part in side.of(Requirement)] for side in variants])

    def prepare(position: int) -> AbstractContextManager[Prepared]:
        return prepared(
            variants[position],
            setting.folder,
            watcher,
            cache=setting.cache,
            dependencies=setting.dependencies,
            apart=True,
            build=setting.build,
            hidden=hidden,
        )

    return Ready(prepare)


def _hunks(stage: Bisected, setting: BisectSetting) -> Iterator[tuple[Line, tuple[str, ...]]]:
    """Yield the lines of hunks of the commits that were found, each with pytest's arguments."""
    for found in stage.findings:
        (cause, *others) = found.causes
        if cause.kind != "commit" or others or not setting.hunks:
            continue
        if line := hunks.line(found.before, cause, setting.folder):
            yield line, (*found.changes, *pytest_options(setting.arguments))
