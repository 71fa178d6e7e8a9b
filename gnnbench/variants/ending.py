"""How pytest and the benchmarks of a session ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .. import units


@dataclass(frozen=True)
class Ending:
    """How a session ended; ids begin in pytest's working directory."""

    status: int
    """pytest's exit status."""
    causes: tuple[str, ...] = ()
    """The plugins, files and options that changed it."""
    benchmarks: tuple[str, ...] = ()
    """Ids of the tests that request `benchmark`."""
    left: int = 0
    """How many of them did not run."""
    failures: tuple[str, ...] = ()
    """The id of each benchmark that failed, and why."""
    others: tuple[str, ...] = ()
    """Ids of other tests that failed."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """By file that cannot be collected, the reason."""
    untimed: tuple[str, ...] = ()
    """Lines on tests that look like benchmarks, and that were not timed."""
    notes: tuple[str, ...] = ()
    """Lines on what was done otherwise than the suite says."""
    has_testpaths: bool = False
    """Whether settings say which folders pytest collects if it gets no arguments."""

    @property
    def pytest_ended(self) -> str:
        """With which status, and why."""
        count = len(self.others)
        failed = f"{units.count(count, 'failed test')} without a benchmark ({units.listed(self.others, 1)})"
        causes = " and ".join((*([failed] if count else []), *self.causes))
        return f"pytest ended with {self.status}{' because of ' if causes else ''}{causes}"

    @property
    def failure(self) -> str:
        """What is wrong with the benchmarks; empty: nothing is."""
        if self.failures:
            more = len(self.failures) - 1
            return f"{self.failures[0]}{f', and {more} more failed' if more else ''}"
        for file, reason in self.refused.items():
            return f"{file} cannot be collected: {reason}"
        if self.left:
            return f"{self.pytest_ended}, and {units.count(self.left, 'benchmark')} did not run"
        return ""

    def lines(self) -> list[str]:
        """Return what to tell of a session whose benchmarks passed."""
        passed = f"the benchmarks passed, but {self.pytest_ended}"
        return [*self.notes, *self.untimed, *([passed] if self.status else [])]
