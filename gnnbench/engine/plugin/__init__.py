"""The pytest plugin: declares options, times and compares benchmarks, and registers the suite's plugin."""

from collections.abc import Generator
from typing import Any, Literal

import pytest

from ..ground.errors import UsageError
from ..process.variants import variant
from ..process.variants.collected import FIXED_INPUTS, IN_PLACE, WHOLE_CALL
from ..store import baseline, suite
from ..store.option_defaults import every
from . import histogram, pace, terminal
from .limits import GATE, LimitCheck
from .selection import Selection
from .session import options_of, read_settings, report_values, settings_of, typed_values, untimed_options
from .terminal import say, usage_error
from .timing import PLUGIN as TIMING
from .timing import Timing, timing_of

_DEFAULT_STORAGE = "file://./.benchmarks"
_SUITE = "gnnbench-suite"
_MARKERS = {
    f"{IN_PLACE}(reason)": "time this benchmark on its original inputs, never on copies.",
    f"{WHOLE_CALL}(reason)": "time each call of this benchmark as a whole by the wall clock, and never "
    "trace it, because it starts processes or threads.",
    f"{FIXED_INPUTS}(reason)": "compare the outputs of this benchmark for its own inputs only, because other "
    "values of the same type and shape make no sense.",
}


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the options, and register the suite's plugin."""
    if plugin := suite.installed().plugin():
        pluginmanager.register(plugin, _SUITE)
    group = parser.getgroup("gnnbench", "graph neural network benchmarks")
    for option in every().values():
        option.declare(group.addoption, "gnn-")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Let idle OpenMP threads sleep if benchmarks may be timed. Once torch is imported, it is too late."""
    pace.begin(early_config)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, check the options, and register the plugins that the options need."""
    for name, text in _MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {text}")
    register = config.pluginmanager.register
    register(Selection(config), "gnnbench-selection")
    try:
        read_settings(config)
        if any(value is not False for value in typed_values(config).values()):  # checking may query the GPU
            options_of(config)
    except UsageError as error:
        raise usage_error(str(error)) from None
    histogram.take_over(config)
    register(LimitCheck(config))
    base = config.getoption("benchmark_compare", None)
    is_judged = bool(base) and not _why_left_to_pytest_benchmark(config, base)
    register(Timing(config, all_benchmarks=is_judged), TIMING)
    if is_judged:
        config.option.benchmark_compare = None  # so that pytest-benchmark does not compare, too
        if not hasattr(config, "workerinput"):
            _compare(config, base)


def _compare(config: pytest.Config, value: str | Literal[True]) -> None:
    """Register the hooks that compare with a variant, or with the newest record if the value is True."""
    if config.option.benchmark_compare_fail:
        raise usage_error(
            "--benchmark-compare-fail works with pytest-benchmark's comparison only, not with "
            "gnnbench's: use --gnn-effect 5%, or choose pytest-benchmark's with --benchmark-storage"
        )
    from .gate import Gate

    base = None  # stands for the newest record
    try:
        if value is not True:
            base = variant.parse(value)
            base.check(config.rootpath)
    except UsageError as error:
        raise usage_error(f"--benchmark-compare: {error}") from None
    config.pluginmanager.register(Gate(config, base), GATE)


def _why_left_to_pytest_benchmark(config: pytest.Config, base: Any) -> str:
    """Return why pytest-benchmark handles `--benchmark-compare=base`. Empty if gnnbench does."""
    option = config.option
    if untimed := [option.name for option in untimed_options(config)]:
        return f"--gnn-{untimed[0]} turns timing off"
    is_variant = isinstance(base, str) and (base == variant.WORKING_TREE or ":" in base)
    if not base or option.gnn_strict or is_variant:
        return ""
    if option.benchmark_storage != _DEFAULT_STORAGE:
        return "--benchmark-storage is given"
    is_project = settings_of(config).file or (config.rootpath / baseline.FOLDER.parent).is_dir()
    return "" if is_project else "there is no record"


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Show each benchmark in one table only, gnnbench's or pytest-benchmark's."""
    config = session.config
    pace.end(config, session.items)
    has_table = config.pluginmanager.has_plugin("terminalreporter") and not config.option.collectonly
    if has_table and any(map(timing_of(config).instrument, session.items)):
        terminal.shorten_table(config)


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> list[str]:
    """Return the header line on idle threads, unless the suite's own header contains it."""
    return [] if any(map(suite.installed().owns, items)) else pace.lines(config, items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach to a test's report the entry of its benchmark in the list of times."""
    report = yield
    if call.when == "call" and not suite.installed().owns(item) and timing_of(item.config).instrument(item):
        report.gnnbench = terminal.record(item)  # type: ignore[attr-defined]
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the times of other suites' benchmarks, and say why if pytest-benchmark did the comparison."""
    config = terminalreporter.config
    bench = getattr(config, "_benchmarksession", None)
    if bench and bench.compare and bench.benchmarks:
        from .records import A_COMMIT, how_to_record

        reason = _why_left_to_pytest_benchmark(config, config.option.benchmark_compare)
        text = f"pytest-benchmark compared, because {reason}; to compare with gnnbench, give {A_COMMIT}"
        say(terminalreporter, f"{text} or record timings", how_to_record(config))
    if records := report_values(terminalreporter, "gnnbench"):
        terminal.summarize(terminalreporter, records)
