"""Calibration of `gnnbench ab`: false positives in A/A tests, and power for injected slowdowns."""

import json
import secrets
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scipy import stats

from .. import codec, environment
from ..files import hold, save
from ..measure import simulated_clock
from ..results import former_names
from ..variants.prepare import Prepared
from .ab import coordinator, slowdown
from .ab.pairs import Watcher
from .verdict import Thresholds, Verdict

FORMAT_VERSION = 1
SIZES = (0.02, 0.03, 0.05, 0.08, 0.12)
"""Injected slowdowns, as fractions."""
_MAX_BYTES = 2**25
_REMEDY = "remove it, and run gnnbench calibrate again"
_FOUND = 0.95
"""Power from which on a slowdown counts as found."""
_LEVEL = 0.95
"""Level of the intervals of rates."""
_IDENTICAL = 0.0
_SEEDS = 1000
"""Seeds of the simulated machine that are reserved for each run; each pair of processes uses one."""


@dataclass(frozen=True)
class Rate:
    """`count` of `of` trials."""

    count: int
    of: int

    def interval(self) -> tuple[float, float]:
        """Return the 95 % confidence interval of the probability (Clopper and Pearson)."""
        found = stats.binomtest(self.count, self.of).proportion_ci(_LEVEL)
        return float(found.low), float(found.high)

    def __str__(self) -> str:
        return f"{self.count} of {self.of}"


@dataclass(frozen=True)
class CalibrationRun:
    """One comparison of the code with itself."""

    planted: float
    """Slowdown injected into the newer side, as a fraction; 0: A/A test."""
    seed: int
    seconds: float
    """Duration of the run."""
    verdicts: Mapping[str, Verdict]
    """By benchmark; "incomparable": no verdict."""

    @property
    def judged(self) -> list[Verdict]:
        """Verdicts other than "incomparable"."""
        return [verdict for verdict in self.verdicts.values() if verdict != "incomparable"]


@dataclass(frozen=True)
class Calibration:
    """All runs with the same settings."""

    settings: Mapping[str, Any]
    """`folder` and `arguments` of pytest, `budget_seconds` per benchmark, `total_budget_seconds` per run or
    None, and the minimum `effect` of interest, a fraction."""
    runs: tuple[CalibrationRun, ...] = ()

    @property
    def names(self) -> list[str]:
        """Benchmarks of all runs, in the order of their first run."""
        return list(dict.fromkeys(name for run in self.runs for name in run.verdicts))

    def false_positives(self) -> tuple[Rate, Rate]:
        """Return how many verdicts of A/A tests were false positives, and how many of these runs had one.

        Unlike verdicts, runs are independent.
        """
        runs = [run.judged for run in self._with(_IDENTICAL) if run.judged]
        wrong = [sum(verdict in ("slower", "faster") for verdict in judged) for judged in runs]
        return Rate(sum(wrong), sum(map(len, runs))), Rate(sum(map(bool, wrong)), len(runs))

    def found(self, name: str) -> dict[float, Rate]:
        """Return how often each injected slowdown was found, of the runs with a verdict on the benchmark.

        A size without such runs is left out.
        """
        rates = {}
        for size in SIZES:
            verdicts = [run.verdicts.get(name, "incomparable") for run in self._with(size)]
            verdicts = [verdict for verdict in verdicts if verdict != "incomparable"]
            if verdicts:
                rates[size] = Rate(verdicts.count("slower"), len(verdicts))
        return rates

    def smallest(self, name: str) -> float | None:
        """Return the smallest injected slowdown from which on all were found with a power of 95 %."""
        smallest = None
        for size, rate in reversed(self.found(name).items()):
            if rate.count < _FOUND * rate.of:
                break
            smallest = size
        return smallest

    def left(self, runs: int, planted: int) -> list[float]:
        """Return the slowdowns of the runs that are still to be made, in this order; 0: an A/A test.

        All sizes advance together: an interrupted calibration has runs of each.

        Args:
            runs: wanted number of A/A tests.
            planted: wanted number of runs with each slowdown.
        """
        done = Counter(run.planted for run in self.runs)
        wanted = {_IDENTICAL: runs, **dict.fromkeys(SIZES, planted)}
        order = sorted(
            ((number + 0.5) / count, size)
            for size, count in wanted.items()
            for number in range(done[size], count)
        )
        return [size for _, size in order]

    def _with(self, planted: float) -> list[CalibrationRun]:
        return [run for run in self.runs if run.planted == planted]


@dataclass(frozen=True)
class CalibrationFile:
    """A file of calibrations."""

    version: int
    environment: Mapping[str, Any]
    """The machine, as in a run file."""
    calibrations: tuple[Calibration, ...]
    """One for each combination of settings."""


@dataclass(frozen=True)
class CalibrationStore:
    """The calibrations of an environment, in a file of the cache folder."""

    cache: Path
    environment: Mapping[str, Any]

    @property
    def path(self) -> Path:
        """The file; it may not exist yet."""
        return self.cache / "calibration" / f"{environment.name_with_versions(self.environment)}.json"

    def read(self) -> tuple[Calibration, ...]:
        """Return all saved calibrations.

        Raises:
            UsageError: the file is damaged, or of another version.
        """
        if not self.path.exists():
            return ()
        content, _ = former_names.read(self.path, "calibration", _MAX_BYTES, _REMEDY)
        return codec.read(self.path, content, CalibrationFile, FORMAT_VERSION, _REMEDY).calibrations

    def get(self, settings: Mapping[str, Any]) -> Calibration:
        """Return the calibration with these settings; if there is none, one without runs.

        Raises:
            UsageError: the file is damaged, or of another version, or the folder cannot be written.
        """
        with self._held():  # so that runs can be saved is known before any is made
            return next((one for one in self.read() if one.settings == settings), Calibration(settings))

    def save(self, calibration: Calibration) -> None:
        """Save a calibration in the place of one with the same settings.

        Raises:
            UsageError: the file cannot be used.
        """
        with self._held():
            others = [one for one in self.read() if one.settings != calibration.settings]
            content = CalibrationFile(FORMAT_VERSION, self.environment, (*others, calibration))
            save(self.path, json.dumps(codec.encode(content), indent=1) + "\n")

    def _held(self) -> AbstractContextManager[None]:
        return hold(self.path.with_suffix(".lock"), self.cache)


def measure(
    known: Calibration, planted: float, here: Prepared, timeout_seconds: float, watcher: Watcher
) -> CalibrationRun:
    """Compare the code with itself once.

    Args:
        known: the runs until now, which tell the seeds of a simulated machine that are used up.
        planted: the slowdown to inject into the newer side, as a fraction.
        here: the code.
        timeout_seconds: how long a process may be silent.
        watcher: receives the progress, and why nothing could be compared.

    Raises:
        KeyboardInterrupt: the run was interrupted.
        UsageError: there is nothing to time.
    """
    settings = known.settings
    simulated = simulated_clock.reseeded(_SEEDS * len(known.runs))
    base, head = (
        replace(here, environment={**here.environment, **simulated, slowdown.VARIABLE: str(share)})
        for share in (_IDENTICAL, planted)
    )
    setting = coordinator.TimedSetting(
        arguments=settings["arguments"],
        folder=Path(settings["folder"]),
        timeout_seconds=timeout_seconds,
        seed=secrets.randbits(32),
        time_all=True,
        thresholds=Thresholds(settings["effect"]),
        per_benchmark_seconds=settings["budget_seconds"],
        total_seconds=settings["total_budget_seconds"],
    )
    found = coordinator.run(base, head, setting, watcher)
    if found.interrupted:
        raise KeyboardInterrupt
    for note in found.notes:
        watcher.say(note)
    judgements = {row.fullname: row.judgement for row in found.rows}
    verdicts: dict[str, Verdict] = {
        name: judgement.verdict if judgement.judged else "incomparable"
        for name, judgement in judgements.items()
    }
    ended = CalibrationRun(planted, setting.seed, round(found.seconds or 0.0, 3), verdicts)
    if not ended.judged:
        reasons = "; ".join(dict.fromkeys(judgement.reason for judgement in judgements.values()))
        watcher.say(f"no benchmark could be compared; this run is not saved, and no more are made: {reasons}")
    return ended
