"""Runs a bisection: reads the ends, opens the saved state, and measures."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from ... import environment
from ...variants import variant
from ...variants.prepare import Prepared, prepared
from ..verdict import Thresholds
from . import ends, journal
from .journal import Journal
from .pairs import Pairs
from .result import BisectResult
from .session import Limits, Session, Watcher


def run(
    good: str,
    bad: str,
    arguments: Sequence[str],
    folder: Path,
    *,
    cache: Path,
    thresholds: Thresholds,
    limits: Limits,
    timeout_seconds: float,
    skip: Sequence[str],
    dependencies: bool,
    fresh: bool,
    seed: int,
    watcher: Watcher,
) -> BisectResult:
    """Find what changed the benchmarks between two ends.

    Args:
        good: the good end, as the user typed it.
        bad: the bad end.
        arguments: pytest's arguments.
        folder: pytest's working directory: the caller's tree, whose benchmarks run.
        cache: the cache folder.
        thresholds: levels, and the minimum effect of interest.
        limits: of time.
        timeout_seconds: a process that does not answer for so long is given up.
        skip: candidates that are not to be measured.
        dependencies: also install the dependencies of pip: requirements.
        fresh: whether to forget an earlier, unfinished run.
        seed: seeds the order of sides and of benchmarks.
        watcher: receives the progress.

    Raises:
        UsageError: an end cannot be used, or there is nothing to time.
    """
    line = ends.line(good, bad, folder, skip=skip)

    @contextmanager
    def prepare(position: int) -> Iterator[Prepared]:
        one = variant.parse(line.candidates[position].variant)
        say, step = watcher.say, watcher.step
        with prepared(one, folder, cache=cache, dependencies=dependencies, say=say, step=step) as made:
            yield made

    settings = [str(thresholds), str(limits.per_benchmark_seconds), str(dependencies)]
    what = [one.variant for one in line.candidates]
    key = journal.key([*what, *settings], arguments, folder)
    with (
        Journal.held(cache / "bisect", key, seed, fresh=fresh) as state,
        tempfile.TemporaryDirectory(prefix="gnnbench-bisect-") as logs,
        Pairs(prepare, arguments, folder, Path(logs), timeout_seconds, watcher, state.seed) as pairs,
    ):
        stage = Session(line, pairs, state, thresholds, limits, watcher).run()
        if not stage.unfinished:
            state.forget()
    found = asdict(environment.collect(folder))
    return BisectResult(good, bad, tuple(arguments), thresholds, found, (stage,))
