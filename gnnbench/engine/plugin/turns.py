"""Times benchmarks of this session in turns with their base, and shows the progress."""

import secrets
from collections.abc import Mapping
from typing import Any

import pytest

from ..drive.gate import Judging
from ..ground import units
from ..ground.cpu import RealTime
from ..ground.files import cache_folder
from ..ground.options import EFFECT, TIMEOUT_SECONDS
from ..judge.schedule import Decision
from ..process.plan import Plan
from ..show.verdicts import newly_decided
from ..store.option_defaults import passed_on
from . import writing
from .session import arguments_without, options_of, settings_of

_UNLIMITED = 1e9
"""Seconds for each benchmark, of which all together have fewer."""
_LINE_SECONDS = 10.0
"""There is at most one line on a step in this time."""


def run(config: pytest.Config, judging: Judging) -> None:
    """Time in turns what has to be, for at most the budget; the base is built before."""
    chosen, count = options_of(config), units.count(len(judging.names), "benchmark")
    progress = _Progress(config.pluginmanager.get_plugin("terminalreporter"))
    limit = units.seconds(chosen.budget_seconds)
    progress.say(f"timing {count} in turns with {judging.base.title}, for at most {limit}")
    arguments, settings = arguments_without(config, "time", "shard"), settings_of(config)
    is_usual = chosen.effect == EFFECT and settings.file is None
    by_rules = any(rule.effect for rule in settings.rules)
    plan = Plan(
        arguments=arguments,
        folder=config.invocation_params.dir,
        timeout_seconds=TIMEOUT_SECONDS,
        seed=secrets.randbits(32),
        thresholds=judging.thresholds,
        per_benchmark_seconds=_UNLIMITED,
        total_seconds=chosen.budget_seconds,
        total_option="--gnn-budget",
        results=chosen.results,
        cache=cache_folder(),
        options=() if is_usual or by_rules else ("--effect", f"{chosen.effect:g}"),
    )
    with passed_on(settings, arguments):
        judging.time(plan, config.rootpath, progress)


class _Progress:
    """Writes each new verdict, and now and then the step that begins."""

    def __init__(self, reporter: Any) -> None:
        self._reporter = reporter
        self._line_seconds = -_LINE_SECONDS
        self._standing = ""
        self._printed: set[str] = set()

    def say(self, text: str) -> None:
        """Write a line."""
        if self._reporter:
            self._reporter.ensure_newline()
            writing.say(self._reporter, text)
            self._line_seconds = RealTime.seconds()

    def step(self, text: str, at_most_seconds: float | None = None) -> None:
        """Show the step that begins."""
        limit = f" (at most {at_most_seconds:.0f} s)" if at_most_seconds else ""
        if RealTime.seconds() - self._line_seconds > _LINE_SECONDS:
            self.say(f"{self._standing}{text}{limit}")

    def update(self, decisions: Mapping[str, Decision], spent_seconds: float, left_seconds: float) -> None:
        """Note the state of the benchmarks, and write each new verdict."""
        for line in newly_decided(decisions, self._printed):
            self.say(line)
        decided = sum(one.counts.decided for one in decisions.values())
        self._standing = (
            f"{decided} of {len(decisions)} decided in {spent_seconds:.0f} s, "
            f"at most {left_seconds:.0f} s more: "
        )
