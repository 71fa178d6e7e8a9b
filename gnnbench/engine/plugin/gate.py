"""`--benchmark-compare`: compares a session's benchmarks with a record or a variant; slower tests fail.

A record has timings that were saved earlier; a variant is another version of the code.
pytest reports a test when it ends. Here, timed benchmarks are reported after all of them were judged.
Benchmarks whose code has changed are timed in turns: alternately in processes of both versions.
"""

import math
import secrets
import shlex
from collections.abc import Collection, Generator, Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any

import pytest

from ..drive.gate import Base, Judging, base_of
from ..drive.result import Result
from ..ground import codec, units
from ..ground.errors import UsageError
from ..ground.files import cache_folder
from ..ground.options import EFFECT, TIMEOUT_SECONDS
from ..judge.comparison import Compared, Comparison
from ..judge.verdict import Thresholds
from ..process.plan import Plan
from ..process.variants.collected import uses_benchmark
from ..process.variants.variant import Variant
from ..show import causes, console, verdicts, wording
from ..show.lines import Note, wrapped
from ..show.progress import Progress
from ..store import accepted
from ..store.option_defaults import from_settings
from . import records, terminal
from .session import arguments_without, options_of, settings_of, stop
from .withheld import Withheld

_UNLIMITED = 1e9
"""Seconds for each benchmark, so many that only the limit for all benchmarks together matters."""
_REMEDY = "run without -n, --benchmark-skip, --benchmark-disable and --gnn-layouts off, or record again"


class Gate:
    """Compares the session with its base and reports the verdicts."""

    def __init__(self, config: pytest.Config, variant: Variant | None) -> None:
        """Compare with a variant, or with the newest record if the variant is None."""
        self._config, self._variant = config, variant
        self._withheld = Withheld(config)
        config.pluginmanager.register(self._withheld)
        self._judging: Judging | None = None
        """None if nothing was compared."""
        self._notes: list[Note] = []
        self._failures: list[Note] = []
        """Failures that belong to no test."""

    def pytest_report_collectionfinish(self) -> str | None:
        """Warn before timing if there is no record to compare with; stop if accepted.toml is invalid."""
        missing = None
        with suppress(OSError):  # which is reported at the end
            try:
                accepted.find(self._config.rootpath)
                _, missing = self._base
            except UsageError as error:
                stop(error, self._config)
        return wrapped(Note(f"gnnbench: {missing.text}", missing.command)) if missing else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Compare after the last test. An interrupted session is not compared."""
        try:
            result = yield
            if not session.config.option.collectonly:
                self._compare(session)
        except BaseException as error:
            self._judging = None
            self._failures.append(Note("interrupted: the timed benchmarks were not compared"))
            if isinstance(error, KeyboardInterrupt):
                # pytest cannot show a frame that was interrupted before its first line.
                error.__traceback__ = None
            raise
        finally:
            self._withheld.release()
        if self._judging and self._judging.is_interrupted:
            raise KeyboardInterrupt
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the session if there are failures that belong to no test."""
        passing = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        if self._failures and session.exitstatus in passing:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_benchmark_update_json(self, output_json: dict[str, Any]) -> None:
        """Add the verdicts to the run file."""
        if self._judging and "gnnbench" in output_json:
            output_json["gnnbench"]["compared"] = codec.encode(self._judging.result)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Write how the code differs, the verdicts, the notes and the failures."""
        if judging := self._judging:
            terminalreporter.ensure_newline()
            for line in judging.differences:
                terminal.say(terminalreporter, line)
            if judging.comparison.rows:
                explanations = causes.of_result(judging.result)
                verbose = terminalreporter.verbosity > 0
                document = verdicts.document(judging.comparison, explanations, judging.timed, verbose=verbose)
                writer = console.Terminal(colour=terminalreporter.hasmarkup)
                terminalreporter.write(writer.write(document))
        for note in self._notes:
            terminal.say(terminalreporter, note.text, note.command)
        for note in self._failures:
            terminal.say(terminalreporter, f"failed: {note.text}", note.command, red=True)

    def _write(self, line: str) -> None:
        """Write a line about the progress of timing in turns."""
        if reporter := self._config.pluginmanager.get_plugin("terminalreporter"):
            reporter.ensure_newline()
            reporter.write_line(line)

    @cached_property
    def _base(self) -> tuple[Base | None, Note | None]:
        """The base of the comparison, or None and a note that says why there is none."""
        source, missing = (self._variant, None) if self._variant else records.find(self._config)
        return (base_of(source) if source else None), missing

    def _compare(self, session: pytest.Session) -> None:
        """Judge the session against its base, and add a note if no benchmark was judged."""
        missing = None
        try:
            base, missing = self._base
            if base:
                self._judging = self._prepare(base, session)
                self._judge(self._judging)
        except (UsageError, OSError) as error:
            self._failures.append(Note(str(error)))
            self._judging = None
        finally:
            comparison = self._judging.comparison if self._judging else Comparison([])
            if missing or not comparison.is_judged:
                names = self._judging.missing if self._judging else ()
                ignored = {row.fullname for row in comparison.rows if row.judgement.verdict == "ignored"}
                self._note_unjudged(session, missing, {*names} - ignored)

    def _prepare(self, base: Base, session: pytest.Session) -> Judging:
        config, options, benchmarks = self._config, options_of(self._config), records.timed(self._config)
        level, shard = Thresholds(options.effect).family_level, options.shard
        thresholds = Thresholds(
            options.effect,
            shard.family_level(level) if shard else level,
            rules=settings_of(config),
            accepted=accepted.find(config.rootpath),
        )
        # With -n, the tests are known only from their reports.
        report_ids = {report.nodeid for report in records.reports(session)}
        untimed = ({item.nodeid for item in session.items} | report_ids) - benchmarks.keys()
        missing = [name for run in base.runs[:1] for name in run.benchmarks if name in untimed]
        head = records.as_run_file(config, benchmarks)
        return Judging(head, base, thresholds, options.confirm, options.turns, options.build, missing)

    def _judge(self, judging: Judging) -> None:
        """Judge the session's benchmarks, note the verdicts, and fail the tests of worse benchmarks."""
        config, options, settings = self._config, options_of(self._config), settings_of(self._config)
        is_default = options.effect == EFFECT and settings.file is None
        has_rules = any(rule.effect for rule in settings.rules)
        # The command that repeats the comparison needs this option.
        effect = () if is_default or has_rules else ("--effect", f"{options.effect:g}")
        plan = Plan(
            arguments=arguments_without(config, "time", "shard"),
            defaults=from_settings(settings),
            folder=config.invocation_params.dir,
            timeout_seconds=TIMEOUT_SECONDS,
            seed=secrets.randbits(32),
            thresholds=judging.thresholds,
            per_benchmark_seconds=_UNLIMITED,
            total_seconds=options.budget_seconds,
            total_option="--gnn-budget",
            results=options.results,
            cache=cache_folder(),
            build=judging.build,
            options=(*effect, *(("--build", judging.build) if judging.build else ())),
        )
        passed_ids = {item.nodeid for item in self._withheld.tests}
        with Progress(write=self._write) as progress:
            judging.run(plan, config.rootpath, progress, passed_ids)
        self._notes.extend(map(Note, judging.lines))
        if judging.timed:
            self._notes.extend(self._in_turns(judging, judging.timed))
        self._notes.extend(map(Note, wording.result(judging.comparison).splitlines()))
        self._fail_tests(judging, strict=options.strict)

    def _in_turns(self, judging: Judging, result: Result) -> Iterator[Note]:
        """Yield how many benchmarks were decided in turns, and a command to time the others longer."""
        rows = [row for row in result.rows if not row.judgement.same_code]
        open_count = sum(not (row.counts and row.counts.decided) for row in rows)
        text = f"{units.count(len(rows), 'benchmark')} timed in turns with {judging.base.title}"
        yield Note(f"{text}: {len(rows) - open_count} decided, in {units.seconds(result.seconds or 0.0)}")
        if result.interrupted:
            yield Note(f"interrupted: {units.count(open_count, 'benchmark')} not decided in turns")
        elif open_count:
            compare = f"--benchmark-compare{f'={self._variant.text}' if self._variant else ''}"
            budget = options_of(self._config).budget_seconds
            seconds = max(2 * budget, math.ceil(result.needed_seconds))
            words = ["pytest", *arguments_without(self._config), compare, f"--gnn-budget={seconds:g}"]
            yield Note(f"to time {units.count(open_count, 'benchmark')} for longer", shlex.join(words))

    def _note_unjudged(self, session: pytest.Session, missing: Note | None, untimed: Collection[str]) -> None:
        """Note that no benchmark was judged. Fail if there is no record, or one with tests not timed here."""
        option, is_failure = session.config.option, options_of(self._config).strict
        if untimed and not (self._failures or session.testsfailed):
            text = f"this session did not time {units.count(len(untimed), 'test')} of the record; {_REMEDY}"
            missing, is_failure = Note(text, records.how_to_record(self._config)), True
        elif missing:
            has_benchmarks = not session.items or any(map(uses_benchmark, session.items))
            is_failure |= has_benchmarks and not (option.benchmark_save or option.benchmark_autosave)
        text = "no benchmark was judged"
        if not (is_failure or self._failures):
            text += " (--gnn-strict makes this a failure)"
        lines = self._failures if is_failure else self._notes
        lines.append(Note(f"{text}: {missing.text}", missing.command) if missing else Note(text))

    def _fail_tests(self, judging: Judging, *, strict: bool) -> None:
        """Fail the tests of worse benchmarks; if `strict`, also of undecided and incomparable ones."""
        inconclusive = ("undecided", "incomparable") if strict else ()
        tests = {item.nodeid: reports for item, reports in self._withheld.tests.items()}
        for row in judging.comparison.rows:
            if not row.is_worse and row.judgement.verdict not in inconclusive:
                continue
            sentence = self._sentence(judging, row)
            if row.fullname in tests:
                report = next(phase for phase in tests[row.fullname] if phase.when == "call")
                terminal.fail(report, sentence, first=True)
            else:
                self._failures.append(Note(f"{row.fullname}: {sentence.text}", sentence.command))

    def _sentence(self, judging: Judging, row: Compared) -> Note:
        """Return the verdict on a benchmark with its reason, and the command that repeats its comparison."""
        text, result = f"{wording.sentence(row)} [{judging.base.title}]", judging.result
        if result.repeat and row.counts:
            return Note(f"{text}; repeat", result.repeat.commands([row.fullname]).ab)
        return Note(text)
