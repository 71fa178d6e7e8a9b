"""`--benchmark-compare`: compares a session's benchmarks with a record, and fails tests that are slower.

The reports of timed benchmarks are withheld until all are timed. Then all are compared together, and those
that look slower are timed again in new processes.
"""

import shlex
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from pytest_benchmark.utils import get_machine_id

from .. import environment, units
from ..compare import runs
from ..compare.comparison import Comparison
from ..compare.verdict import Thresholds, confirmed
from ..errors import UsageError
from ..report import verdicts
from ..results import baseline, counter_baseline, run_file
from ..results.base import Base, choose
from ..results.baseline import Record, RecordStore
from ..results.entry import FORMAT_VERSION
from ..results.run_file import RunFile
from ..workloads.spec import Spec
from . import confirmation, terminal
from .session import asks_for, places, run_of
from .timing import timing_of
from .withheld import Withheld

_OWN = ("--benchmark-compare", "--benchmark-json", "--junit", "--gnn-strict", "--gnn-confirm", "--gnn-effect")
"""Options that are left out of the suggested command that records a baseline."""
_OWN_WITH_VALUE = ("--benchmark-json", "--junitxml", "--junit-xml", "--gnn-confirm", "--gnn-effect")


class Gate:
    """Compares the session with the records and reports the verdicts."""

    def __init__(self, config: pytest.Config, number: str | None) -> None:
        self._config = config
        self._number = number
        """Number of the record to compare with; None: the newest."""
        self._withheld = Withheld(
            may_be_judged=lambda item: timing_of(config).settings(item) is not None,
            is_judged=lambda item, reports: (
                all(report.passed for report in reports) and item.nodeid in self._timed()
            ),
            show=self._show,
        )
        config.pluginmanager.register(self._withheld)
        self._deselected: set[str] = set()
        self._found = Comparison([], None)
        self._base = Base([], {})
        self._compared: dict[str, Any] | None = None
        """Thresholds and the common change, for the run file; None: there are no verdicts."""
        self._lines: list[str] = []
        """Lines of the summary."""
        self._failures: list[str] = []
        """Failures that belong to no test."""

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Remember the deselected tests, which are not reported as missing."""
        self._deselected.update(item.nodeid for item in items)

    def pytest_report_collectionfinish(self) -> str | None:
        """Warn before timing if there is no record to compare with."""
        try:
            _, missing = self._find(self._here())
        except (UsageError, OSError):
            return None  # reported at the end
        return f"gnnbench: {missing}" if missing else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Compare after the last test; an interrupted session is not compared."""
        try:
            result = yield
            if not session.config.option.collectonly:
                self._compare(session)
        except BaseException:
            self._failures.append("interrupted: the timed benchmarks were not compared")
            raise
        finally:
            self._withheld.release(before=self._name_file)
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the session if there are failures that belong to no test."""
        fine = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        if self._failures and session.exitstatus in fine:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_benchmark_update_json(self, output_json: dict[str, Any]) -> None:
        """Add the thresholds and the common change to the run file."""
        if self._compared and "gnnbench" in output_json:
            output_json["gnnbench"]["compared"] = self._compared

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Write the verdicts, the lines of the summary and the failures."""
        if self._found.rows:
            verdicts.write(
                self._found,
                terminalreporter.write,
                terminalreporter._tw.fullwidth,  # noqa: SLF001
                colour=terminalreporter.hasmarkup,
            )
        for line in self._lines:
            terminalreporter.write_line(f"gnnbench: {line}")
        for line in self._failures:
            terminalreporter.write_line(f"gnnbench: failed: {line}", red=True)

    def _show(self, reports: Sequence[pytest.TestReport]) -> None:
        """Show the result of a test of gnnbench's own at once, although its report is withheld."""
        if progress := self._config.pluginmanager.get_plugin(terminal.PROGRESS):
            for report in reports:
                progress.pytest_runtest_logreport(report)

    def _name_file(self, item: pytest.Item) -> None:
        """Let pytest print the file's name before the letters of its tests."""
        if reporter := self._config.pluginmanager.get_plugin("terminalreporter"):
            reporter.pytest_runtest_logstart(item.nodeid, item.location)

    def _timed(self) -> dict[str, Any]:
        found = self._config._benchmarksession.benchmarks  # type: ignore[attr-defined]  # noqa: SLF001
        return {
            bench.fullname: bench for bench in found if "measurement" in bench.extra_info.get("gnnbench", {})
        }

    def _compare(self, session: pytest.Session) -> None:
        strict = run_of(self._config).options.strict
        try:
            for item, reports in self._withheld.tests.items():
                ours = self._timed()[item.nodeid].extra_info["gnnbench"]
                if changed := self._counters(ours, strict=strict):
                    _fail(reports, changed)
            self._compare_times(session)
        except (UsageError, OSError) as error:
            self._failures.append(str(error))
        if not any(row.judgement.verdict != "incomparable" for row in self._found.rows):
            why = " (-n switches timing off)" if self._config.getoption("numprocesses", None) else ""
            hint = "" if strict else "; --gnn-strict makes this a failure"
            (self._failures if strict else self._lines).append(f"no benchmark was compared{why}{hint}")

    def _compare_times(self, session: pytest.Session) -> None:
        chosen = run_of(self._config).options
        thresholds = Thresholds(chosen.effect)
        if chosen.shard:
            level = chosen.shard.family_level(thresholds.family_level)
            thresholds = replace(thresholds, family_level=level)
        here = self._here()
        records, missing = self._find(here)
        if not records:
            (self._failures if chosen.strict else self._lines).append(missing)
            return
        head = [self._live(here)]
        self._base = choose(records, head[0].benchmarks, places(self._config))
        base = self._base.runs
        vanished = self._vanished(base, session)
        judge = partial(
            runs.compare, base, thresholds=thresholds, vanished=vanished, confirming=chosen.confirm
        )
        found = judge(head)
        if chosen.confirm:
            passed = {item.nodeid for item in self._withheld.tests}
            if again := confirmation.run(self._config, found, thresholds, passed, chosen.confirm):
                found = judge([*head, *again])
            rows = [replace(row, judgement=confirmed(row.judgement, chosen.confirm)) for row in found.rows]
            found = replace(found, rows=rows)
        self._found = found
        newest = records[0].id
        self._compared = {
            "effect": thresholds.effect,
            "family_level": thresholds.family_level,
            "own_level": thresholds.own_level,
            "shared": found.shared and found.shared.as_json(record=newest),
        }
        self._lines.extend(self._sources(environment.name(here)))
        self._lines.append(verdicts.count(found.rows))
        self._report(chosen.strict)

    def _sources(self, environment_name: str) -> list[str]:
        shown = {row.fullname for row in self._found.rows}
        counts = Counter(record for name, record in self._base.records.items() if name in shown)
        lines = []
        for record, count in counts.items():
            run = next(run for run in self._base.runs if run.path in record.files)
            reason = (run.record or {}).get("reason")
            lines.append(
                f"{units.count(count, 'benchmark')} compared with record {record.id} of {environment_name}: "
                f"{len(record.files)} processes, commit {(run.commit or 'unknown')[:10]}"
                f"{f': {reason}' if reason else ''}"
            )
        return lines

    def _report(self, strict: bool) -> None:
        rows = {row.fullname: row for row in self._found.rows}
        shared = self._found.shared
        sentences = {name: verdicts.sentence(row, drifted=shared is not None) for name, row in rows.items()}
        for item, reports in self._withheld.tests.items():
            row = rows.pop(item.nodeid)
            verdict = row.judgement.verdict
            record = self._base.records.get(item.nodeid)
            ours = self._timed()[item.nodeid].extra_info["gnnbench"]
            against = record.id if record else None
            ours["comparison"] = row.judgement.as_json(row.notes, against)
            if verdict == "slower" or (strict and verdict in ("undecided", "incomparable")):
                where = f" [record {against}]" if against else ""
                _fail(reports, f"{sentences[item.nodeid]}{where}")
        unsure = ("undecided", "incomparable") if strict else ()
        self._failures.extend(
            f"{name}: {sentences[name]}"
            for name, row in rows.items()
            if row.judgement.verdict in ("slower", *unsure)
        )
        if shared and (shared.verdict == "slower" or (strict and shared.verdict != "same")):
            self._failures.append(f"the change that all benchmarks share is {shared.verdict}")

    def _counters(self, ours: dict[str, Any], *, strict: bool) -> str | None:
        """Return a message if the counters differ from their baseline, or with `strict` have none."""
        if "spec" not in ours:
            return None  # another project's benchmark has no baseline of counters
        if "counters" not in ours:
            return "its operators could not be counted" if strict else None
        spec, found = Spec(**ours["spec"]), ours["counters"]
        root = self._config.rootpath
        changed = counter_baseline.changes(root, spec.platform, spec.id, found["counts"], found["unsteady"])
        if changed is None:
            return f"counters {counter_baseline.missing(root, spec.platform)}" if strict else None
        return f"counters differ from the baseline: {', '.join(changed)}" if changed else None

    def _here(self) -> dict[str, Any]:
        chosen = run_of(self._config).options
        return asdict(environment.collect(self._config.rootpath, device=chosen.device, gpu=chosen.gpu))

    def _find(self, here: dict[str, Any]) -> tuple[list[Record], str]:
        """Return the records of this environment, the newest first; or none, and a message."""
        store = RecordStore(self._config.rootpath / baseline.FOLDER)
        name = environment.name(here)
        if records := store.find(name, get_machine_id(), self._number):
            return records, ""
        text = f"there are no timings of this environment ({name}) in {baseline.FOLDER}"
        if nearest := store.nearest(here):
            record, fields = nearest
            text += f"; the most similar, {record.environment}, differs in {runs.describe_fields(fields)}"
        given = self._config.invocation_params.args
        # Without the options that recording does not need, and their values.
        words = [
            word
            for before, word in zip(("", *given), given, strict=False)
            if not word.startswith(_OWN) and not (before in _OWN_WITH_VALUE and not word.startswith("-"))
        ]
        return [], f"{text}; record them: gnnbench baseline record -- {shlex.join(words)}"

    def _live(self, here: dict[str, Any]) -> RunFile:
        session = self._config._benchmarksession  # type: ignore[attr-defined]  # noqa: SLF001
        benchmarks = [
            {"fullname": name, "extra_info": bench.extra_info, "stats": {}}
            for name, bench in self._timed().items()
        ]
        ours = {"version": FORMAT_VERSION, "environment": here}
        machine = session.get_machine_info()
        content = {"benchmarks": benchmarks, "machine_info": machine, "gnnbench": ours}
        return run_file.parse(Path("this run"), content)

    def _vanished(self, base: Sequence[RunFile], session: pytest.Session) -> set[str]:
        """Return the record's benchmarks that this session should have timed but did not."""
        collected = {item.nodeid for item in session.items}
        left = {name for run in base for name in run.benchmarks} - self._timed().keys() - self._deselected
        if shard := run_of(self._config).options.shard:
            left = {name for name in left if shard.has(name)}
        found = left & collected
        option = self._config.option
        again = getattr(option, "lf", False) or option.keyword
        if again or any("::" in argument for argument in self._config.args):
            return found  # these options select tests, so an absent test is not missing
        asked = places(self._config)
        chosen = run_of(self._config)
        specs = {name: benchmark.spec for run in base for name, benchmark in run.benchmarks.items()}
        for name in left - collected:
            file = PurePosixPath(name.partition("::")[0])
            looked_at = any(file.is_relative_to(place) for place in asked)
            if looked_at and asks_for(chosen, specs[name]):
                found.add(name)
        return found


def _fail(reports: Sequence[pytest.TestReport], message: str) -> None:
    """Mark a test as failed; if it has failed already, add the message."""
    call = next(report for report in reports if report.when == "call")
    call.longrepr = f"{call.longrepr}\n{message}" if call.failed else message
    call.outcome = "failed"
    vars(call).pop("wasxfail", None)  # pytest would not count it as failed
