"""`--benchmark-compare`: judges a session's benchmarks against a record, and fails what is slower.

A part of the plugin. Reports of benchmarks that were timed are withheld until all are: then each is judged
with all that is known, and what looks slower is timed again in fresh processes.
"""

import shlex
import tempfile
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.utils import get_machine_id

from .. import environment, signals
from ..compare import drift, runs
from ..compare.runs import Comparison
from ..compare.verdict import Thresholds, confirmed
from ..errors import UsageError
from ..report import verdicts
from ..results import baseline, counter_baseline, run_file
from ..results.base import Base, choose
from ..results.baseline import Record, RecordStore
from ..results.entry import FORMAT_VERSION
from ..results.run_file import RunFile
from ..variants import fresh
from ..workloads.spec import Spec
from . import terminal
from .session import asks_for, places, run_of
from .timing import timing_of
from .withheld import Withheld

_OWN = ("--benchmark-compare", "--benchmark-json", "--junit", "--gnn-strict", "--gnn-confirm", "--gnn-effect")
"""Options of a run that judges, which one that records does not need."""
_OWN_WITH_VALUE = ("--benchmark-json", "--junitxml", "--junit-xml", "--gnn-confirm", "--gnn-effect")
_FIRST_CONFIRMING = 101
"""Number of the first process that confirms: none that a record has."""


class Gate:
    """Judges, and reports."""

    def __init__(self, config: pytest.Config, number: str | None) -> None:
        self._config = config
        self._number = number
        """Of the record to compare with; None: the newest."""
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
        """How the verdicts were reached; None: there are none."""
        self._lines: list[str] = []
        """What the summary says."""
        self._failures: list[str] = []
        """What has no test to fail."""

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Remember what was left out on purpose."""
        self._deselected.update(item.nodeid for item in items)

    def pytest_report_collectionfinish(self) -> str | None:
        """Say before anything is timed that it cannot be judged."""
        try:
            _, missing = self._find(self._here())
        except (UsageError, OSError):
            return None  # said where it is judged
        return f"gnnbench: {missing}" if missing else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Judge once all are timed; where the session is cut short, nothing is."""
        try:
            result = yield
            if not session.config.option.collectonly:
                self._judge(session)
        except BaseException:
            self._failures.append("cut short: what was timed was not judged")
            raise
        finally:
            self._withheld.release(before=self._name_file)
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the session for what has no test to fail."""
        fine = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        if self._failures and session.exitstatus in fine:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_benchmark_update_json(self, output_json: dict[str, Any]) -> None:
        """Save how the verdicts were reached, beside what timing saves of the run."""
        if self._compared and "gnnbench" in output_json:
            output_json["gnnbench"]["compared"] = self._compared

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show the verdicts."""
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
        """Show at once how a test of the suite's own ended."""
        if progress := self._config.pluginmanager.get_plugin(terminal.PROGRESS):
            for report in reports:
                progress.pytest_runtest_logreport(report)

    def _name_file(self, item: pytest.Item) -> None:
        """Have pytest's letters stand behind the file that they belong to."""
        if reporter := self._config.pluginmanager.get_plugin("terminalreporter"):
            reporter.pytest_runtest_logstart(item.nodeid, item.location)

    def _timed(self) -> dict[str, Any]:
        """Return the benchmarks that gnnbench measured, by the test's id."""
        found = self._config._benchmarksession.benchmarks  # type: ignore[attr-defined]  # noqa: SLF001
        return {
            bench.fullname: bench for bench in found if "measurement" in bench.extra_info.get("gnnbench", {})
        }

    def _judge(self, session: pytest.Session) -> None:
        strict = run_of(self._config).options.strict
        try:
            for item, reports in self._withheld.tests.items():
                ours = self._timed()[item.nodeid].extra_info["gnnbench"]
                if changed := self._counters(ours, strict=strict):
                    _fail(reports, changed)
            self._judge_times(session)
        except (UsageError, OSError) as error:
            self._failures.append(str(error))
        if not any(row.judgement.verdict != "incomparable" for row in self._found.rows):
            why = " (xdist switches timing off)" if self._config.getoption("numprocesses", None) else ""
            hint = "" if strict else "; --gnn-strict makes this a failure"
            (self._failures if strict else self._lines).append(f"nothing was judged{why}{hint}")

    def _judge_times(self, session: pytest.Session) -> None:
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
        found = runs.compare(base, head, thresholds, vanished=vanished, confirming=chosen.confirm)
        suspects = np.array([row.contended or row.judgement.looks_slower(thresholds) for row in found.rows])
        if suspects.any() and chosen.confirm:
            # Where the drift is told by neighbours, they have to be there again.
            wanted = drift.neighbours(suspects) if found.shared else suspects
            passed = {item.nodeid for item in self._withheld.tests}
            again = (row.fullname for row, is_one in zip(found.rows, wanted, strict=True) if is_one)
            names = [name for name in again if name in passed]
            if names:
                head.extend(self._again(names, int(suspects.sum()), chosen.confirm))
            found = runs.compare(base, head, thresholds, vanished=vanished, confirming=chosen.confirm)
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
        """Say which records took part, the newest first, and for how many of the benchmarks."""
        shown = {row.fullname for row in self._found.rows}
        counts = Counter(record for name, record in self._base.records.items() if name in shown)
        lines = []
        for record, count in counts.items():
            run = next(run for run in self._base.runs if run.path in record.files)
            reason = (run.record or {}).get("reason")
            lines.append(
                f"{count} judged against record {record.id} of {environment_name}: {len(record.files)} "
                f"processes, commit {(run.commit or 'unknown')[:10]}{f': {reason}' if reason else ''}"
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
            self._failures.append(f"the run as a whole is {shared.verdict}")

    def _counters(self, ours: dict[str, Any], *, strict: bool) -> str | None:
        """Say what a call does that its baseline has not; None where nothing is gated."""
        if "counters" not in ours:
            return None
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
        """Return the records of this environment, the newest first; or none, and what to do about it."""
        store = RecordStore(self._config.rootpath / baseline.FOLDER)
        name = environment.name(here)
        if records := store.find(name, get_machine_id(), self._number):
            return records, ""
        text = f"no timings of this environment ({name}) in {baseline.FOLDER}"
        if nearest := store.nearest(here):
            record, fields = nearest
            text += f"; the nearest, {record.environment}, has {runs.describe_fields(fields)}"
        given = self._config.invocation_params.args
        # Without the options of a run that judges, nor the value that follows one.
        words = [
            word
            for before, word in zip(("", *given), given, strict=False)
            if not word.startswith(_OWN) and not (before in _OWN_WITH_VALUE and not word.startswith("-"))
        ]
        return [], f"{text}; record them: gnnbench baseline record -- {shlex.join(words)}"

    def _live(self, here: dict[str, Any]) -> RunFile:
        """Return this session as if it had been saved and read."""
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
        """Return the record's benchmarks that this session should have timed, and did not."""
        collected = {item.nodeid for item in session.items}
        left = {name for run in base for name in run.benchmarks} - self._timed().keys() - self._deselected
        if shard := run_of(self._config).options.shard:
            left = {name for name in left if shard.has(name)}
        found = left & collected
        option = self._config.option
        again = getattr(option, "lf", False) or option.keyword
        if again or any("::" in argument for argument in self._config.args):
            return found  # the others would not have been there either way
        asked = places(self._config)
        chosen = run_of(self._config)
        specs = {name: benchmark.spec for run in base for name, benchmark in run.benchmarks.items()}
        for name in left - collected:
            file = PurePosixPath(name.partition("::")[0])
            looked_at = any(file.is_relative_to(place) for place in asked)
            if looked_at and asks_for(chosen, specs[name]):
                found.add(name)
        return found

    def _again(self, names: Sequence[str], suspects: int, processes: int) -> list[RunFile]:
        """Time tests again in fresh processes."""
        parameters = self._config.invocation_params
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        found = []
        with signals.as_ctrl_c(), tempfile.TemporaryDirectory() as folder:
            listing = Path(folder, "names")
            listing.write_text("\n".join(names), encoding="utf-8")
            for number in range(processes):
                if reporter:
                    reporter.ensure_newline()
                    reporter.write_line(
                        f"gnnbench: {suspects} may be slower or were disturbed: timed again "
                        f"in fresh process {number + 1} of {processes}"
                    )
                output = Path(folder, f"{number}.json")
                # One word: pytest takes a path that stands alone for one of the suite's, to find rootdir by.
                arguments = [*parameters.args, f"--gnn-again={listing}"]
                fresh.run(arguments, output, parameters.dir, _FIRST_CONFIRMING + number, lambda _: None)
                found.append(run_file.read(output))
        return found


def _fail(reports: Sequence[pytest.TestReport], message: str) -> None:
    """Make a passed test a failed one, or add to what failed it."""
    call = next(report for report in reports if report.when == "call")
    call.longrepr = f"{call.longrepr}\n{message}" if call.failed else message
    call.outcome = "failed"
    vars(call).pop("wasxfail", None)  # or pytest would not count it
