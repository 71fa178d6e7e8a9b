"""Keeps a session to one shard of its tests: a part of the plugin."""

from typing import Any

import pytest

from ..shard import Shard

PLUGIN = "gnnbench-sharding"
_LEFT_OUT = "gnn_left_out"


class Sharding:
    """The hooks that leave out what other shards run."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self._left_out = self._kept = 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep what belongs to the shard, of what is selected besides."""
        others = [item for item in items if not self.shard.has(item.nodeid)]
        items[:] = [item for item in items if self.shard.has(item.nodeid)]
        self._left_out, self._kept = len(others), len(items)
        if others:
            config.hook.pytest_deselected(items=others)

    def pytest_report_collectionfinish(self) -> str:
        """Say how much of the whole is run."""
        return f"gnnbench: shard {self.shard}: {self._kept} of {self._kept + self._left_out} tests"

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker of xdist left out: where there is one, only the workers collect."""
        self._left_out = getattr(node, "workeroutput", {}).get(_LEFT_OUT, 0)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Take it for no failure that nothing fell to this shard."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[_LEFT_OUT] = self._left_out
        if self._left_out and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK
