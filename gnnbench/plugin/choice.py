"""Chooses which of gnnbench's own benchmarks run: the default ones, unless the user selects others."""

from typing import Any

import pytest

from .. import units
from ..report.lines import wrapped
from ..workloads.cells import is_default
from ..workloads.operations import OPERATIONS
from . import writing
from .session import Run, is_ours, places, run_of, spec_of

PLUGIN = "gnnbench-choice"
DEFAULT = "default"
"""The marker."""
_OF_WORKER = "gnn_choice"
_SET_UP_SECONDS = 0.8
"""What a benchmark takes besides its timing, on average on two cores: set-up, check and inspection."""


class Choice:
    """Marks the default benchmarks and deselects the others.

    It is registered before the plugins that choose among what is selected, such as `Sharding`.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.left_out: dict[str, pytest.Item] = {}
        """The benchmarks that were deselected, by id. `gnnbench ab` may run one that is default elsewhere."""
        self._counts = 0, 0
        """How many benchmarks were kept, and deselected, that can run here."""
        self._to_time = 0
        named = any((config.rootpath / place).is_file() for place in places(config))
        self._narrowed = bool(named or config.option.keyword)
        self._run: Run | None = None
        """None: no benchmark of gnnbench was collected."""

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Mark a default benchmark."""
        if is_ours(item):
            spec, self._run = spec_of(item), run_of(self._config)
            operation = OPERATIONS.get(spec.operation)
            first = self._run.first_graphs(operation.graphs if operation else ())
            if is_default(spec, [name.id for name in first], narrowed=self._narrowed):
                item.add_marker(DEFAULT)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Deselect what is not default, after -k, which other tests are selected by too."""
        if self._is_replaced():
            return
        others = [item for item in items if is_ours(item) and not item.get_closest_marker(DEFAULT)]
        self.left_out = {item.nodeid: item for item in others}
        items[:] = [item for item in items if item.nodeid not in self.left_out]
        self._counts = _runnable(items), _runnable(others)
        if others:
            self._config.hook.pytest_deselected(items=others)

    def _is_replaced(self) -> bool:
        """Return whether the user has chosen: by a test id, -m or --gnn-all."""
        config = self._config
        chosen = config.option.markexpr or any("::" in argument for argument in config.args)
        return bool(chosen or config.getoption("gnn_all"))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count what will be timed."""
        self._to_time = _runnable(session.items)

    def lines(self) -> list[str]:
        """Return the header line on which benchmarks run, or how long all of them take."""
        kept, left_out = self._counts
        if left_out:
            run = "runs, the default one" if kept == 1 else "run, the default ones"
            more = "" if self._narrowed else "a file's name or -k runs some of the others, "
            text = f"{kept} of {units.count(kept + left_out, 'benchmark')} {run}; {more}--gnn-all runs all"
        elif self._to_time and self._config.getoption("gnn_all") and self._is_timed():
            each = float(self._config.getoption("benchmark_max_time")) + _SET_UP_SECONDS
            seconds = run_of(self._config).options.time_seconds or self._to_time * each
            takes = "takes" if self._to_time == 1 else "take"
            text = f"{units.count(self._to_time, 'benchmark')} {takes} about {units.duration(seconds)}"
        else:
            return []
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        return [wrapped(f"gnnbench: {text}", writing.width(reporter))]

    def _is_timed(self) -> bool:
        instead = any(
            self._config.getoption(f"gnn_{name}") for name in ("counters", "growth", "profile", "dry_run")
        )
        theirs: Any = getattr(self._config, "_benchmarksession", None)
        return not instead and theirs is not None and not theirs.disabled

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Pass what was collected to the main process of xdist, which collects nothing."""
        if self._run and hasattr(self._config, "workeroutput"):
            self._config.workeroutput[_OF_WORKER] = self._counts, self._run.notices

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take that from a worker; all collect the same."""
        if found := getattr(node, "workeroutput", {}).get(_OF_WORKER):
            self._counts, run_of(self._config).notices = found


def choice_of(config: pytest.Config) -> Choice:
    """Return the session's choice."""
    found = config.pluginmanager.get_plugin(PLUGIN)
    assert isinstance(found, Choice)
    return found


def _runnable(items: list[pytest.Item]) -> int:
    """Count the benchmarks of gnnbench that can run here."""
    return sum(is_ours(item) and not item.get_closest_marker("skip") for item in items)
