"""The verdicts on a session's benchmarks, in turns with their base or across sessions."""

import math
import os
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ..drive.repeat import Repeat, ends_of
from ..drive.result import Result
from ..drive.settle import Revision, settle
from ..ground import codec, units
from ..ground.errors import UsageError
from ..ground.options import EFFECT
from ..judge.choosing import NOT_REACHED
from ..judge.comparison import Compared, Comparison
from ..judge.verdict import Judgement, Thresholds, confirmed
from ..process.variants import rebuild, variant
from ..process.variants.variant import Variant
from ..show import wording
from ..store import left_out
from ..store.baseline import Record
from ..store.run_file import RunFile
from . import records
from .recorded_base import NAMED, RecordedBase, differences, is_open, since_record
from .session import arguments_without, options_of
from .turns import Group, TimedGroup

_SHOWN = 5
"""Most ids in a suggested command; if there are more, it has none."""


class JudgedSession:
    """The verdicts on a session; `timed` has the `extra_info` of each timed benchmark, by id."""

    def __init__(
        self,
        config: pytest.Config,
        thresholds: Thresholds,
        timed: Mapping[str, Mapping[str, Any]],
    ) -> None:
        self._config, self._thresholds = config, thresholds
        self._options = options_of(config)
        self._head = records.live(config, timed)
        self._recorded: RecordedBase | None = None
        """None: the base is a variant."""
        self.groups: list[Group] = []
        """The benchmarks to time in turns."""
        self._turns: list[TimedGroup] = []
        self._in_turns: dict[str, Compared] = {}
        """What came out in turns, by id."""
        self.comparison = Comparison([])
        self.differences: list[str] = []
        """What differs between each base and this session, a line each."""
        self.lines: list[str] = []
        """What the verdicts are based on."""

    @property
    def interrupted(self) -> bool:
        """Whether the turns were interrupted."""
        return any(one.interrupted for one in self._turns)

    def add_variant(self, base: Variant) -> None:
        """Take a variant as the base of all benchmarks."""
        if not self._options.turns:
            raise UsageError(f"{base.text} can be compared in turns only: leave out --gnn-turns never")
        rows = [
            Compared(name, Judgement("undecided", NOT_REACHED), _seconds(self._head, name), labels=one.labels)
            for name, one in self._head.benchmarks.items()
        ]
        self.comparison = Comparison(rows)
        if rows:
            self.groups = [Group(base, base.text, base.text, tuple(self._head.benchmarks))]

    def add_records(
        self, found: Sequence[Record], vanished: Callable[[Sequence[RunFile]], Mapping[str, bool]]
    ) -> None:
        """Take records as the base: see `RecordedBase`."""
        base = RecordedBase(self._config, self._head, self._thresholds, found, vanished)
        self._recorded, self.groups, self.comparison = base, base.groups, base.first
        self.differences = base.differences
        self.lines = [*base.lines, *left_out.by_file((run.path, run.left_out) for run in base.runs)]

    def unknown(self, failed: Collection[str]) -> str:
        """Return the line on benchmarks that vanished, other than failed ones, while others appeared."""
        base, rules = self._recorded, self._thresholds.rules
        gone = [name for name in sorted(base.gone if base else ()) if name not in failed]
        gone = [name for name in gone if not rules.rule("ignore", name)]
        if not (base and gone and base.new):
            return ""
        less, more = (
            f"{units.count(len(names), 'benchmark')} {what} ({units.listed(names, NAMED)})"
            for names, what in ((gone, "of the record not timed"), (base.new, "new"))
        )
        again = records.how_to_record(self._config)
        unlike = "alike neither in code nor in definition and parameters"
        return f"{less}, and {more}, {unlike}; if meant, record again: {again}"

    def plan(self) -> list[str]:
        """Return what `judge` would time in turns, a line each."""
        lines = [*self.lines]
        for group in self.groups:
            count = units.count(len(group.names), "benchmark")
            lines.append(f"dry run: would time {count} in turns with {group.title}:")
            lines.extend(f"  {name}" for name in group.names)
        same = units.count(sum(row.judgement.same_code for row in self.comparison.rows), "benchmark")
        limit = units.seconds(self._options.budget_seconds)
        lines.append(f"dry run: {same} with the same code")
        return [*lines, f"dry run: the turns would take at most {limit}"] if self.groups else lines

    @property
    def open_count(self) -> int:
        """Number of benchmarks that have to be judged by time."""
        return sum(is_open(row, self._head) for row in self.comparison.rows)

    def take(self, timed: Sequence[TimedGroup]) -> None:
        """Take what came out in turns for `groups`."""
        self._turns = [*timed]
        first = {row.fullname: row for row in self.comparison.rows}
        for one in timed:
            if one.result is not None:
                self._take(one, one.result, first)
            elif self._recorded:
                count = units.count(len(one.group.names), "benchmark")
                self.lines.append(self._recorded.across(count, one.group.title, one.failure))
            else:
                raise UsageError(one.failure)

    @property
    def unconfirmed(self) -> list[Compared]:
        """The verdicts on times of other sessions, which new processes must confirm."""
        if not (self._recorded and self._recorded.is_comparable and self._options.confirm):
            return []
        return [row for row in self.comparison.rows if row.fullname not in self._in_turns]

    def judge(self, again: Sequence[RunFile]) -> None:
        """Give each benchmark its verdict.

        Args:
            again: of new processes that timed again what is unconfirmed; without them, nothing is slower.
        """
        rows = {row.fullname: row for row in self.comparison.rows}
        judged = {row.fullname: row for row in self.unconfirmed}
        if again and self._recorded:
            found = self._recorded.compare([self._head, *again])
            judged.update((row.fullname, row) for row in found.rows if row.fullname in judged)
        for name, row in judged.items():
            rows[name] = replace(row, judgement=confirmed(row.judgement, self._options.confirm))
        self.comparison = Comparison([self._in_turns.get(name) or row for name, row in rows.items()])
        if self._recorded and self._recorded.is_comparable:
            self._judge_machine(self._recorded)
        head = Revision.of_runs([self._head])
        self.comparison, lines = settle(
            self.comparison, self._thresholds, lambda name: (self._base_of(name), head)
        )
        self.lines.extend(lines)

    def _base_of(self, name: str) -> Revision:
        """Return the commits of a benchmark's base; none if no record has it."""
        if self._recorded is None:
            return next((one.result.base.revision for one in self._turns if one.result), Revision())
        record = self._recorded.records.get(name)
        return Revision.of_runs(run for run in self._recorded.runs if record and run.path in record.files)

    def _take(self, one: TimedGroup, result: Result, first: Mapping[str, Compared]) -> None:
        """Take the verdicts of turns, except those on other code than the record's."""
        if not self._recorded:
            assert self._head.sources
            assert one.base
            then = rebuild.sources_of(one.base, self._head.sources)
            self.differences.extend(differences(one.group.title, then, self._head))
        refused: dict[str, list[str]] = {}
        for row in result.rows:
            before = first[row.fullname]
            reason = row.judgement.reason if row.judgement.verdict == "incomparable" else ""
            if row.judgement.same_code and before.work.changed and not before.redefined:
                # The rebuilt base runs today's code, but the record did not.
                reason = "the code that differs could not be built again"
            if reason and self._recorded:
                refused.setdefault(reason, []).append(row.fullname)
                continue
            how = before.redefined and before.redefined.partition(":")[0]
            self._in_turns[row.fullname] = replace(
                row,
                labels=before.labels,
                seconds=row.seconds or before.seconds,
                notes=(*([f"{how}; both sides ran today's"] if how else ()), *row.notes),
            )
        for reason, names in refused.items():
            assert self._recorded
            what = names[0] if len(names) == 1 else units.count(len(names), "benchmark")
            self.lines.append(self._recorded.across(what, one.group.title, reason))
        self.lines.extend(self._described(one, result))

    def _described(self, one: TimedGroup, result: Result) -> list[str]:
        """Return what came out in turns, and how to go on."""
        timed = [row for row in result.rows if not row.judgement.same_code]
        left = [row.fullname for row in timed if not (row.counts and row.counts.decided)]
        count = units.count(len(timed), "benchmark")
        text = f"{count} timed in turns with {one.group.title}"
        lines = [f"{text}: {len(timed) - len(left)} decided, in {units.seconds(result.seconds or 0.0)}"]
        if one.interrupted:
            lines.append(f"interrupted: {units.count(len(left), 'benchmark')} not decided in turns")
        elif left:
            count = units.count(len(left), "benchmark")
            again = self._goes_on(one.group, left, result.needed_seconds)
            lines.append(f"to time {count} for longer: {again}")
        return [*lines, *result.all_notes()]

    def _goes_on(self, group: Group, names: Sequence[str], needed_seconds: float) -> str:
        """Return the command that times benchmarks again for which the budget did not suffice."""
        words = arguments_without(self._config)
        if len(names) <= min(_SHOWN, len(self.comparison.rows) - 1):
            words = [
                *arguments_without(self._config, words=self._config.args),
                *records.typed(self._config, names),
            ]
        seconds = max(2 * self._options.budget_seconds, math.ceil(needed_seconds))
        compare = f"--benchmark-compare={group.asked}"
        return shlex.join(["pytest", *words, compare, f"--gnn-budget={seconds:g}"])

    def _judge_machine(self, base: RecordedBase) -> None:
        """Say if the machine itself became slower or faster since a record."""
        for record in dict.fromkeys(base.records.values()):
            times = [
                (now, then)
                for row in self.comparison.rows
                if base.records.get(row.fullname) == record
                and (now := self._now(row))
                and (then := _log(base.runs, row.fullname))
            ]
            if factor := since_record(times):
                self.lines.append(
                    f"this machine takes {units.ratio(factor, 'less')} the time of record {record.id} "
                    "for the same code; "
                    "verdicts in turns do not depend on that"
                )

    def _now(self, row: Compared) -> float | None:
        """Return the logarithm of the time [ns] that the base's code takes today; None: unknown."""
        if row.judgement.same_code:
            return _log([self._head], row.fullname)
        ratio = row.judgement.ratio if row.fullname in self._in_turns else None
        return math.log(1e9 * row.seconds / ratio) if row.seconds and ratio else None

    def row_as_json(self, row: Compared) -> dict[str, Any]:
        """Return the `comparison` of a benchmark in the run file, see docs/formats.md."""
        return {
            **row.as_json(),
            "against": self._against(row),
            "in_turns": row.fullname in self._in_turns,
            "base": codec.encode(self._base_of(row.fullname)),
        }

    def as_json(self) -> dict[str, Any]:
        """Return the `compared` of the run file, see docs/formats.md."""
        return {
            "effect": self._thresholds.effect,
            "family_level": self._thresholds.family_level,
            "own_level": self._thresholds.own_level,
            "turns": [
                {
                    "against": one.group.asked,
                    "base": codec.encode(one.result.base),
                    "seconds": one.result.seconds,
                    "repeat": codec.encode(repeat),
                }
                for one in self._turns
                if one.result
                for repeat in [self.repeat([name for name in one.group.names if name in self._in_turns])]
            ],
        }

    def sentence(self, row: Compared) -> str:
        """Return the verdict on a benchmark, its reason, and how to repeat it, on one line."""
        in_turns = row.fullname in self._in_turns
        text = wording.sentence(row, in_turns=in_turns)
        if against := self._against(row):
            text += f" [{'record ' if self._recorded else ''}{against}]"
        if repeat := self.repeat([row.fullname]):
            known = () if self._options.shard else [one.fullname for one in self.comparison.rows]
            text += f"; repeat: {repeat.commands([row.fullname], known).ab}"
        return text

    def repeat(self, names: Collection[str]) -> Repeat | None:
        """Return what commands need that time benchmarks again in turns.

        None: they were not timed in turns, or have several bases.
        """
        groups = [one for one in self.groups if not set(names).isdisjoint(one.names)]
        if len(groups) != 1 or not all(name in self._in_turns for name in names):
            return None
        (group,) = groups
        config = self._config
        effects, known = {self._thresholds.of(name).effect for name in names}, self._thresholds.rules.file
        # Of several, each is set by a rule of the settings.
        usual = len(effects) > 1 or (effects == {EFFECT} and known is None)
        here = variant.parse(variant.WORKING_TREE)
        assert self._head.sources
        is_clean = not any(tree.dirty for tree in self._head.sources.trees)
        return Repeat(
            group.base.text,
            here.text,
            ends_of(group.base, here, clean=is_clean),
            () if usual else ("--effect", f"{effects.pop():g}"),
            # A shard's benchmarks are named, and `gnnbench ab` does not take the option.
            tuple(arguments_without(config, "shard", words=config.args)),
            # pytest's own choice, where nothing is given, is an absolute path.
            tuple("." if one == str(config.invocation_params.dir) else one for one in config.args),
            os.path.relpath(config.rootpath, config.invocation_params.dir),
        )

    def _against(self, row: Compared) -> str | None:
        """Return the number of a benchmark's record, or the variant; None: no record has it."""
        if self._recorded is None:
            return self.groups[0].asked
        record = self._recorded.records.get(row.fullname)
        return record.id if record else None


def _seconds(run: RunFile, name: str) -> float | None:
    log = _log([run], name)
    return None if log is None else math.exp(log) / 1e9


def _log(sides: Iterable[RunFile], name: str) -> float | None:
    """Return the mean logarithm of a benchmark's time [ns] over processes without contention, if any."""
    found = [run.benchmarks[name] for run in sides if name in run.benchmarks]
    logs = [process.log for one in found for process in one.processes if process.is_evidence]
    return sum(logs) / len(logs) if logs else None
