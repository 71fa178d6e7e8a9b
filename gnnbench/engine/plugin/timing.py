"""Decides which benchmarks gnnbench times, and adds its part to the run file of `--benchmark-json`."""

import json
import sys
from collections.abc import Generator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pytest_benchmark.utils import safe_dumps

from ..ground import codec, json_io
from ..ground.cpu import RealTime
from ..ground.errors import UsageError
from ..ground.files import check_writable, save
from ..interfaces import Instrument
from ..measure.benchmark_fixture import check_pytest_benchmark, replace_timing
from ..measure.clock import ClockError
from ..measure.instruments import SessionState, TimeBudget, TimeInstrument
from ..process.variants.collected import IN_PLACE, WHOLE_CALL, marked, uses_benchmark
from ..process.variants.import_roots import TEST_NAMES, names_of_tests
from ..process.variants.outcome import several_calls
from ..store import suite
from ..store.parts import FORMAT_VERSION
from . import selection, terminal
from .session import OUT_OF_MEMORY, options_of, session_environment, settings_of, stop

if TYPE_CHECKING:
    from ..measure.sources import Sources

PLUGIN = "gnnbench-timing"


class Timing:
    """Replaces pytest-benchmark's timing with gnnbench's, reports errors, and completes the run file."""

    def __init__(self, config: pytest.Config, *, all_benchmarks: bool) -> None:
        self._config = config
        self.state = SessionState(FORMAT_VERSION)
        self._instrument: Instrument | None = None
        """The instrument of the running test. None if pytest-benchmark times it."""
        self._replaced = ExitStack()
        self._unsaved = ""
        """Why the run file was not saved. Empty if it was."""
        self._all_benchmarks = all_benchmarks
        """Whether gnnbench times the benchmarks of other suites even without an option."""
        self._definitions: dict[str, str] = {}
        """Hash of the definition of each benchmark that is not gnnbench's own, by id."""
        self._budget: TimeBudget | None = None
        """The time for all benchmarks together. None if each benchmark has its own time limit."""
        self._suite_names = set(TEST_NAMES)

    def instrument(self, item: pytest.Item) -> Instrument | None:
        """Return the instrument that measures a test's benchmark. None if pytest-benchmark times it."""
        config = self._config
        if not uses_benchmark(item):
            return None
        is_timed = suite.installed().owns(item) or config.getoption("gnn_layouts") or self._all_benchmarks
        if not is_timed or config.getoption("benchmark_precision", None) is not None:
            return None
        options = options_of(config)
        if options.layouts == "off":
            return None
        return TimeInstrument(
            self.state,
            sample_layouts=options.layouts != "one",
            precision=options.precision,
            flush=options.flush_l2,
            in_place=marked(item, IN_PLACE),
            whole_call=marked(item, WHOLE_CALL),
        )

    def _choose(self, fixture: Any) -> Instrument | None:
        """Return the running test's instrument. None if pytest-benchmark is disabled, or runs cProfile."""
        return None if fixture.disabled or fixture.cprofile else self._instrument

    def sources(self) -> "Sources":
        """Return where the code that was imported so far comes from, such as a commit."""
        from ..measure import sources  # imported here because it imports elftools

        return sources.collect(self._config.rootpath, self._suite_names)

    def part(self) -> dict[str, Any]:
        """Return the run file's fields about the machine and the code."""
        part = {"environment": session_environment(self._config), "sources": self.sources()}
        if shard := options_of(self._config).shard:
            part["shard"] = str(shard)
        return {"version": FORMAT_VERSION, **codec.encode(part)}

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path) -> None:
        """Remember the modules of the benchmarks: they are not part of the measured code."""
        self._suite_names |= names_of_tests(module_path, self._config.rootpath)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Replace pytest-benchmark's timing if gnnbench times any benchmark."""
        timed = [item for item in session.items if self.instrument(item)]
        if not timed:
            return
        # Hashed before anything runs, because the contents of global variables count.
        self._definitions = {
            item.nodeid: _definition(item)
            for item in timed
            if isinstance(item, pytest.Function) and not suite.installed().owns(item)
        }
        if seconds := options_of(self._config).time_seconds:
            runnable = sum(not item.get_closest_marker("skip") for item in timed)
            self._budget = TimeBudget(seconds, runnable)
        try:
            check_pytest_benchmark()
            if isinstance(file := self._config.getoption("benchmark_json", None), Path):
                check_writable(file)
                if bench := getattr(self._config, "_benchmarksession", None):
                    bench.save_json = partial(self._save, bench)
            self.state.begin()
        except UsageError as error:
            stop(error, self._config)
        self._replaced.enter_context(replace_timing(self._choose))

    def pytest_unconfigure(self) -> None:
        """Restore pytest-benchmark's methods."""
        self._replaced.close()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Choose the instrument for the next test, and its share of `--gnn-time`."""
        instrument = self.instrument(item)
        if isinstance(instrument, TimeInstrument) and self._budget and not item.get_closest_marker("skip"):
            seconds = self._budget.next_seconds()
            if not any("max_time" in mark.kwargs for mark in item.iter_markers("benchmark")):
                instrument = replace(instrument, max_seconds=seconds)
        self._instrument = instrument
        self.state.begin_test(self._definitions.get(item.nodeid))
        start, timing_seconds = RealTime.seconds(), self.state.timing_seconds
        try:
            return (yield)
        finally:
            self._instrument = self.state.failure = None  # the failure's frames would keep the inputs alive
            if instrument and self._budget:
                took = RealTime.seconds() - start
                self._budget.spend(took, self.state.timing_seconds - timing_seconds)

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Report in one line why a benchmark cannot be timed. Record it if memory ran out."""
        state, is_builtin = self.state, suite.installed().owns(pyfuncitem)
        try:
            return (yield)
        except Exception as error:
            if self._instrument is None or isinstance(error, AssertionError):
                raise
            if isinstance(error, (ClockError, UsageError)):
                line = f"gnnbench: {pyfuncitem.name}: {error}"
                raise pytest.fail.Exception(line, pytrace=False) from None
            text = _out_of_memory(error)
            if not text or not (is_builtin or state.failure is error):
                raise
            state.ran_out_of_memory(pyfuncitem.nodeid, text)
            if not is_builtin:
                raise
            pyfuncitem.stash[OUT_OF_MEMORY] = text
        return True

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Save a run file without benchmarks if all of them were interrupted, or belong to other shards."""
        config = self._config
        if self._unsaved and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        bench = getattr(config, "_benchmarksession", None)
        is_ok = session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        is_due = self.state.incomplete or (config.getoption("gnn_shard") and is_ok)
        if not is_due or bench is None or bench.disabled or bench.benchmarks or not bench.json:
            return
        hooks = config.hook
        content = hooks.pytest_benchmark_generate_json(
            config=config,
            benchmarks=[],
            include_data=True,
            machine_info=bench.get_machine_info(),
            commit_info=hooks.pytest_benchmark_generate_commit_info(config=config),
        )
        hooks.pytest_benchmark_update_json(config=config, benchmarks=[], output_json=content)
        bench.save_json(content)

    def _save(self, bench: Any, output_json: dict[str, Any]) -> None:
        """Write the file of `--benchmark-json` in one step: if this fails, an older file is kept."""
        try:
            save(bench.json, safe_dumps(output_json, indent=4))
        except UsageError as error:
            self._unsaved = f"{error}; the run was not saved"
        else:
            bench.logger.info(f"Wrote benchmark data in: {bench.json}", purple=True)  # noqa: G004

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write which tests called `benchmark` several times, and why the run was not saved."""
        for line in several_calls(self.state.repeated):
            terminal.say(terminalreporter, line)
        if self._unsaved:
            terminal.say(terminalreporter, f"failed: {self._unsaved}", red=True)

    @pytest.hookimpl(wrapper=True)
    def pytest_benchmark_update_json(
        self, config: pytest.Config, output_json: dict[str, Any]
    ) -> Generator[None]:
        """Add the environment and the interrupted benchmarks; write infinity and NaN as texts."""
        if self.state.used or config.getoption("gnn_shard"):
            not_default = selection.left_out(config)
            output_json["gnnbench"] = {
                **self.part(),
                "incomplete": self.state.incomplete,
                "settings": codec.encode(settings_of(config)),
                **({"not_default": sorted(not_default)} if not_default else {}),
            }
        yield
        output_json |= json.loads(safe_dumps(output_json), parse_constant=json_io.NAMES.__getitem__)


def timing_of(config: pytest.Config) -> Timing:
    plugin = config.pluginmanager.get_plugin(PLUGIN)
    assert isinstance(plugin, Timing)
    return plugin


def _definition(item: pytest.Function) -> str:
    """Return a hash of the source of a test and its fixtures."""
    from ..measure.definition import definition_hash

    fixtures = [chain[-1].func for chain in item._fixtureinfo.name2fixturedefs.values()]  # noqa: SLF001
    files = {Path(function.__code__.co_filename) for function in fixtures if hasattr(function, "__code__")}
    paths = {item.path, *(file for file in files if file.name == "conftest.py")}
    return definition_hash([item.function, *fixtures], paths)


def _out_of_memory(error: Exception) -> str | None:
    """Return `OOM at N GiB` if memory ran out. Returns None for any other error."""
    if "torch" not in sys.modules:
        return "OOM" if isinstance(error, MemoryError) else None
    from ..measure import memory

    return memory.describe_out_of_memory(error) if memory.is_out_of_memory(error) else None
