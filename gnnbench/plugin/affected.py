"""`--gnn-affected-by`: deselects the benchmarks that run the same code as another variant."""

from functools import cached_property
from typing import Any

import pytest

from .. import signals, units
from ..compare.ab import affected
from ..compare.ab.processes import Setting
from ..errors import UsageError
from ..files import cache_folder
from ..options import TIMEOUT_SECONDS
from ..variants import variant
from ..variants.prepare import both
from ..variants.variant import Variant
from . import writing
from .session import arguments_without

_SAME_CODE = "gnn_same_code"


class AffectedOnly:
    """Compares the variant with the working tree, in child processes. Workers of xdist get the result."""

    def __init__(self, config: pytest.Config, base: Variant) -> None:
        self._config, self._base = config, base

    @cached_property
    def _same_code(self) -> frozenset[str]:
        """The ids of the benchmarks that run the same code.

        Raises:
            pytest.UsageError: the variant cannot be compared.
        """
        if hasattr(self._config, "workerinput"):
            return frozenset(self._config.workerinput[_SAME_CODE])
        self.say(f"inspecting the benchmarks of {self._base.text} and of the working tree")
        try:
            same = self._compared().named("same")
        except UsageError as error:
            raise writing.usage_error(f"--gnn-affected-by: {error}") from None
        run, are = ("runs", "is") if len(same) == 1 else ("run", "are")
        count = units.count(len(same), "benchmark")
        self.say(f"{count} {run} the same code as {self._base.text} and {are} deselected")
        return frozenset(same)

    def _compared(self) -> affected.AffectedResult:
        words, folder = arguments_without(self._config, "affected-by"), self._config.invocation_params.dir
        setting = Setting(
            arguments=words, folder=folder, timeout_seconds=TIMEOUT_SECONDS, cache=cache_folder()
        )
        here = variant.parse(variant.WORKING_TREE)
        with signals.as_ctrl_c(), both(self._base, here, folder, self) as (base, head):
            return affected.run(base, head, setting, self)

    def say(self, text: str) -> None:
        """Write a line."""
        writing.say(self._config.pluginmanager.get_plugin("terminalreporter"), text)

    def step(self, text: str, at_most_seconds: float | None = None) -> None:
        """Show no steps: pytest's output has no line that is replaced."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect the benchmarks that run the same code, after all other selections."""
        same = [item for item in items if item.nodeid in self._same_code]
        items[:] = [item for item in items if item.nodeid not in self._same_code]
        if same:
            config.hook.pytest_deselected(items=same)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Pass the ids to a worker of xdist."""
        node.workerinput[_SAME_CODE] = sorted(self._same_code)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Let the session pass if no benchmark is affected."""
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self._same_code:
            session.exitstatus = pytest.ExitCode.OK
