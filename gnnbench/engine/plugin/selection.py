"""Deselects the tests of other shards: `--gnn-shard 1/4` runs a quarter of the tests."""

from collections.abc import Generator

import pytest

from .session import options_of

CHOICE = "gnnbench-choice"
"""Name of the suite's plugin that deselects non-default benchmarks, and has them in `left_out` by id."""


class Selection:
    """Deselects the tests of other shards; pytest reports how many they are."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._has_others = False
        """Whether there are tests in other shards."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None]:
        """Deselect tests of other shards, after -k and after the suite's choice."""
        yield
        config = self._config
        if config.option.gnn_shard and (shard := options_of(config).shard):
            elsewhere = [item for item in items if not shard.has(item.nodeid)]
            items[:] = [item for item in items if shard.has(item.nodeid)]
            if elsewhere:
                self._has_others = True
                config.hook.pytest_deselected(items=elsewhere)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Let the session pass if all tests are in other shards. With -n, only workers know those tests."""
        option = self._config.option
        has_others = self._has_others or (option.gnn_shard and getattr(option, "numprocesses", None))
        if has_others and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK


def left_out(config: pytest.Config) -> dict[str, pytest.Item]:
    """Return the non-default benchmarks that the suite has deselected, by id."""
    choice = config.pluginmanager.get_plugin(CHOICE)
    return choice.left_out if choice else {}
