"""`--benchmark-compare`: compares a session's benchmarks with a record or a variant; slower tests fail.

The reports of timed benchmarks are withheld until all are timed. Benchmarks whose code changed are then timed
in turns with the base, which is built again for it. Those for which that is impossible are compared with the
times of the record, and timed again in new processes if they look slower.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ..ground import json_io
from ..ground.errors import UsageError
from ..judge.comparison import Compared
from ..judge.verdict import Thresholds
from ..process.variants.collected import declares
from ..process.variants.variant import Variant
from ..show import causes, console, verdicts, wording
from ..show.lines import wrapped
from ..store import accepted
from ..store.benchmark import part_of
from ..store.suite import installed
from . import records, terminal, turns, writing
from .judged_session import JudgedSession
from .limits import EXCEEDED
from .recorded_base import timed_again
from .session import options_of, settings_of, stop
from .timing import timing_of
from .withheld import Withheld


class Gate:
    """Compares the session with its base and reports the verdicts."""

    def __init__(self, config: pytest.Config, base: str | Variant | None) -> None:
        """Take the number of the record to compare with, or a variant; None for the newest record."""
        self._config, self._base = config, base
        self._withheld = Withheld(
            may_be_judged=lambda item: timing_of(config).instrument(item) is not None,
            is_judged=lambda item, reports: (
                all(report.passed for report in reports) and item.nodeid in self._timed()
            ),
            show=self._show,
        )
        config.pluginmanager.register(self._withheld)
        self._deselected: set[str] = set()
        self._judged: JudgedSession | None = None
        """None: nothing was compared."""
        self._lines: list[str] = []
        self._failures: list[str] = []
        """Failures that belong to no test."""

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Remember the deselected tests, which are not reported as missing."""
        self._deselected.update(item.nodeid for item in items)

    def pytest_report_collectionfinish(self) -> str | None:
        """Warn before timing if there is no record to compare with; stop if a file is wrong."""
        missing = ""
        try:
            accepted.find(self._config.rootpath)
            if not isinstance(self._base, Variant):
                _, missing = records.find(self._config, self._base)
        except UsageError as error:
            mistake = str(error)
        except OSError:
            return None  # reported at the end
        else:
            mistake = ""
        if mistake:  # outside the handler, so that pytest shows one line
            stop(mistake, self._config)
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        return wrapped(f"gnnbench: {missing}", writing.width(reporter)) if missing else None

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
        if self._judged and self._judged.interrupted:
            raise KeyboardInterrupt
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
        if self._judged and "gnnbench" in output_json:
            output_json["gnnbench"]["compared"] = self._judged.as_json()

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Write what differs, the verdicts, the lines of the summary and the failures."""
        if self._judged:
            terminalreporter.ensure_newline()
            for line in self._judged.differences:
                writing.say(terminalreporter, line)
        if self._judged and self._judged.comparison.rows and not options_of(self._config).dry_run:
            rows, whole = self._judged.comparison.rows, not options_of(self._config).shard
            told = causes.told(rows, self._judged.repeat, whole=whole, failures=True)
            document = verdicts.document(self._judged.comparison, told)
            width, colour = writing.width(terminalreporter), terminalreporter.hasmarkup
            terminalreporter.write(console.Terminal(width, colour).write(document))
        for line in self._lines:
            writing.say(terminalreporter, line)
        for line in self._failures:
            writing.say(terminalreporter, f"failed: {line}", red=True)

    def _show(self, reports: Sequence[pytest.TestReport]) -> None:
        """Show the result of a test of gnnbench's own at once, although its report is withheld."""
        if progress := self._config.pluginmanager.get_plugin(terminal.PROGRESS):
            for report in reports:
                progress.pytest_runtest_logreport(report)

    def _name_file(self, item: pytest.Item) -> None:
        """Let pytest print the file's name before the letters of its tests."""
        if reporter := self._config.pluginmanager.get_plugin("terminalreporter"):
            reporter.pytest_runtest_logstart(item.nodeid, item.location)

    def _timed(self) -> dict[str, dict[str, Any]]:
        """Return the `extra_info` of each timed benchmark; with --gnn-dry-run, of each inspected one."""
        if options_of(self._config).dry_run:
            return timing_of(self._config).kept.inspected
        timed: dict[str, dict[str, Any]] = {}
        for bench in self._config._benchmarksession.benchmarks:  # type: ignore[attr-defined]  # noqa: SLF001
            if "measurement" in json_io.own_part(bench.extra_info):
                timed.setdefault(bench.fullname, bench.extra_info)  # as run files are read
        return timed

    def _compare(self, session: pytest.Session) -> None:
        chosen = options_of(self._config)
        thresholds = Thresholds(chosen.effect, rules=settings_of(self._config))
        if chosen.shard:
            level = chosen.shard.family_level(thresholds.family_level)
            thresholds = replace(thresholds, family_level=level)
        missing = ""
        try:
            if not chosen.dry_run:
                self._check_work(strict=chosen.strict)
                self._check_limits()
            collected = {item.nodeid for item in session.items}
            thresholds = replace(thresholds, accepted=accepted.find(self._config.rootpath))
            judged = JudgedSession(self._config, thresholds, self._timed())
            if isinstance(self._base, Variant):
                judged.add_variant(self._base)
            else:
                found, missing = records.find(self._config, self._base)
                if missing:
                    return
                judged.add_records(
                    found,
                    lambda base: records.vanished(
                        self._config, base, collected, self._deselected, self._timed()
                    ),
                )
            self._judged = judged
            if line := judged.unknown(records.failed(session)):
                (self._lines if chosen.dry_run else self._failures).append(line)
            if chosen.dry_run:
                self._lines.extend(judged.plan())
                return
            self._judge(judged, thresholds)
            self._lines.extend(judged.lines)
            self._lines.extend(wording.result(judged.comparison).splitlines())
            self._report(judged, strict=chosen.strict)
        except (UsageError, OSError) as error:
            self._failures.append(str(error))
            if isinstance(self._base, Variant):
                self._judged = None
        finally:
            if missing or not (chosen.dry_run or self._has_judged()):
                self._say_so(session, missing, strict=chosen.strict)

    def _judge(self, judged: JudgedSession, thresholds: Thresholds) -> None:
        """Time in turns, and in new processes what cannot be timed in turns, and judge it."""
        config, chosen = self._config, options_of(self._config)
        judged.take(turns.run(config, judged.groups, thresholds, judged.open_count, chosen.budget_seconds))
        passed = {item.nodeid for item in self._withheld.tests}
        processes = 0 if judged.interrupted else chosen.confirm
        judged.judge(timed_again(config, judged.unconfirmed, thresholds, passed, processes))

    def _rows(self) -> Sequence[Compared]:
        return self._judged.comparison.rows if self._judged else ()

    def _has_judged(self) -> bool:
        """Tell whether a benchmark was judged, or none had to be."""
        found = {row.judgement.verdict for row in self._rows()}
        return bool(found - {"incomparable", "ignored"}) or found == {"ignored"}

    def _say_so(self, session: pytest.Session, missing: str, *, strict: bool) -> None:
        """Say that no benchmark was judged: a failure if that is for want of a record, or one has a test.

        Args:
            missing: why there is no record of this machine; empty if there is one.
            strict: whether it is a failure in any case.
        """
        ignored = {row.fullname for row in self._rows() if row.judgement.verdict == "ignored"}
        option, known = session.config.option, ""
        if not (missing or self._failures or session.testsfailed or option.gnn_dry_run):
            known = records.known(self._config, records.selected(session) - ignored)
        has_any = not session.items or any(map(declares, session.items))
        unasked = option.benchmark_save or option.benchmark_autosave or not has_any
        fails = strict or bool(known or (missing and not unasked))
        text = "no benchmark was judged"
        if missing:
            text += f": {missing}"
        elif known:
            text += f", although {known}; {records.remedy(self._config, timed=bool(self._timed()))}"
        if fails:
            self._failures.append(text)
        else:
            self._lines.append(text if self._failures else f"{text}; --gnn-strict makes this a failure")

    def _check_work(self, *, strict: bool) -> None:
        settings = settings_of(self._config)
        for item, reports in self._withheld.tests.items():
            part = part_of({"extra_info": self._timed()[item.nodeid]})
            changed = installed().fault(self._config.rootpath, part, strict=strict)
            if changed and (rule := settings.rule("ignore", item.nodeid)):
                self._lines.append(f"{item.nodeid}: ignored: {settings.reason(rule)}: {changed}")
            elif changed:
                _fail(reports, changed)

    def _check_limits(self) -> None:
        for item, reports in self._withheld.tests.items():
            if line := item.stash[EXCEEDED]:
                _fail(reports, line)

    def _report(self, judged: JudgedSession, *, strict: bool) -> None:
        rows = {row.fullname: row for row in judged.comparison.rows}
        unsure = ("undecided", "incomparable") if strict else ()
        for item, reports in self._withheld.tests.items():
            row = rows.pop(item.nodeid)
            self._timed()[item.nodeid]["gnnbench"]["comparison"] = judged.row_as_json(row)
            if row.is_worse or row.judgement.verdict in unsure:
                _fail(reports, judged.sentence(row), first=True)
        self._failures.extend(
            f"{name}: {judged.sentence(row)}"
            for name, row in rows.items()
            if row.is_worse or row.judgement.verdict in unsure
        )


def _fail(reports: Sequence[pytest.TestReport], reason: str, *, first: bool = False) -> None:
    """Mark a test as failed, see `writing.fail`."""
    writing.fail(next(report for report in reports if report.when == "call"), reason, first=first)
