"""`--gnn-instructions`: counts the instructions of each benchmark in another process, and compares them."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from .. import units
from ..clocks import RealTime
from ..compare.ab.counted_side import CountedSide, Side
from ..compare.ab.visit import NotTimed
from ..compare.instructions import InstructionChange
from ..errors import UsageError
from ..measure import extra_info
from ..measure.instructions.counting import Instructions
from ..measure.instructions.watched import counter_name
from ..options import Options
from ..report import instructions as wording
from ..results import instruction_baseline as baseline
from ..variants.child import DiedError
from . import writing
from .session import settings_of


class InstructionCounts:
    """Asks the other process, which it starts for the first benchmark, and judges and records the counts.

    Args:
        config: pytest's.
        options: the session's options.

    Raises:
        UsageError: nothing counts instructions here, or another option excludes it.
    """

    def __init__(self, config: pytest.Config, options: Options) -> None:
        if config.getoption("numprocesses", None) or config.getoption("tx", None):
            raise UsageError("--gnn-instructions counts in a process of its own; leave out -n")
        if config.getoption("benchmark_compare", None):
            raise UsageError("--gnn-instructions times nothing; leave out --benchmark-compare")
        self._config, self._options = config, options
        self._build = baseline.Build.here(counter_name())
        self._side: CountedSide | None = None
        self._found: dict[str, Instructions] = {}
        """What was counted, by id, of benchmarks that passed."""
        self._file: Path | None = None
        """The baseline, which depends on what the other process says of the processor."""
        self._left_out: dict[str, str] = {}
        self._lines: list[str] = []
        self._failed = self._compared = 0
        self._seconds = self._start_seconds = 0.0
        """Time that counting took, and a part of it: until the other process had collected the tests."""

    def count(self, name: str) -> dict[str, Any]:
        """Count the instructions of a benchmark; return the JSON form of docs/formats.md.

        Raises:
            UsageError: the baseline cannot be read.
        """
        begin = RealTime.seconds()
        try:
            found = self._counted(name)
        except DiedError as error:
            found = NotTimed("failed", str(error))
            self._stop(waiting=False)
        self._seconds += RealTime.seconds() - begin
        if isinstance(found, NotTimed):
            return {"left_out": found.text}
        change = self._change(name, found)
        where = {"counter": self._build.counter, "capability": self._side.capability if self._side else ""}
        return {
            "counted": found.as_json(),
            **where,
            "change": None if change is None else round(change.fraction, 6),
            "changed": change.sentence() if change else None,
        }

    def _counted(self, name: str) -> Instructions | NotTimed:
        if self._side is None:
            self._side = self._started()
        side = self._side
        not_begun = side.begin(name)
        self._start_seconds = side.start_seconds
        if not_begun:
            return not_begun
        found = side.count()
        if isinstance(found, NotTimed):
            side.end()
            return found
        self._file = baseline.path_of(self._config.rootpath, side.capability)
        change = self._change(name, found)
        if self._options.instructions == "update" or change:
            found = side.with_frames(found)
        return side.end() or found

    def _started(self) -> CountedSide:
        parameters = self._config.invocation_params
        apart = self._options.device == "cpu"  # CUDA does not work in a fork
        return CountedSide(Side(list(map(str, parameters.args)), parameters.dir, apart=apart))

    def _change(self, name: str, found: Instructions) -> InstructionChange | None:
        assert self._file
        saved = baseline.read(self._file)
        if saved is None or name not in saved.instructions or saved.build != self._build:
            return None
        return InstructionChange.between(saved.instructions[name], found)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Fail the test of a benchmark that executes too many more instructions."""
        report = yield
        benchmark: Any = getattr(item, "funcargs", {}).get("benchmark")
        found = extra_info.part(getattr(benchmark, "extra_info", None)).get("instructions")
        if call.when == "call" and found and report.passed:
            self._judge(item, found, report)
        return report

    def _judge(self, item: pytest.Item, found: dict[str, Any], report: pytest.TestReport) -> None:
        name = item.nodeid
        if why := found.get("left_out"):
            self._left_out[name] = why
            if self._options.strict:
                writing.fail(report, f"{name}: its instructions were not counted: {why}")
            return
        self._found[name] = Instructions.from_json(found["counted"])
        if self._options.instructions == "update":
            if found["changed"]:
                self._lines.append(f"{name}: {found['changed']}")
            return
        if found["change"] is None:
            if self._options.strict:
                writing.fail(report, f"{name}: {self._not_recorded()}")
            return
        self._compared += 1
        if not found["changed"]:
            return
        limit = self._options.instructions_limit
        rule = settings_of(item.config).rule("ignore", name)
        if limit is not None and found["change"] > limit and not rule:
            self._failed += 1
            writing.fail(report, f"{found['changed']}; the limit is +{100 * limit:g}%")
        else:
            ignored = f" (ignored: {rule.ignore})" if rule else ""
            self._lines.append(f"{name}: {found['changed']}{ignored}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """End the other process, and record what was counted."""
        self._stop(waiting=True)
        if self._options.instructions == "update" and self._found and self._file:
            try:
                baseline.write(self._file, self._build, self._found)
            except UsageError as error:
                self._lines.append(f"failed: {error}")
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _stop(self, *, waiting: bool) -> None:
        if self._side:
            self._side.__exit__(None if waiting else DiedError, None, None)
            self._side = None

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write how many were counted, and what changed."""
        terminalreporter.ensure_newline()
        count = units.count(len(self._found), "benchmark")
        took = f"{units.duration(self._seconds)}, {units.duration(self._start_seconds)} of them for imports"
        lines = [f"instructions of {count} counted by {self._build.counter}, none timed; {took}"]
        if self._options.instructions == "update":
            if self._found and self._file:
                lines.append(f"{len(self._found)} recorded in {self._shown_file()}")
        else:
            if self._compared:
                lines.append(f"{self._compared} compared with {self._shown_file()}")
            if missing := len(self._found) - self._compared:
                lines.append(f"{missing} not compared: {self._not_recorded()}")
        unsteady = {name: one for name, one in self._found.items() if not one.is_steady}
        lines += [f"{name}: {wording.counted(one)}" for name, one in unsteady.items()]
        lines += self._lines
        lines += [f"{name}: not counted: {why}" for name, why in self._left_out.items()]
        for line in lines:
            writing.say(terminalreporter, line)

    def _shown_file(self) -> Path | None:
        return self._file and self._file.relative_to(self._config.rootpath)

    def _not_recorded(self) -> str:
        assert self._file
        saved = baseline.read(self._file)
        record = "record with --gnn-instructions=update"
        if saved is None or saved.build == self._build:
            return f"not in {self._shown_file()}; {record}"
        return f"{self._shown_file()} is of {saved.build}, and this is {self._build}; {record}"
