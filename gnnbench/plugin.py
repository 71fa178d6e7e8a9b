"""The pytest plugin: options, and one test for each cell of operation, platform and graph."""

import sys
from collections.abc import Generator
from dataclasses import asdict, dataclass
from typing import Any, NoReturn

import pytest

from gnnbench import environment, options, selection
from gnnbench.clock import ClockError
from gnnbench.errors import UsageError
from gnnbench.graphs.catalog import DatasetName
from gnnbench.graphs.locate import cache_folder, resolve
from gnnbench.options import Options
from gnnbench.results import FORMAT_VERSION
from gnnbench.seam import Seam, Settings

MARKER = "operations"


@dataclass(frozen=True)
class Run:
    """What a session measures: options, with every data set found or replaced by its twin."""

    options: Options
    datasets: dict[str, DatasetName]
    """By id."""
    notices: tuple[str, ...]


_SEAM = pytest.StashKey[Seam]()
_RUN = pytest.StashKey[Run]()
COUNTED = pytest.StashKey[dict[str, Any]]()
"""On a test: what was counted instead of timed, as plain data."""
OUT_OF_MEMORY = pytest.StashKey[str]()
"""On a test: `OOM at N GiB`, its result."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("gnnbench", "graph neural network benchmarks")
    for name, words in options.HELP.items():
        text = words.replace("%", "%%")  # argparse formats it
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
    config.addinivalue_line(
        "markers", "in_place(reason): time this benchmark on its inputs as they are, never on copies."
    )
    config.addinivalue_line("markers", "core: the few dozen benchmarks that a pull request runs.")
    config.stash[_SEAM] = Seam()
    # Early enough for a mistake to be one line, and not at all where the plugin is only installed.
    if any(_given(config).values()):
        try:
            _find_run(config)
        except UsageError as error:
            raise pytest.UsageError(f"gnnbench: {error}") from None


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave pytest-benchmark as it was found."""
    if seam := config.stash.get(_SEAM, None):  # None: a plugin before this one refused the configuration
        seam.remove()


def _given(config: pytest.Config) -> dict[str, Any]:
    names = [name.replace("-", "_") for name in options.HELP]
    return {name: config.getoption(f"gnn_{name}") for name in names}


def _find_run(config: pytest.Config) -> Run:
    chosen = Options.parse(**_given(config))
    if config.getoption("benchmark_precision", None) is not None and (
        config.getoption("gnn_precision") or config.getoption("gnn_layouts")
    ):
        raise UsageError(
            "--benchmark-precision is for pytest-benchmark's own timing: give either it or "
            "--gnn-precision and --gnn-layouts"
        )
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
    if any(map(_settings, session.items)):
        mistake = None
        try:
            config.stash[_SEAM].install()
        except UsageError as error:
            mistake = str(error)
        if mistake:
            stop(mistake, config)
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    ours = [item for item in session.items if _is_ours(item)]
    if not ours or reporter is None or config.option.collectonly:
        return
    from gnnbench import terminal

    if reporter.verbosity == 0:
        config.pluginmanager.register(terminal.Progress(reporter, ours), "gnnbench-progress")
    benchmarks = [item for item in session.items if "benchmark" in getattr(item, "fixturenames", ())]
    if all(_is_ours(item) and _settings(item) for item in benchmarks):
        terminal.hide_their_table(config)


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> list[str]:
    """Say on what machine and which data a run of benchmarks measures."""
    if not any(_is_ours(item) for item in items):
        return []
    from gnnbench import terminal

    return terminal.header(run_of(config))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Have a benchmark timed in our way: one of the suite's, or any where an option asks for it."""
    seam = item.config.stash[_SEAM]
    seam.settings = _settings(item)
    try:
        return (yield)
    finally:
        seam.settings = seam.failure = None  # whose frames hold the inputs


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """End what no clock can time in one line, and take running out of memory for a result."""
    seam = pyfuncitem.config.stash[_SEAM]
    mistake = None
    try:
        return (yield)
    except Exception as error:
        if seam.settings is None:
            raise
        text = None if isinstance(error, AssertionError) else _out_of_memory(error)
        if isinstance(error, (ClockError, UsageError)):
            mistake = str(error)
        elif text and (_is_ours(pyfuncitem) or seam.failure is error):
            seam.ran_out_of_memory(pyfuncitem.nodeid, text)
            if not _is_ours(pyfuncitem):
                raise
            pyfuncitem.stash[OUT_OF_MEMORY] = text
        else:
            raise
    if mistake:
        # Outside of the handler: one line, without the story of what else was being handled.
        pytest.fail(f"gnnbench: {pyfuncitem.name}: {mistake}", pytrace=False)
    return True


def _out_of_memory(error: Exception) -> str | None:
    """Say how much memory was asked for, where that is what went wrong."""
    if "torch" not in sys.modules:
        return "OOM" if isinstance(error, MemoryError) else None
    from gnnbench import memory

    return memory.describe_out_of_memory(error) if memory.is_out_of_memory(error) else None


def _reason(marker: pytest.Mark) -> str:
    words = (*marker.args, *marker.kwargs.values())
    return " ".join(map(str, words)) or "marked in_place"


def _settings(item: pytest.Item) -> Settings | None:
    config = item.config
    if not _is_ours(item) and not config.getoption("gnn_layouts"):
        return None
    if config.getoption("benchmark_precision", None) is not None:
        return None
    chosen = run_of(config).options
    if chosen.layouts == "off":
        return None
    marker = item.get_closest_marker("in_place")
    return Settings(
        sample_layouts=chosen.layouts != "one",
        precision=chosen.precision,
        flush=chosen.flush_l2,
        in_place=_reason(marker) if marker else None,
    )


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Save what was measured of benchmarks that were cut short also where no other was measured."""
    config = session.config
    theirs = getattr(config, "_benchmarksession", None)
    if not config.stash[_SEAM].incomplete or theirs is None or theirs.benchmarks or not theirs.json:
        return
    hooks = config.hook
    commit_info = hooks.pytest_benchmark_generate_commit_info(config=config)
    content = hooks.pytest_benchmark_generate_json(
        config=config,
        benchmarks=[],
        include_data=True,
        machine_info=theirs.get_machine_info(),
        commit_info=commit_info,
    )
    hooks.pytest_benchmark_update_json(config=config, benchmarks=[], output_json=content)
    theirs.save_json(content)


def pytest_benchmark_update_json(config: pytest.Config, output_json: dict[str, Any]) -> None:
    """Save the environment, and the benchmarks that were cut short, which pytest-benchmark leaves out."""
    seam = config.stash[_SEAM]
    if not seam.used:
        return
    here = environment.collect(config.rootpath, device=run_of(config).options.device)
    output_json["gnnbench"] = {
        "version": FORMAT_VERSION,
        "environment": asdict(here),
        "incomplete": seam.incomplete,
    }


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach to a passed test what the summary shows of it."""
    report = yield
    if call.when == "call" and report.passed and (_is_ours(item) or _settings(item)):
        from gnnbench import terminal

        if _is_ours(item):
            report.gnnbench = terminal.record(item)  # type: ignore[attr-defined]
        else:
            report.gnnbench_other = terminal.record_other(item)  # type: ignore[attr-defined]
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what was measured, and of the suite what was checked, timed and skipped."""
    others = [
        report.gnnbench_other
        for report in terminalreporter.stats.get("passed", ())
        if getattr(report, "gnnbench_other", None)
    ]
    if others:
        from gnnbench import terminal

        terminal.summarize_others(terminalreporter, others)
    if any(getattr(report, "gnnbench", None) for report in terminalreporter.stats.get("passed", ())):
        from gnnbench import terminal

        if terminalreporter.config.getoption("numprocesses", None):
            # Only the workers collected, and what they say of themselves is not shown.
            terminalreporter.ensure_newline()
            for line in terminal.header(run_of(terminalreporter.config)):
                terminalreporter.write_line(line)
        terminal.summarize(terminalreporter)
