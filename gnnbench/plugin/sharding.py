"""Restricts a session to one shard of its tests."""

from typing import Any

import pytest

from ..shard import Shard

PLUGIN = "gnnbench-sharding"
_LEFT_OUT = "gnn_left_out"


class Sharding:
    """Deselects the tests of other shards."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self._left_out = self._kept = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect the tests of other shards, after all other selections."""
        others = [item for item in items if not self.shard.has(item.nodeid)]
        items[:] = [item for item in items if self.shard.has(item.nodeid)]
        self._left_out, self._kept = len(others), len(items)
        if others:
            config.hook.pytest_deselected(items=others)

    def pytest_report_collectionfinish(self) -> str:
        """Return a line with the number of tests in this shard and in all."""
        return f"gnnbench: shard {self.shard}: {self._kept} of {self._kept + self._left_out} tests"

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the number of deselected tests from a worker of xdist: only workers collect."""
        self._left_out = getattr(node, "workeroutput", {}).get(_LEFT_OUT, 0)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Let the session pass if this shard has no tests."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[_LEFT_OUT] = self._left_out
        if self._left_out and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK
