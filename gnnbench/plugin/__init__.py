"""The pytest plugin: declares the options, and parametrises benchmarks by operation, platform and graph."""

import os
from argparse import SUPPRESS
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from ..environment import let_idle_threads_sleep
from ..errors import UsageError
from ..files import above
from ..measure import marks
from ..options import OPTIONS, REMOVED
from ..packages import missing
from ..profile.hooks import PLUGIN as PROFILING
from ..profile.hooks import Profiling
from ..profile.store import ProfileStore
from ..results import baseline
from ..variants import variant
from ..variants.outcome import FIXTURES
from ..workloads import cells as selection
from . import choice, fixtures, histogram
from .choice import Choice, choice_of
from .growth import PLUGIN as GROWTH
from .growth import GrowthCheck
from .limits import GATE, Limits
from .limits import PLUGIN as LIMITS
from .rootdir import is_settled
from .session import (
    MARKER,
    attached,
    given,
    is_ours,
    run_of,
    stop,
    take_settings,
    why_too_large,
)
from .sharding import PLUGIN as SHARDING
from .sharding import Sharding
from .timing import PLUGIN as TIMING
from .timing import Timing, timing_of
from .writing import usage_error

_DEFAULT_STORAGE = "file://./.benchmarks"
"""The default of pytest-benchmark's option."""
_AGAIN = "gnn_again"
"""Hidden option: a file with the ids of the tests that a confirming process times again."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("gnnbench", "graph neural network benchmarks")
    for option in OPTIONS.values():
        option.declare(group.addoption, "gnn-")
    group.addoption("--gnn-again", dest=_AGAIN, type=Path, help=SUPPRESS)
    for name in REMOVED:
        group.addoption(f"--gnn-{name}", dest=f"removed_{name}", nargs="?", const="", help=SUPPRESS)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Let idle threads sleep where gnnbench times, before a file of the suite imports torch."""
    options = vars(early_config.known_args_namespace)
    ours = (value for name, value in options.items() if name.startswith("gnn_"))
    if options.get("benchmark_compare") or any(value not in (None, []) for value in ours):
        let_idle_threads_sleep()


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, and check the options."""
    _declare_markers(config)
    config.pluginmanager.register(fixtures, FIXTURES)
    config.pluginmanager.register(Choice(config), choice.PLUGIN)
    _take_options(config)
    again = config.getoption(_AGAIN)
    if again:
        config.pluginmanager.register(_Again(again), "gnnbench-again")
    histogram.take_over(config)
    if not again:  # a confirming process only times; the session itself has checked the limits
        config.pluginmanager.register(Limits(config), LIMITS)
    judging = not again and _is_judged_here(config)
    config.pluginmanager.register(
        Timing(config, all_benchmarks=judging or bool(again), shares=not again), TIMING
    )
    if judging:
        _compare(config)
    elif (folder := _records_above(config)) and not again:
        raise usage_error(
            f"--benchmark-compare: pytest's rootdir is {config.rootpath}, but the records are "
            f"in {folder}: add --rootdir={os.path.relpath(folder)}, or an empty file pytest.ini there"
        )
    elif config.getoption("gnn_dry_run") and not again:
        raise usage_error("--gnn-dry-run says what --benchmark-compare does: add that option")


def _take_options(config: pytest.Config) -> None:
    """Read the settings, check the options, and register what they ask for.

    Raises:
        pytest.UsageError: the settings or an option cannot be used.
    """
    for name, instead in REMOVED.items():
        if config.getoption(f"removed_{name}") is not None:
            raise usage_error(f"--gnn-{name} was removed: {instead}")
    try:
        take_settings(config)
        if all(value is False for value in given(config).values()):
            return  # without our options, nothing is checked
        chosen = run_of(config).options
        if chosen.profile:
            _profile(config)
        if chosen.growth:
            _watch_growth(config)
        if chosen.gpu is not None:
            config.pluginmanager.register(_OnGpu(chosen.gpu), "gnnbench-gpu")
        if chosen.shard:
            config.pluginmanager.register(Sharding(chosen.shard), SHARDING)
        if chosen.affected_by and not config.getoption(_AGAIN):
            from .affected import AffectedOnly

            config.pluginmanager.register(AffectedOnly(config, chosen.affected_by), "gnnbench-affected")
    except UsageError as error:
        raise usage_error(str(error)) from None


def _declare_markers(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARKER}(*names, platforms=None, directions=None, core=False): operations of a benchmark; it is "
        "parametrised by platform, direction, type and graph. The keywords are for operations of your own.",
    )
    config.addinivalue_line(
        "markers", f"{marks.IN_PLACE}(reason): time this benchmark on its original inputs, never on copies."
    )
    config.addinivalue_line(
        "markers",
        f"{marks.WHOLE_CALL}(reason): time whole calls of this benchmark by the wall clock, and trace none: "
        "it starts processes or threads.",
    )
    config.addinivalue_line("markers", "core: the few dozen benchmarks that run for each pull request.")
    config.addinivalue_line(
        "markers",
        f"{choice.DEFAULT}: the benchmarks that run unless a test id, -m or --gnn-all selects others: the "
        "core kernels and an example of each group; more with a file's name or -k. gnnbench sets it.",
    )


def _compare(config: pytest.Config) -> None:
    """Register the hooks that compare with a record or a variant.

    Raises:
        pytest.UsageError: another option excludes it, or the variant is invalid.
    """
    if config.option.benchmark_compare_fail:
        raise usage_error(
            "--benchmark-compare-fail works with pytest-benchmark's comparison only, not with "
            "gnnbench's: use --gnn-effect 5%, or choose pytest-benchmark's with --benchmark-storage"
        )
    wanted = config.option.benchmark_compare
    config.option.benchmark_compare = None  # pytest-benchmark does not compare
    from ..variants import prepare
    from .gate import Gate

    base = None if wanted is True else wanted
    try:
        if _is_variant(wanted):
            base = variant.parse(wanted)
            prepare.check(base, config.rootpath)
    except UsageError as error:
        raise usage_error(f"--benchmark-compare: {error}") from None
    config.pluginmanager.register(Gate(config, base), GATE)


def _profile(config: pytest.Config) -> None:
    """Register the hooks that profile instead of timing.

    Raises:
        UsageError: another option excludes it, or the folder cannot be written.
    """
    if config.getoption("numprocesses", None) or config.getoption("tx", None):
        raise UsageError("--gnn-profile cannot profile in parallel processes; leave out -n")
    if config.getoption("benchmark_compare", None):
        raise UsageError("--gnn-profile does not time benchmarks; leave out --benchmark-compare")
    options = run_of(config).options
    store = ProfileStore(options.profile_folder.absolute())
    store.check()
    config.pluginmanager.register(Profiling(options.profile, options.epochs, store), PROFILING)


def _watch_growth(config: pytest.Config) -> None:
    """Register the hooks that judge growth.

    Raises:
        UsageError: another option excludes it.
    """
    if config.getoption("benchmark_compare", None):
        raise UsageError("--gnn-growth does not time benchmarks; leave out --benchmark-compare")
    config.pluginmanager.register(GrowthCheck(), GROWTH)


def _is_judged_here(config: pytest.Config) -> bool:
    """Return whether `--benchmark-compare` reads gnnbench's records, not pytest-benchmark's files."""
    if not config.getoption("benchmark_compare", None) or config.getoption("gnn_counters"):
        return False
    if hasattr(config, "workerinput"):
        return False
    if config.getoption("gnn_strict") or _is_variant(config.getoption("benchmark_compare")):
        return True
    ours = (config.rootpath / "baselines").is_dir()
    return ours and config.getoption("benchmark_storage") == _DEFAULT_STORAGE


def _records_above(config: pytest.Config) -> Path | None:
    """Return the folder above rootdir that has records which are not seen from the current folder, if any."""
    wanted = config.getoption("benchmark_compare", None) and not hasattr(config, "workerinput")
    if not wanted or is_settled(config) or config.getoption("benchmark_storage") != _DEFAULT_STORAGE:
        return None
    return next((one for one in above(config.rootpath)[1:] if (one / baseline.FOLDER).is_dir()), None)


def _is_variant(wanted: Any) -> bool:
    """Return whether `--benchmark-compare` names a variant, and not a record."""
    return isinstance(wanted, str) and (wanted == variant.WORKING_TREE or ":" in wanted)


class _OnGpu:
    """Makes the chosen GPU the current device of each test."""

    def __init__(self, index: int) -> None:
        self._index = index

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        import torch

        torch.cuda.set_device(self._index)


class _Again:
    """Keeps only the tests that a file names."""

    def __init__(self, file: Path) -> None:
        self._names = set(file.read_text(encoding="utf-8").splitlines())

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._names]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise a benchmark that names its operations."""
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is None:
        return
    mistake = missing(("torch",))
    try:
        operations = selection.declared(marker.args, **marker.kwargs)
        own_graphs = selection.graphs(operations)
    except (UsageError, TypeError) as error:
        mistake = f"{metafunc.function.__name__}: {error}"
    if mistake:
        # Raised outside the except clause, so that pytest shows one line without the chained exception.
        raise pytest.Collector.CollectError(f"gnnbench: {mistake}")
    let_idle_threads_sleep()  # for repositories whose conftest.py does not call it
    try:
        run = run_of(metafunc.config)
        names = run.graphs(own_graphs)
    except UsageError as error:
        mistake = str(error)
    if mistake:
        stop(mistake, metafunc.config)
    chosen = run.options
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
    graphs = [(name.id, hidden) for name in names for hidden in chosen.hidden or (name.hidden,)]
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


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a benchmark that does not fit in memory; stop if `--gnn-counters` meets another suite's one."""
    is_benchmark = "benchmark" in getattr(item, "fixturenames", ())
    if is_benchmark and item.config.getoption("gnn_counters") and not is_ours(item):
        stop(
            f"--gnn-counters works with gnnbench's own benchmarks only; leave out {item.nodeid}", item.config
        )
    if is_ours(item) and (too_large := why_too_large(item)):
        pytest.skip(too_large)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Show gnnbench's progress lines, and each benchmark in one table: gnnbench's or pytest-benchmark's."""
    config = session.config
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    ours = [item for item in session.items if is_ours(item)]
    timed = any(map(timing_of(config).settings, session.items))
    if not (ours or timed) or reporter is None or config.option.collectonly:
        return
    from . import terminal

    if ours and reporter.verbosity == 0:
        config.pluginmanager.register(terminal.SessionProgress(reporter, ours), terminal.PROGRESS)
    if timed:
        terminal.shorten_their_table(config)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Return a line about a folder that earlier versions used; for one release."""
    folder = config.rootpath / "baselines" / "instructions"
    return "gnnbench: baselines/instructions is not used any more: remove it" if folder.is_dir() else None


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> list[str]:
    """Return the header lines about the machine, the data, and which benchmarks run."""
    if not any(is_ours(item) for item in items):
        return choice_of(config).lines()  # if none of those that -k selects is a default one
    from . import terminal

    return terminal.header(config)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the results for the summary to the report of a test."""
    report = yield
    if call.when == "call" and (is_ours(item) or timing_of(item.config).settings(item)):
        from . import terminal

        if is_ours(item):
            report.gnnbench = terminal.record(item, passed=report.passed)  # type: ignore[attr-defined]
        else:
            report.gnnbench_other = terminal.record_other(item)  # type: ignore[attr-defined]
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the tables and the counts of benchmarks checked, timed and skipped."""
    others, ours = (attached(terminalreporter, name) for name in ("gnnbench_other", "gnnbench"))
    if not others and not ours:
        return
    from . import terminal

    if others:
        terminal.summarize_others(terminalreporter, others)
    if ours:
        if terminalreporter.config.getoption("numprocesses", None):
            # Only xdist's workers collected the tests, and their headers are not shown.
            terminalreporter.ensure_newline()
            for line in terminal.header(terminalreporter.config):
                terminalreporter.write_line(line)
        terminal.summarize(terminalreporter, list(ours.values()))
