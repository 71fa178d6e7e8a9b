"""The worker that profiles each benchmark in place of holding it."""

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

from ..process.variants.collected import declares
from ..process.variants.import_roots import Trees
from ..process.variants.pipe import Link
from ..process.variants.startup import run
from ..process.worker import Worker
from .hooks import Profiling
from .record import ProfileStore

_TITLE = ("operation", "direction", "platform")
"""Parameters that every title has."""


def main(terms: Mapping[str, Any], link: Link, trees: Trees) -> NoReturn:
    """Run pytest and profile what the terms say."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that unfinished profiles are removed
    run(trees, ProfilingWorker(terms, link, trees))


class ProfilingWorker(Worker):
    """The plugin; it profiles all kinds of a benchmark on `run`."""

    summarises = True

    def __init__(self, terms: Mapping[str, Any], link: Link, trees: Trees) -> None:
        super().__init__({**terms, "all": True}, link, trees)
        self._select = terms["select"]
        store = ProfileStore(Path(terms["folder"]))
        self._profiling = Profiling(terms["kinds"], terms["repeats"], store)

    def _choose(self, _fixture: Any) -> Profiling:
        return self._profiling

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the selected benchmarks; pass an expression to pytest as its -k."""
        kept = [item for item in items if declares(item)]
        if self._select:
            found = named(kept, self._select)
            if not found:
                given = config.option.keyword
                config.option.keyword = f"({given}) and ({self._select})" if given else self._select
            kept = found or kept
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests that the parent process names, unless a file could not be collected."""
        if session.testsfailed and not session.config.option.continue_on_collection_errors:
            raise session.Interrupted("a file cannot be collected")
        self._profiling.root = session.config.rootpath
        return super().pytest_runtestloop(session)

    def _more_told(self, session: pytest.Session) -> Mapping[str, Any]:
        return {"titles": titles(session.items)}

    def _run(self, session: pytest.Session, item: pytest.Item, then: Any, seed: int) -> dict[str, Any]:
        """Run a test; return its profile, too, and pytest's text of its failure."""
        found = super()._run(session, item, then, seed)
        saved = self._profiling.saved.get(item.nodeid)
        failed = next((report for report in self._reports.values() if report.failed), None)
        return {
            **found,
            "folder": str(saved.folder) if saved else None,
            "unavailable": dict(saved.unavailable) if saved else {},
            "failed": failed.longreprtext if failed else None,
        }

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Report that pytest ended regularly."""
        self._link.send({"answer": "finished", "status": int(exitstatus)})


def named(items: Sequence[pytest.Item], name: str) -> list[pytest.Item]:
    """Return the benchmarks of an operation; if there is none, those whose operation begins with these words.

    `spmm` matches `spmm_sum` but not `spmms`. If a test has no parameter `operation`, its function's name
    without `test_` is the operation.
    """
    exact = [item for item in items if _operation(item) == name]
    return exact or [item for item in items if _operation(item).startswith(f"{name}_")]


def titles(items: Sequence[pytest.Item]) -> list[str]:
    """Return a title for each benchmark: `conv forward pyg`, and the parameters that differ."""
    names = dict.fromkeys(name for item in items for name in _parameters(item) if name not in _TITLE)
    several = [name for name in names if len({str(_parameters(item).get(name)) for item in items}) > 1]
    return [_title(item, (*_TITLE, *several)) for item in items]


def _title(item: pytest.Item, names: Sequence[str]) -> str:
    parameters = _parameters(item)
    if "operation" not in parameters:
        return item.name
    values = [parameters.get(name) for name in names]
    return " ".join(str(value) for value in values if isinstance(value, str | int | float))


def _operation(item: pytest.Item) -> str:
    function = getattr(item, "originalname", item.name)
    return str(_parameters(item).get("operation", function.removeprefix("test_")))


def _parameters(item: pytest.Item) -> Mapping[str, Any]:
    return getattr(getattr(item, "callspec", None), "params", {})
