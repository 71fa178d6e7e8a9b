"""Lets idle OpenMP threads sleep in sessions that time something, and warns if that is impossible."""

import os
from collections.abc import Sequence

import pytest

from ..ground import settings
from ..ground.environment import WAIT_POLICY, let_idle_threads_sleep
from ..ground.errors import UsageError
from ..process.variants.collected import uses_benchmark
from ..show.lines import wrapped
from ..store import baseline

_IS_SET = pytest.StashKey[bool]()
"""In a session's stash: whether gnnbench has set OMP_WAIT_POLICY."""


def begin(config: pytest.Config) -> None:
    """Set OMP_WAIT_POLICY if gnnbench may time something, before a test file can import torch."""
    options = vars(config.known_args_namespace)
    is_off = options.get("benchmark_disable") and not options.get("benchmark_enable")
    is_skipped = options.get("benchmark_skip") and not options.get("benchmark_only")
    if is_off or is_skipped or options.get("collectonly"):
        return
    has_option = any(value not in (None, []) for name, value in options.items() if name.startswith("gnn_"))
    if has_option or options.get("benchmark_compare") or _uses_gnnbench(config):
        config.stash[_IS_SET] = let_idle_threads_sleep()


def _uses_gnnbench(config: pytest.Config) -> bool:
    try:
        has_file = settings.find(config.rootpath).file is not None
    except UsageError:
        return True  # the error is reported later
    return has_file or (config.rootpath / baseline.FOLDER.parent).is_dir()


def lines(config: pytest.Config, items: Sequence[pytest.Item]) -> list[str]:
    """Return the header line about OMP_WAIT_POLICY. Empty if the session times nothing."""
    is_set = config.stash.get(_IS_SET, None)
    if is_set is None or not any(map(uses_benchmark, items)):
        return []
    text = f"{WAIT_POLICY}=PASSIVE is set: idle OpenMP threads sleep" if is_set else disturbance()
    return [wrapped(f"gnnbench: {text}")] if text else []


def end(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Unset OMP_WAIT_POLICY if nothing is timed, because processes that tests start should not inherit it."""
    if config.stash.get(_IS_SET, False) and not any(map(uses_benchmark, items)):
        os.environ.pop(WAIT_POLICY, None)


def disturbance() -> str:
    """Return why times are disturbed, and what to do. Empty if idle threads sleep."""
    policy = os.environ.get(WAIT_POLICY, "")
    if policy.upper() == "PASSIVE":
        return ""
    reason = "" if policy else ", and torch was imported before gnnbench could set it"
    return (
        f"times are disturbed by idle OpenMP threads: {WAIT_POLICY} is {policy or 'unset'}{reason}; "
        f"export {WAIT_POLICY}=PASSIVE"
    )
