"""How often `gnnbench ab` is wrong on identical code in an environment, and which slowdowns it finds."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from scipy import stats

from .. import environment, json_io, schema
from ..errors import UsageError
from ..files import hold, write_whole
from ..results import former_names
from .verdict import Verdict

FORMAT_VERSION = 1
MAX_BYTES = 2**26
_REMEDY = "remove it, and run gnnbench calibrate again"
SIZES = (0.02, 0.03, 0.05, 0.08, 0.12)
"""Of planted slowdowns, as fractions."""
FOUND = 0.95
"""Of the runs with a slowdown, those in which it has to be found."""
_LEVEL = 0.95
"""Of the intervals of rates."""
_IDENTICAL = 0.0


@dataclass(frozen=True)
class Rate:
    """How often something happened."""

    count: int
    of: int

    def interval(self) -> tuple[float, float]:
        """Return the interval that holds the probability in 95 % of cases (Clopper and Pearson)."""
        if not self.of:
            return 0.0, 1.0
        found = stats.binomtest(self.count, self.of).proportion_ci(_LEVEL)
        return float(found.low), float(found.high)

    def __str__(self) -> str:
        return f"{self.count} of {self.of}"


@dataclass(frozen=True)
class CalibrationSettings:
    """What a calibration holds for."""

    folder: str
    """Where pytest ran."""
    arguments: tuple[str, ...]
    """Of pytest."""
    budget_seconds: float
    """Per benchmark."""
    total_budget_seconds: float | None
    """Of a run."""
    effect: float
    """Change that matters, as a fraction."""


@dataclass(frozen=True)
class CalibrationRun:
    """One comparison of the code with itself."""

    planted: float
    """Slowdown of the newer side, as a fraction; 0: identical."""
    seed: int
    seconds: float
    """That it took."""
    verdicts: Mapping[str, Verdict]
    """By benchmark; "incomparable": it was not judged."""

    @property
    def judged(self) -> list[Verdict]:
        """Verdicts on what was judged."""
        return [verdict for verdict in self.verdicts.values() if verdict != "incomparable"]

    @property
    def false_positives(self) -> int:
        """Verdicts of slower or faster."""
        return sum(verdict in ("slower", "faster") for verdict in self.judged)


@dataclass(frozen=True)
class Calibration:
    """All runs with the same settings."""

    settings: CalibrationSettings
    runs: tuple[CalibrationRun, ...] = ()

    @property
    def names(self) -> list[str]:
        """Benchmarks, in the order in which they were met."""
        return list(dict.fromkeys(name for run in self.runs for name in run.verdicts))

    def false_positives(self) -> Rate:
        """Return how many verdicts on identical code were false positives."""
        runs = self._with(_IDENTICAL)
        return Rate(sum(run.false_positives for run in runs), sum(len(run.judged) for run in runs))

    def false_positive_runs(self) -> Rate:
        """Return how many runs on identical code had one; unlike verdicts, runs are independent."""
        runs = [run for run in self._with(_IDENTICAL) if run.judged]
        return Rate(sum(run.false_positives > 0 for run in runs), len(runs))

    def found(self, name: str) -> dict[float, Rate]:
        """Return how often each planted slowdown was found, of the runs in which the benchmark was judged.

        Sizes with which it never was are left out.
        """
        rates = {}
        for size in SIZES:
            verdicts = [run.verdicts.get(name, "incomparable") for run in self._with(size)]
            verdicts = [verdict for verdict in verdicts if verdict != "incomparable"]
            if verdicts:
                rates[size] = Rate(verdicts.count("slower"), len(verdicts))
        return rates

    def smallest(self, name: str) -> float | None:
        """Return the smallest planted slowdown that was found often enough, as each larger one was."""
        smallest = None
        for size, rate in reversed(self.found(name).items()):
            if rate.count < FOUND * rate.of:
                break
            smallest = size
        return smallest

    def left(self, runs: int, planted: int) -> list[float]:
        """Return what is still to be planted, in this order; 0: nothing.

        All sizes advance together, so that less than all of it tells something of each.

        Args:
            runs: on identical code, in all.
            planted: with each slowdown, in all.
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
    """As `dataclasses.asdict` gives it, or as it is read from a file."""

    @property
    def path(self) -> Path:
        """The file, whether it is there or not."""
        return self.cache / "calibration" / f"{environment.name(self.environment)}.json"

    def read(self) -> list[Calibration]:
        """Return those that there are.

        Raises:
            UsageError: the file is damaged, or of another version.
        """
        if not self.path.exists():
            return []
        return check(self.path, former_names.read(self.path, "calibration", MAX_BYTES, _REMEDY)[0])

    def get(self, settings: CalibrationSettings) -> Calibration:
        """Return that with these settings, without runs where there is none.

        Raises:
            UsageError: the file is damaged, or of another version.
        """
        return next((one for one in self.read() if one.settings == settings), Calibration(settings))

    def add(self, settings: CalibrationSettings, run: CalibrationRun) -> Calibration:
        """Save a run, and return all of its settings; one at a time adds to a file.

        Raises:
            UsageError: the file cannot be used.
        """
        return self._replace(settings, lambda old: replace(old, runs=(*old.runs, run)))

    def clear(self, settings: CalibrationSettings) -> Calibration:
        """Forget the runs with these settings, and return what is left of them.

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
    """Return the calibrations of a file's content.

    Runs in which nothing was judged, which earlier versions saved, are left out.

    Args:
        path: where it comes from, for messages.
        content: as it was read from JSON.

    Raises:
        UsageError: it is of another form or version.
    """
    if not isinstance(content, dict):
        json_io.refuse(path, "not a calibration", _REMEDY)
    schema.check(path, content, "calibration", FORMAT_VERSION, _REMEDY)
    return [found for one in content["calibrations"] if (found := _calibration(one)).runs]


def _calibration(content: Mapping[str, Any]) -> Calibration:
    settings = dict(content["settings"])
    settings["arguments"] = tuple(settings["arguments"])
    runs = (CalibrationRun(**run) for run in content["runs"])
    return Calibration(CalibrationSettings(**settings), tuple(run for run in runs if run.judged))
