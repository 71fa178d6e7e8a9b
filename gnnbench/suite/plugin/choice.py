"""Chooses which of the suite's benchmarks run: the default ones, unless the user selects others."""

from collections.abc import Sequence
from typing import Any

import pytest

from ...engine.ground import units
from ...engine.plugin.selection import CHOICE
from ...engine.plugin.session import argument_paths, options_of, untimed_options
from ...engine.show.lines import wrapped
from ..cells import is_default
from .session import owns, run_of, spec_of

DEFAULT = "default"
_SET_UP_SECONDS = 0.8
"""Average time of a benchmark on two cores, without its timing: for set-up, check and inspection."""


class Choice:
    """Marks the default benchmarks, and deselects the others."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.left_out: dict[str, pytest.Item] = {}
        """The deselected benchmarks, by id."""
        self._counts = 0, 0
        """Numbers of selected and of deselected benchmarks that can run here."""
        has_file = any((config.rootpath / place).is_file() for place in argument_paths(config))
        self._narrowed = bool(has_file or config.option.keyword)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        if owns(item):
            spec, run = spec_of(item), run_of(self._config)
            graphs = [name.id for name in run.graphs_of(spec.operation)]
            # Default benchmarks run on all graphs that the user names.
            default_graphs = graphs if run.options.datasets else graphs[:1]
            if is_default(spec, default_graphs, narrowed=self._narrowed):
                item.add_marker(DEFAULT)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Deselect all but the default benchmarks, after -k, unless the user selects others."""
        config = self._config
        left_out: list[pytest.Item] = []
        if not (config.option.markexpr or any("::" in arg for arg in config.args) or config.option.gnn_all):
            left_out = [item for item in items if owns(item) and not item.get_closest_marker(DEFAULT)]
        self.left_out = {item.nodeid: item for item in left_out}
        items[:] = [item for item in items if item.nodeid not in self.left_out]
        self._counts = _runnable(items), _runnable(left_out)
        if left_out:
            config.hook.pytest_deselected(items=left_out)

    def lines(self, items: Sequence[pytest.Item]) -> list[str]:
        """Return the line for pytest's header: which benchmarks run, or how long all of them take."""
        config, (runs, left_out), to_time = self._config, self._counts, _runnable(items)
        if left_out:
            run = "runs, the default one" if runs == 1 else "run, the default ones"
            more = "" if self._narrowed else "a file's name or -k runs some of the others, "
            text = f"{runs} of {units.count(runs + left_out, 'benchmark')} {run}; {more}--gnn-all runs all"
        elif to_time and config.option.gnn_all and self._is_timed():
            per_test = float(config.getoption("benchmark_max_time")) + _SET_UP_SECONDS
            seconds = options_of(config).time_seconds or to_time * per_test
            takes = "takes" if to_time == 1 else "take"
            text = f"{units.count(to_time, 'benchmark')} {takes} about {units.duration(seconds)}"
        else:
            return []
        return [wrapped(f"gnnbench: {text}")]

    def _is_timed(self) -> bool:
        session: Any = getattr(self._config, "_benchmarksession", None)
        return not untimed_options(self._config) and session is not None and not session.disabled


def choice_of(config: pytest.Config) -> Choice:
    choice = config.pluginmanager.get_plugin(CHOICE)
    assert isinstance(choice, Choice)
    return choice


def _runnable(items: Sequence[pytest.Item]) -> int:
    """Count the suite's benchmarks that can run here."""
    return sum(owns(item) and not item.get_closest_marker("skip") for item in items)
