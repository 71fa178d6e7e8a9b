"""Calibration of `gnnbench ab`: false positives in A/A tests, and power for injected slowdowns."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from scipy import stats

from .. import environment, json_io, schema
from ..errors import UsageError
from ..files import CACHE_VARIABLE, check_writable, hold, write_whole
from ..results import former_names
from .verdict import Verdict

FORMAT_VERSION = 1
MAX_BYTES = 2**25
_REMEDY = "remove it, and run gnnbench calibrate again"
SIZES = (0.02, 0.03, 0.05, 0.08, 0.12)
"""Injected slowdowns, as fractions."""
FOUND = 0.95
"""Power from which on a slowdown counts as found."""
_LEVEL = 0.95
"""Level of the intervals of rates."""
_IDENTICAL = 0.0


@dataclass(frozen=True)
class Rate:
    """`count` of `of` trials."""

    count: int
    of: int

    def interval(self) -> tuple[float, float]:
        """Return the 95 % confidence interval of the probability (Clopper and Pearson)."""
        if not self.of:
            return 0.0, 1.0
        found = stats.binomtest(self.count, self.of).proportion_ci(_LEVEL)
        return float(found.low), float(found.high)

    def __str__(self) -> str:
        return f"{self.count} of {self.of}"


@dataclass(frozen=True)
class CalibrationSettings:
    """The settings that a calibration is valid for."""

    folder: str
    """Working directory of pytest."""
    arguments: tuple[str, ...]
    """Arguments of pytest."""
    budget_seconds: float
    """Budget per benchmark."""
    total_budget_seconds: float | None
    """Budget per run."""
    effect: float
    """Minimum effect of interest, as a fraction."""


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

    @property
    def false_positives(self) -> int:
        """Number of verdicts "slower" or "faster"; they are false positives in an A/A test only."""
        return sum(verdict in ("slower", "faster") for verdict in self.judged)


@dataclass(frozen=True)
class Calibration:
    """All runs with the same settings."""

    settings: CalibrationSettings
    runs: tuple[CalibrationRun, ...] = ()

    @property
    def names(self) -> list[str]:
        """Benchmarks of all runs, in the order of their first run."""
        return list(dict.fromkeys(name for run in self.runs for name in run.verdicts))

    def false_positives(self) -> Rate:
        """Return how many verdicts of A/A tests were false positives."""
        runs = self._with(_IDENTICAL)
        return Rate(sum(run.false_positives for run in runs), sum(len(run.judged) for run in runs))

    def false_positive_runs(self) -> Rate:
        """Return how many A/A tests had a false positive; unlike their verdicts, runs are independent."""
        runs = [run for run in self._with(_IDENTICAL) if run.judged]
        return Rate(sum(run.false_positives > 0 for run in runs), len(runs))

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
        """Return the smallest injected slowdown from which on all were found with the power `FOUND`."""
        smallest = None
        for size, rate in reversed(self.found(name).items()):
            if rate.count < FOUND * rate.of:
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
        order = [
            ((number + 0.5) / count, size)
            for size, count in wanted.items()
            for number in range(done[size], count)
        ]
        return [size for _, size in sorted(order)]

    def _with(self, planted: float) -> list[CalibrationRun]:
        return [run for run in self.runs if run.planted == planted]


@dataclass(frozen=True)
class CalibrationStore:
    """The calibrations of an environment, in a file of the cache folder."""

    cache: Path
    environment: Mapping[str, Any]
    """From `dataclasses.asdict`, or from a file."""

    @property
    def path(self) -> Path:
        """The file; it may not exist yet."""
        return self.cache / "calibration" / f"{environment.name_with_versions(self.environment)}.json"

    def read(self) -> list[Calibration]:
        """Return all saved calibrations.

        Raises:
            UsageError: the file is damaged, or of another version.
        """
        if not self.path.exists():
            return []
        return check(self.path, former_names.read(self.path, "calibration", MAX_BYTES, _REMEDY)[0])

    def get(self, settings: CalibrationSettings) -> Calibration:
        """Return the calibration with these settings; if there is none, one without runs.

        Raises:
            UsageError: the file is damaged, or of another version.
        """
        return next((one for one in self.read() if one.settings == settings), Calibration(settings))

    def check(self) -> None:
        """Check that runs can be saved, before any is made.

        Raises:
            UsageError: the file cannot be written.
        """
        with hold(self.path.with_suffix(".lock"), self.cache):
            check_writable(self.path, f"set {CACHE_VARIABLE} to another folder")

    def add(self, settings: CalibrationSettings, run: CalibrationRun) -> Calibration:
        """Save a run, and return the calibration with it; a lock protects the file.

        Raises:
            UsageError: the file cannot be used.
        """
        return self._replace(settings, lambda old: replace(old, runs=(*old.runs, run)))

    def clear(self, settings: CalibrationSettings) -> Calibration:
        """Delete the runs with these settings, and return the empty calibration.

        Raises:
            UsageError: the file cannot be used.
        """
        return self._replace(settings, lambda old: replace(old, runs=()))

    def _replace(
        self, settings: CalibrationSettings, change: Callable[[Calibration], Calibration]
    ) -> Calibration:
        with hold(self.path.with_suffix(".lock"), self.cache):
            kept = self.read()
            found = next((one for one in kept if one.settings == settings), Calibration(settings))
            changed = change(found)
            others = [one for one in kept if one.settings != settings]
            content = {
                "version": FORMAT_VERSION,
                "environment": dict(self.environment),
                "calibrations": [asdict(one) for one in (*others, changed) if one.runs],
            }
            try:
                write_whole(self.path, json.dumps(content, indent=1) + "\n")
            except OSError as error:
                raise UsageError(f"{self.path} cannot be written ({error.strerror})") from None
        return changed


def check(path: Path, content: Any) -> list[Calibration]:
    """Return the calibrations in a file's content, without runs that have no verdict.

    Earlier versions saved such runs.

    Args:
        path: the file, for messages.
        content: parsed JSON.

    Raises:
        UsageError: the content has another form or version.
    """
    if not isinstance(content, dict):
        json_io.refuse(path, "not a calibration file", _REMEDY)
    schema.check(path, content, "calibration", FORMAT_VERSION, _REMEDY)
    return [found for one in content["calibrations"] if (found := _calibration(one)).runs]


def _calibration(content: Mapping[str, Any]) -> Calibration:
    settings = dict(content["settings"])
    settings["arguments"] = tuple(settings["arguments"])
    runs = (CalibrationRun(**run) for run in content["runs"])
    return Calibration(CalibrationSettings(**settings), tuple(run for run in runs if run.judged))
