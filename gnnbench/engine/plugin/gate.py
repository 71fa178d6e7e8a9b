"""`--benchmark-compare`: compares a session's benchmarks with a record or a variant; slower tests fail.

The reports of timed benchmarks are withheld until all are timed and judged, see `drive/gate.py`.
"""

import math
import shlex
from collections.abc import Collection, Generator, Sequence
from functools import cached_property
from typing import Any

import pytest

from ..drive.gate import Base, Judging, of_record, timed_again, vanished
from ..ground import codec, json_io, units
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
from .limits import EXCEEDED
from .session import arguments_without, options_of, settings_of, stop
from .timing import timing_of
from .withheld import Withheld

_NAMED = 3
"""Most benchmarks that a line names; others are counted."""


class Gate:
    """Compares the session with its base and reports the verdicts."""

    def __init__(self, config: pytest.Config, variant: Variant | None) -> None:
        """Take a variant; None for the newest record."""
        self._config, self._variant = config, variant
        self._withheld = Withheld(
            may_be_judged=lambda item: timing_of(config).instrument(item) is not None,
            is_judged=lambda item, reports: (
                all(report.passed for report in reports) and item.nodeid in self._timed()
            ),
            show=self._show,
        )
        config.pluginmanager.register(self._withheld)
        self._collected: dict[str, set[str]] = {}
        """What was found in each file and class, be it selected or not."""
        self._judged: Judging | None = None
        """None: nothing was compared."""
        self._lines: list[str] = []
        self._failures: list[str] = []
        """Failures that belong to no test."""

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Remember the tests that exist."""
        report = yield
        if isinstance(collector, pytest.Module | pytest.Class) and not report.failed:
            self._collected.setdefault(collector.nodeid, set()).update(node.nodeid for node in report.result)
        return report

    def pytest_report_collectionfinish(self) -> str | None:
        """Warn before timing if there is no record to compare with; stop if a file is wrong."""
        missing = mistake = ""
        try:
            accepted.find(self._config.rootpath)
            _, missing = self._base
        except UsageError as error:
            mistake = str(error)
        except OSError:
            return None  # reported at the end
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
            self._judged = None
            self._failures.append("interrupted: the timed benchmarks were not compared")
            raise
        finally:
            self._withheld.release(before=self._name_file)
        if self._is_interrupted():
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
        """Add the thresholds and the turns to the run file."""
        if self._judged and "gnnbench" in output_json:
            output_json["gnnbench"]["compared"] = codec.encode(self._judged.terms)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Write what differs, the verdicts, the lines of the summary and the failures."""
        if judged := self._judged:
            terminalreporter.ensure_newline()
            for line in judged.differences:
                writing.say(terminalreporter, line)
            if rows := judged.comparison.rows:
                is_whole = not options_of(self._config).shard
                told = causes.told(rows, judged.repeat, whole=is_whole, failures=True)
                document = verdicts.document(judged.comparison, told)
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
        """Return the `extra_info` of each timed benchmark."""
        timed: dict[str, dict[str, Any]] = {}
        for bench in self._config._benchmarksession.benchmarks:  # type: ignore[attr-defined]  # noqa: SLF001
            if "measurement" in json_io.own_part(bench.extra_info):
                timed.setdefault(bench.fullname, bench.extra_info)  # as run files are read
        return timed

    @cached_property
    def _base(self) -> tuple[Base | None, str]:
        """What the session is compared with, or else why that is nothing."""
        if variant := self._variant:
            return Base(variant.text, variant.text, variant), ""
        record, missing = records.find(self._config)
        return (of_record(record) if record else None), missing

    def _compare(self, session: pytest.Session) -> None:
        chosen, missing = options_of(self._config), ""
        try:
            self._fail_by_themselves(strict=chosen.strict)
            base, missing = self._base
            if base:
                self._judged = self._judging(base, {item.nodeid for item in session.items})
                self._judge(self._judged, {row.nodeid for row in records.reports(session) if row.failed})
        except (UsageError, OSError) as error:
            self._failures.append(str(error))
            self._judged = None
        finally:
            if missing or not self._has_judged():
                self._say_so(session, missing, strict=chosen.strict)

    def _judging(self, base: Base, asked: Collection[str]) -> Judging:
        """Return what judges the session."""
        config, chosen = self._config, options_of(self._config)
        level = Thresholds(chosen.effect).family_level
        thresholds = Thresholds(
            chosen.effect,
            chosen.shard.family_level(level) if chosen.shard else level,
            rules=settings_of(config),
            accepted=accepted.find(config.rootpath),
        )
        timed = self._timed()
        untimed = {
            name: row.labels
            for run in base.runs[:1]
            for name, row in run.benchmarks.items()
            if name not in timed and (chosen.shard is None or chosen.shard.has(name))
        }
        missing = [
            name
            for name in vanished(untimed, self._collected, asked, config.rootpath)
            if name in asked or (labels := untimed[name]) is None or installed().selects(config, labels)
        ]
        head = records.live(config, timed)
        return Judging(head, base, thresholds, chosen.confirm, chosen.turns, missing)

    def _judge(self, judged: Judging, failed: Collection[str]) -> None:
        """Judge the session's benchmarks, all but the tests that failed."""
        config, chosen = self._config, options_of(self._config)
        if judged.names:
            turns.run(config, judged)
            self._lines_on_turns(judged)
        passed = {item.nodeid for item in self._withheld.tests}
        reporter, called = config.pluginmanager.get_plugin("terminalreporter"), config.invocation_params
        again = timed_again(
            called.args,
            called.dir,
            [name for name in judged.suspects if name in passed],
            0 if self._is_interrupted() else chosen.confirm,
            lambda text: writing.say(reporter, text),
        )
        judged.judge(again)
        self._fail_unknown(*judged.unknown(failed))
        self._lines.extend(judged.lines)
        self._lines.extend(wording.result(judged.comparison).splitlines())
        self._report(judged, strict=chosen.strict)

    def _fail_unknown(self, gone: Sequence[str], new: Sequence[str]) -> None:
        """Fail if what is new may be what vanished, or is in another record, so that it may be slower."""
        less, more = (
            f"{units.count(len(names), 'benchmark')} {what} ({units.listed(names, _NAMED)})"
            for names, what in ((gone, "of the record not timed"), (new, "new"))
        )
        known = "" if gone or not new else records.known(self._config, new)
        if new and (gone or known):
            why = f"{less}, and {more}" if gone else f"{more}, although {known}"
            self._failures.append(f"{why}; if meant, record again: {records.how_to_record(self._config)}")

    def _lines_on_turns(self, judged: Judging) -> None:
        """Add what came out in turns, and how to go on."""
        result, budget = judged.result, options_of(self._config).budget_seconds
        if result is None:
            return
        rows = [row for row in result.rows if not row.judgement.same_code]
        count = sum(not (row.counts and row.counts.decided) for row in rows)
        text = f"{units.count(len(rows), 'benchmark')} timed in turns with {judged.base.title}"
        took = units.seconds(result.seconds or 0.0)
        judged.lines.append(f"{text}: {len(rows) - count} decided, in {took}")
        if result.interrupted:
            judged.lines.append(f"interrupted: {units.count(count, 'benchmark')} not decided in turns")
        elif count:
            compare = f"--benchmark-compare{f'={self._variant.text}' if self._variant else ''}"
            seconds = max(2 * budget, math.ceil(result.needed_seconds))
            words = ["pytest", *arguments_without(self._config), compare, f"--gnn-budget={seconds:g}"]
            judged.lines.append(f"to time {units.count(count, 'benchmark')} for longer: {shlex.join(words)}")
        judged.lines.extend(result.all_notes())

    def _is_interrupted(self) -> bool:
        return bool(self._judged and self._judged.result and self._judged.result.interrupted)

    def _rows(self) -> Sequence[Compared]:
        return self._judged.comparison.rows if self._judged else ()

    def _has_judged(self) -> bool:
        """Tell whether a benchmark was judged, or none had to be."""
        given = {row.judgement.verdict for row in self._rows()}
        return bool(given - {"incomparable", "ignored"}) or given == {"ignored"}

    def _say_so(self, session: pytest.Session, missing: str, *, strict: bool) -> None:
        """Say that no benchmark was judged: a failure if that is for want of a record, or one has a test.

        Args:
            missing: why there is no record of this machine; empty if there is one.
            strict: whether it is a failure in any case.
        """
        ignored = {row.fullname for row in self._rows() if row.judgement.verdict == "ignored"}
        option, known = session.config.option, ""
        if not (missing or self._failures or session.testsfailed):
            names = {report.nodeid for report in records.reports(session)}
            names |= {item.nodeid for item in session.items}
            known = records.known(self._config, names - ignored)
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

    def _fail_by_themselves(self, *, strict: bool) -> None:
        """Fail tests that do other work than they should, or are above a limit, whatever the base is."""
        settings = settings_of(self._config)
        for item, reports in self._withheld.tests.items():
            part = part_of({"extra_info": self._timed()[item.nodeid]})
            changed = installed().fault(self._config.rootpath, part, strict=strict)
            if changed and (rule := settings.rule("ignore", item.nodeid)):
                self._lines.append(f"{item.nodeid}: ignored: {settings.reason(rule)}: {changed}")
                changed = None
            for reason in filter(None, (changed, item.stash[EXCEEDED])):
                _fail(reports, reason)

    def _report(self, judged: Judging, *, strict: bool) -> None:
        """Fail what is worse, or with `strict` not decided, and keep each verdict in the run file."""
        unsure = ("undecided", "incomparable") if strict else ()
        tests = {item.nodeid: reports for item, reports in self._withheld.tests.items()}
        for row in judged.comparison.rows:
            fails = row.is_worse or row.judgement.verdict in unsure
            if row.fullname in tests:
                self._timed()[row.fullname]["gnnbench"]["comparison"] = codec.encode(judged.saved(row))
                if fails:
                    _fail(tests[row.fullname], self._sentence(judged, row), first=True)
            elif fails:
                self._failures.append(f"{row.fullname}: {self._sentence(judged, row)}")

    def _sentence(self, judged: Judging, row: Compared) -> str:
        """Return the verdict on a benchmark, its reason, and how to repeat it, on one line."""
        name = row.fullname
        text = wording.sentence(row, in_turns=name in judged.in_turns)
        if judged.against(name):
            text += f" [{judged.base.title}]"
        if repeat := judged.repeat([name]):
            whole = () if options_of(self._config).shard else [one.fullname for one in self._rows()]
            text += f"; repeat: {repeat.commands([name], whole).ab}"
        return text


def _fail(reports: Sequence[pytest.TestReport], reason: str, *, first: bool = False) -> None:
    """Mark a test as failed, see `writing.fail`."""
    writing.fail(next(report for report in reports if report.when == "call"), reason, first=first)
