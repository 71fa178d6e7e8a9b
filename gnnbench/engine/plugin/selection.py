"""Deselects the tests of other shards."""

from collections.abc import Generator

import pytest

from .session import options_of

CHOICE = "gnnbench-choice"
"""Name of a suite's plugin that deselects benchmarks which the user did not ask for: its `left_out`."""


class Selection:
    """Deselects tests."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._of_shard = 0, 0
        """How many tests this shard has, and how many the others have."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None]:
        """Deselect after -k and after a suite's choice."""
        yield
        config = self._config
        if config.option.gnn_shard and (shard := options_of(config).shard):
            elsewhere = [item for item in items if not shard.has(item.nodeid)]
            items[:] = [item for item in items if shard.has(item.nodeid)]
            self._of_shard = len(items), len(elsewhere)
            if elsewhere:
                config.hook.pytest_deselected(items=elsewhere)

    def pytest_report_collectionfinish(self) -> str | None:
        """Return a line with the number of tests in this shard and in all."""
        if not self._config.option.gnn_shard:
            return None
        shard = options_of(self._config).shard
        return f"gnnbench: shard {shard}: {self._of_shard[0]} of {sum(self._of_shard)} tests"

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Let a session pass whose shard has no tests; with -n, only its workers know of those of others."""
        option = self._config.option
        elsewhere = self._of_shard[1] or (option.gnn_shard and getattr(option, "numprocesses", None))
        if elsewhere and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK


def left_out(config: pytest.Config) -> dict[str, pytest.Item]:
    """Return the benchmarks that a suite has deselected because the user did not ask for them, by id."""
    choice = config.pluginmanager.get_plugin(CHOICE)
    return choice.left_out if choice else {}
