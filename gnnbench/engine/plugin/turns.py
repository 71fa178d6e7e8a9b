"""Times benchmarks of this session in turns with their base, which is built again for it."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import pytest

from ..drive import coordinator
from ..drive.result import Result
from ..ground import signals, units
from ..ground.cpu import RealTime
from ..ground.errors import UsageError, one_line
from ..ground.files import cache_folder
from ..ground.options import TIMEOUT_SECONDS
from ..judge.schedule import Decision
from ..judge.verdict import Thresholds
from ..process.variants import variant
from ..process.variants.prepare import Prepared, both
from ..process.variants.variant import Variant
from ..profile.text import cut
from ..show.verdicts import newly_decided
from ..store.option_defaults import passed_on
from . import writing
from .session import arguments_without, options_of, settings_of

_UNLIMITED = 1e9
"""Seconds for each benchmark, of which all together have fewer."""
_LINE_SECONDS = 10.0
"""Outside a terminal, there is at most one line of progress in this time."""


@dataclass(frozen=True)
class Group:
    """Benchmarks that have the same base."""

    base: Variant
    title: str
    """`record 0001`, or the variant as the user typed it."""
    asked: str
    """The value of --benchmark-compare that selects it."""
    names: tuple[str, ...]
    """Their ids, the most important first."""


@dataclass(frozen=True)
class TimedGroup:
    """What came out for a group."""

    group: Group
    result: Result | None
    """None: the base cannot be built or run."""
    base: Prepared | None = None
    failure: str = ""
    """Why not, in one line."""
    interrupted: bool = False


def run(
    config: pytest.Config,
    groups: Sequence[Group],
    thresholds: Thresholds,
    judged: int,
    budget_seconds: float,
) -> list[TimedGroup]:
    """Time the groups one after the other; an interruption ends the run.

    Args:
        budget_seconds: time for all groups, without preparing their bases.
    """
    found: list[TimedGroup] = []
    left_count, left_seconds = sum(len(group.names) for group in groups), budget_seconds
    for group in groups:
        # Each benchmark has an equal part of the family-wise error rate.
        share = len(group.names) / judged
        own = replace(thresholds, family_level=1 - (1 - thresholds.family_level) * share)
        one = _of(config, group, own, left_seconds * len(group.names) / left_count)
        found.append(one)
        left_count -= len(group.names)
        left_seconds -= (one.result.seconds or 0.0) if one.result else 0.0
        if one.interrupted:
            break
    return found


def _of(config: pytest.Config, group: Group, thresholds: Thresholds, seconds: float) -> TimedGroup:
    arguments = arguments_without(config, "time")
    try:
        with (
            passed_on(settings_of(config), arguments),
            _Progress(config, group) as progress,
            signals.as_ctrl_c(),
            both(group.base, variant.parse(variant.WORKING_TREE), config.rootpath, progress) as (base, head),
        ):
            progress.begin(seconds)
            setting = coordinator.TimedSetting(
                arguments=arguments,
                folder=config.invocation_params.dir,
                timeout_seconds=TIMEOUT_SECONDS,
                seed=secrets.randbits(32),
                thresholds=thresholds,
                per_benchmark_seconds=_UNLIMITED,
                total_seconds=seconds,
                total_option="--gnn-budget",
                results=options_of(config).results,
                cache=cache_folder(),
                only=group.names,
            )
            result = coordinator.run(base, head, setting, progress)
    except KeyboardInterrupt:
        return TimedGroup(group, None, failure="interrupted", interrupted=True)
    except UsageError as error:
        return TimedGroup(group, None, failure=str(error))
    except OSError as error:
        return TimedGroup(group, None, failure=f"{error.filename or 'a file'}: {error.strerror or error}")
    return TimedGroup(group, result, base, interrupted=result.interrupted)


class _Progress:
    """Shows what is timed: in a terminal in one line that is replaced, otherwise in a line now and then."""

    def __init__(self, config: pytest.Config, group: Group) -> None:
        self._reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        self._group = group
        self._line_seconds = -_LINE_SECONDS
        self._standing = ""
        self._told: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._reporter:
            self._clear()

    def _clear(self) -> None:
        """Remove the current step from a terminal."""
        if self._reporter.isatty:
            self._reporter.rewrite("", erase=True)
            self._reporter.write("\r")

    def begin(self, at_most_seconds: float) -> None:
        """Say what is timed, and for how long at most."""
        count = units.count(len(self._group.names), "benchmark")
        limit = units.seconds(at_most_seconds)
        self.say(f"timing {count} in turns with {self._group.title}, for at most {limit}")

    def say(self, text: str) -> None:
        """Write a line."""
        if self._reporter:
            self._clear()
            self._reporter.ensure_newline()
            writing.say(self._reporter, text)
            self._line_seconds = RealTime.seconds()

    def step(self, text: str, at_most_seconds: float | None = None) -> None:
        """Show the step that begins."""
        limit = f" (at most {at_most_seconds:.0f} s)" if at_most_seconds else ""
        line = f"{self._standing}{text}{limit}"
        if self._reporter and self._reporter.isatty:
            width = self._reporter._tw.fullwidth - 1  # noqa: SLF001
            self._reporter.rewrite(cut(one_line(line), width), erase=True)
        elif RealTime.seconds() - self._line_seconds > _LINE_SECONDS:
            self.say(line)

    def update(self, decisions: Mapping[str, Decision], spent_seconds: float, left_seconds: float) -> None:
        """Note the state of the benchmarks, and write each new verdict."""
        for line in newly_decided(decisions, self._told):
            self.say(line)
        decided = sum(one.counts.decided for one in decisions.values())
        self._standing = (
            f"{decided} of {len(decisions)} decided in {spent_seconds:.0f} s, "
            f"at most {left_seconds:.0f} s more: "
        )
