"""The pytest plugin: options, and one test for each cell of operation, platform and graph."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest

from gnnbench import options, selection
from gnnbench.errors import UsageError
from gnnbench.graphs.catalog import DatasetName
from gnnbench.graphs.locate import cache_folder, resolve
from gnnbench.options import Options

MARKER = "operations"


@dataclass(frozen=True)
class Run:
    """What a session measures: options, with every data set found or replaced by its twin."""

    options: Options
    datasets: dict[str, DatasetName]
    """By id."""
    notices: tuple[str, ...]


_RUN = pytest.StashKey[Run]()
COUNTED = pytest.StashKey[dict[str, Any]]()
"""On a test: what was counted instead of timed, as plain data."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("gnnbench", "graph neural network benchmarks")
    for name, text in options.HELP.items():
        flag, destination = f"--gnn-{name}", f"gnn_{name.replace('-', '_')}"
        if name in options.LISTS:
            group.addoption(flag, dest=destination, action="append", default=[], metavar="NAME", help=text)
        elif name in options.FLAGS:
            group.addoption(flag, dest=destination, action="store_true", help=text)
        elif name == "counters":
            group.addoption(
                flag, dest=destination, nargs="?", const="check", metavar="check|update", help=text
            )
        else:
            group.addoption(flag, dest=destination, metavar=name.upper(), help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, and check what was asked for."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(*names, platforms=None, directions=None, core=False): the operations a benchmark runs, "
        "one test for each with every platform, direction, type and graph; the rest is for your own.",
    )
    config.addinivalue_line("markers", "core: the few dozen benchmarks that a pull request runs.")
    # Early enough for a mistake to be one line, and not at all where the plugin is only installed.
    if any(_given(config).values()):
        try:
            _find_run(config)
        except UsageError as error:
            raise pytest.UsageError(f"gnnbench: {error}") from None


def _given(config: pytest.Config) -> dict[str, Any]:
    names = [name.replace("-", "_") for name in options.HELP]
    return {name: config.getoption(f"gnn_{name}") for name in names}


def _find_run(config: pytest.Config) -> Run:
    chosen = Options.parse(**_given(config))
    found, notices = resolve(chosen.datasets, chosen.data_root, cache_folder(), real_only=chosen.real_only)
    return config.stash.setdefault(_RUN, Run(chosen, {name.id: name for name in found}, tuple(notices)))


def run_of(config: pytest.Config) -> Run:
    """Return what this session measures, found out when first asked."""
    return config.stash.get(_RUN, None) or _find_run(config)


def stop(mistake: str, config: pytest.Config) -> NoReturn:
    """End the session with one line that says what is wrong, and pytest's exit status for wrong usage.

    A worker of xdist cannot end it without a crash: there the test that met the error fails.
    """
    message = f"gnnbench: {mistake}"
    if hasattr(config, "workerinput"):
        pytest.fail(message, pytrace=False)
    pytest.exit(message, returncode=pytest.ExitCode.USAGE_ERROR)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each cell of a benchmark that names its operations."""
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is None:
        return
    run = run_of(metafunc.config)
    chosen = run.options
    mistake = None
    try:
        operations = selection.declared(marker.args, **marker.kwargs)
    except (UsageError, TypeError) as error:
        mistake = f"gnnbench: {metafunc.function.__name__}: {error}"
    if mistake:
        # Outside of the handler: one line, without the story of what else was being handled.
        raise pytest.Collector.CollectError(mistake)
    cells = selection.cells(operations, chosen.platforms, chosen.dtypes, chosen.index_dtypes, chosen.device)
    metafunc.parametrize(
        ("operation", "direction", "platform", "dtype", "index_dtype"),
        [
            pytest.param(
                cell.operation,
                cell.direction,
                cell.platform,
                cell.dtype,
                cell.index_dtype,
                id=cell.id,
                marks=_marks(cell),
            )
            for cell in cells
        ],
    )
    graphs = [
        (name.id, hidden) for name in run.datasets.values() for hidden in chosen.hidden or (name.hidden,)
    ]
    metafunc.parametrize(
        ("graph", "hidden"),
        graphs,
        ids=[f"{name}-{hidden}" for name, hidden in graphs],
        indirect=["graph"],
        scope="session",
    )
    metafunc.parametrize("device", [chosen.device], scope="session")


def _marks(cell: selection.Cell) -> list[pytest.MarkDecorator]:
    marks = [pytest.mark.core] if cell.core else []
    if cell.skip:
        marks.append(pytest.mark.skip(reason=cell.skip))
    return marks


def _is_ours(item: pytest.Item) -> bool:
    return item.get_closest_marker(MARKER) is not None


def pytest_collection_finish(session: pytest.Session) -> None:
    """Report a run of the suite's benchmarks in the suite's own way."""
    config = session.config
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    ours = [item for item in session.items if _is_ours(item)]
    if not ours or reporter is None or config.option.collectonly:
        return
    from gnnbench import terminal

    if reporter.verbosity == 0:
        config.pluginmanager.register(terminal.Progress(reporter, ours), "gnnbench-progress")
    if all(_is_ours(item) for item in session.items if "benchmark" in getattr(item, "fixturenames", ())):
        terminal.hide_their_table(config)


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> list[str]:
    """Say on what machine and which data a run of benchmarks measures."""
    if not any(_is_ours(item) for item in items):
        return []
    from gnnbench import terminal

    run = run_of(config)
    return terminal.header(run.options.device, run.notices)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach to a passed test what the summary shows of it."""
    report = yield
    if _is_ours(item) and call.when == "call" and report.passed:
        from gnnbench import terminal

        report.gnnbench = terminal.record(item)  # type: ignore[attr-defined]
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the suite's table and what was checked, timed and skipped."""
    if any(getattr(report, "gnnbench", None) for report in terminalreporter.stats.get("passed", ())):
        from gnnbench import terminal

        if terminalreporter.config.getoption("numprocesses", None):
            # Only the workers collected, and what they say of themselves is not shown.
            run = run_of(terminalreporter.config)
            terminalreporter.ensure_newline()
            for line in terminal.header(run.options.device, run.notices):
                terminalreporter.write_line(line)
        terminal.summarize(terminalreporter)
