"""The suite's pytest plugin: parametrises benchmarks by operation, platform and graph, and reports them."""

from collections.abc import Generator, Iterable
from contextlib import nullcontext, suppress
from importlib import import_module
from operator import attrgetter
from typing import Any

import pytest

from ...engine.ground.environment import let_idle_threads_sleep
from ...engine.ground.errors import UsageError
from ...engine.ground.packages import missing
from ...engine.plugin.selection import CHOICE
from ...engine.plugin.session import report_values, stop, typed_values
from ...engine.plugin.terminal import PROGRESS, usage_error
from ...engine.process.variants.collected import uses_benchmark
from .. import cells as selection
from .. import memory, platforms
from . import choice, fixtures, progress
from .choice import Choice, choice_of
from .session import MARKER, owns, run_of

_MARKERS = {
    f"{MARKER}(*names, platforms=None, directions=None, core=False)": "operations of a benchmark, which "
    "is parametrised by platform, direction, type, graph. The keyword arguments are for your own operations.",
    "core": "the few dozen benchmarks that run for each pull request.",
    choice.DEFAULT: "the benchmarks that run unless a test id, -m or --gnn-all selects others: the core "
    "kernels and an example of each group; more with a file's name or -k. gnnbench sets this marker.",
}
_WHEN_RUN = ("..graphs.load", "..training", "..verify")
"""Modules that the fixtures import, with what they import, when a benchmark runs."""


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, register the fixtures and the choice of benchmarks, and check the options."""
    for name, text in _MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {text}")
    config.pluginmanager.register(fixtures, "gnnbench-fixtures")
    config.pluginmanager.register(Choice(config), CHOICE)
    try:
        if any(value is not False for value in typed_values(config).values()):  # otherwise, nothing to check
            run_of(config)
    except UsageError as error:
        raise usage_error(str(error)) from None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise a benchmark whose marker names its operations."""
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is None:
        return
    try:
        operations = selection.operations_of(marker.args, **marker.kwargs)
        graph_names = selection.graphs(operations)
    except (UsageError, TypeError) as error:
        name = metafunc.function.__name__
        raise pytest.Collector.CollectError(f"gnnbench: {name}: {error}") from None
    if mistake := missing(("torch",)):
        raise pytest.Collector.CollectError(f"gnnbench: {mistake}")
    let_idle_threads_sleep()  # for repositories whose conftest.py does not call it
    try:
        run = run_of(metafunc.config)
        names = run.graphs(graph_names)
    except UsageError as error:
        stop(error, metafunc.config)
    options = run.options
    cells = selection.cells(operations, options.platforms, options.dtypes, options.index_dtypes, run.device)
    fields = ("operation", "direction", "platform", "dtype", "index_dtype")
    values = attrgetter(*fields)
    metafunc.parametrize(
        fields, [pytest.param(*values(cell), id=cell.id, marks=_marks(cell)) for cell in cells]
    )
    graphs = [(name.id, hidden) for name in names for hidden in options.hidden or (name.dataset.hidden,)]
    ids = [f"{name}-{hidden}" for name, hidden in graphs]
    metafunc.parametrize(("graph", "hidden"), graphs, ids=ids, indirect=["graph"], scope="session")
    metafunc.parametrize("device", [run.device], scope="session")


def load_used_libraries(items: Iterable[pytest.Item]) -> None:
    """Import everything that these benchmarks of the suite would import when they run."""
    names = {item.callspec.params["platform"] for item in items if owns(item) and hasattr(item, "callspec")}
    for name in sorted(names):
        with suppress(Exception):  # the library is missing or broken; the test says so
            platforms.load(name)
    for name in _WHEN_RUN if names else ():
        import_module(name, __package__)


def _marks(cell: selection.Cell) -> list[pytest.MarkDecorator]:
    marks = [pytest.mark.core] if cell.core else []
    return [*marks, pytest.mark.skip(reason=cell.skip)] if cell.skip else marks


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse to count another suite's benchmark."""
    config = item.config
    if uses_benchmark(item) and config.getoption("gnn_counters") and not owns(item):
        stop(f"--gnn-counters works with gnnbench's own benchmarks only; leave out {item.nodeid}", config)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Make a benchmark on the CPU fail if it needs more memory than is free."""
    with memory.bounded() if owns(item) and run_of(item.config).device == "cpu" else nullcontext():
        return (yield)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    config = session.config
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    benchmarks = [item for item in session.items if owns(item)]
    if benchmarks and reporter and reporter.verbosity == 0 and not config.option.collectonly:
        config.pluginmanager.register(progress.SessionProgress(reporter, benchmarks), PROGRESS)


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> list[str]:
    """Return the header lines about the machine, the data, and which benchmarks run."""
    if not any(map(owns, items)):
        # The line on the choice appears even if -k selects no default benchmark.
        return choice_of(config).lines(items)
    from . import terminal

    return terminal.header(config, items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the data that the summary shows to the test's report."""
    report = yield
    if call.when == "call" and owns(item):
        from . import terminal

        setattr(report, progress.REPORT, terminal.record(item, passed=report.passed))
    return report


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Write the tables, and the counts of benchmarks checked, timed and skipped."""
    if records := report_values(terminalreporter, progress.REPORT):
        from . import terminal

        terminal.summarize(terminalreporter, list(records.values()))
