"""The verdicts of `pytest --benchmark-compare`. The base of a session is a record or a variant.

gnnbench builds the base again. Benchmarks whose code differs are timed in turns, alternately on both sides.
If this is impossible, the times in a record are compared with times of the session and of new processes.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..ground import signals, units
from ..ground.errors import UsageError
from ..ground.files import scratch
from ..interfaces import Listener
from ..judge.comparison import Compared, Comparison
from ..judge.verdict import Thresholds, require_confirmation
from ..process.plan import Plan
from ..process.variants import fresh, prepare, rebuild, variant
from ..process.variants.variant import Variant
from ..store import run_file
from ..store.baseline import Record
from ..store.run_file import RunFile
from . import coordinator, runs
from .result import Result, Side
from .settle import apply_excuses

_MOST_RECORDED = 100
"""Processes of a record have numbers up to this one. New processes have larger numbers."""
_UNCHANGED = "commit and packages are those of the record; only a setting or a value differs"
_NOT_BUILT = "the code that differs could not be rebuilt"


@dataclass(frozen=True)
class Base:
    """What a session is compared with."""

    title: str
    """`record 0001`, or the variant as the user typed it."""
    variant: Variant | None = None
    """The code to build. None if the code of a record is not built again."""
    runs: Sequence[RunFile] = ()
    """The processes of a record. Empty for a variant."""
    environment: str = ""
    """The name of the record's environment."""


def base_of(source: Record | Variant) -> Base:
    if isinstance(source, Variant):
        return Base(source.text, source)
    return Base(f"record {source.id}", None, source.read(), source.environment)


@dataclass
class Judging:
    """The verdicts on the benchmarks of a session. `head` is the session in the form of a run file."""

    head: RunFile
    base: Base
    thresholds: Thresholds
    confirm: int = 0
    """Number of new processes in which a slowdown since a record must be confirmed."""
    turns: bool = True
    """Whether gnnbench may build the base, and time benchmarks in turns with it."""
    build: str = ""
    """The command that builds both sides. Empty if there is none."""
    missing: Collection[str] = ()
    """Benchmarks of the record that the session selected, but did not time."""
    names: Sequence[str] = ()
    """The benchmarks that are timed in turns with the base, the largest ratio first."""
    differences: list[str] = field(default_factory=list)
    """Lines on the differences between the base and the session."""
    lines: list[str] = field(default_factory=list)
    """Lines on the data behind the verdicts."""
    timed: Result | None = None
    """The comparison in turns. None if nothing was timed in turns, or the base cannot be built or run."""
    in_turns: dict[str, Compared] = field(default_factory=dict)
    """The benchmarks of `timed` whose verdicts count, by id."""
    comparison: Comparison = field(default_factory=lambda: Comparison([]))

    def __post_init__(self) -> None:
        """Compare the times and fingerprints of base and session, and choose what to time in turns."""
        base = self.base
        if not (base.runs or self.turns):
            raise UsageError(f"{base.title} can only be timed in turns: leave out --gnn-turns never")
        self.comparison = self._compare([self.head])
        ranked = sorted(self.comparison.rows, key=lambda row: row.judgement.ratio or 0.0, reverse=True)
        self.names = [row.fullname for row in ranked if self._needs_time(row)]
        if base.runs:
            self._describe_record()
            try:
                self.base = replace(base, variant=self._recorded_variant())
            except UsageError as error:
                self._say_untimed(self.names, str(error))
                self.names = ()
            if fields := runs.differing_fields(base.runs, [self.head]):
                text = runs.describe_fields(fields)
                self.lines.append(f"the record's times are not compared, because settings differ: {text}")

    @property
    def is_comparable(self) -> bool:
        """Whether the base has times, and they were measured with the settings of this session."""
        return bool(self.base.runs) and not runs.differing_fields(self.base.runs, [self.head])

    @property
    def suspects(self) -> list[str]:
        """The benchmarks whose slowdown since the record must be confirmed by new processes."""
        rows = self.comparison.rows if self.is_comparable and self.confirm else ()
        return [
            row.fullname
            for row in rows
            if row.fullname not in self.in_turns
            and row.judgement.looks_slower(self.thresholds.of(row.fullname))
        ]

    @property
    def is_interrupted(self) -> bool:
        """Whether timing in turns was interrupted."""
        return bool(self.timed and self.timed.interrupted)

    @property
    def result(self) -> Result:
        """The comparison as it is saved."""
        base = replace(Side.of_runs(self.base.runs), text=self.base.title, files=())
        if not self.base.runs:
            base = self.timed.base if self.timed else Side(self.base.title)
        return Result(
            "compare",
            base,
            replace(Side.of_runs([self.head]), text="this run", files=()),
            self.comparison,
            self.thresholds,
            seconds=self.timed.seconds if self.timed else None,
            shard=str(self.head.shard) if self.head.shard else None,
            repeat=self.timed.repeat if self.timed else None,
        )

    def run(self, plan: Plan, root: Path, watcher: Listener, passed: Collection[str]) -> None:
        """Time `names` in turns, time suspects again if their tests are in `passed`, and judge."""
        if self.names:
            count, limit = units.count(len(self.names), "benchmark"), units.seconds(plan.total_seconds)
            watcher.say(f"timing {count} in turns with {self.base.title}, for at most {limit}")
            self._time_in_turns(plan, root, watcher)
        names = [] if self.is_interrupted else [name for name in self.suspects if name in passed]
        self.judge(_timed_again(names, plan, self.confirm, watcher) if names else ())

    def _time_in_turns(self, plan: Plan, root: Path, watcher: Listener) -> None:
        """Time the benchmarks of `names` in turns with the base, and use their verdicts."""
        assert self.base.variant
        # Each benchmark has an equal part of the family-wise error rate.
        share = len(self.names) / sum(map(self._needs_time, self.comparison.rows))
        level = 1 - (1 - self.thresholds.family_level) * share
        thresholds = replace(self.thresholds, family_level=level)
        plan = replace(plan, only=self.names, thresholds=thresholds)
        try:
            working_tree = variant.parse(variant.WORKING_TREE)
            prepared = prepare.both(self.base.variant, working_tree, root, watcher, build=self.build)
            with signals.as_ctrl_c(), prepared as (base, head):
                result = coordinator.run(base, head, plan, watcher)
            if result.interrupted and not result.rows:
                raise KeyboardInterrupt
            self.use_result(result)
        except UsageError as error:
            self.use_record(str(error))
        except OSError as error:
            self.use_record(f"{error.filename or 'a file'}: {error.strerror or error}")

    def use_record(self, reason: str) -> None:
        """Let the times of the record decide. `reason`: why the base cannot be built or run."""
        if not self.base.runs:
            raise UsageError(reason)
        self._say_untimed(self.names, reason)

    def use_result(self, result: Result) -> None:
        """Use the verdicts on benchmarks timed in turns, unless the base could not run the record's code."""
        self.timed = result
        by_name = {row.fullname: row for row in self.comparison.rows}
        refusals: dict[str, list[str]] = {}
        for row in result.rows:
            untimed = by_name[row.fullname]
            reason = row.judgement.reason if row.judgement.verdict == "incomparable" else ""
            if row.judgement.same_code and untimed.work.changed and not untimed.redefined:
                reason = _NOT_BUILT  # the rebuilt base runs today's code, but the record did not
            if reason and self.base.runs and not row.is_worse:
                refusals.setdefault(reason, []).append(row.fullname)
                continue
            definition = (untimed.redefined or "").partition(":")[0]
            notes = (f"{definition}; both sides ran today's definition",) if definition else ()
            seconds = row.seconds or untimed.seconds
            timed = replace(row, labels=untimed.labels, seconds=seconds, notes=(*notes, *row.notes))
            self.in_turns[row.fullname] = timed
        for reason, names in refusals.items():
            self._say_untimed(names, reason)

    def judge(self, new_runs: Sequence[RunFile] = ()) -> None:
        """Give each benchmark its verdict. `new_runs`: processes that timed the suspects again."""
        rows = (self._compare([self.head, *new_runs]) if new_runs else self.comparison).rows
        if self.is_comparable and self.confirm:
            rows = [replace(row, judgement=require_confirmation(row.judgement, self.confirm)) for row in rows]
        self.comparison = Comparison([self.in_turns.get(row.fullname) or row for row in rows])
        result = apply_excuses(self.result)
        self.comparison = result.comparison
        self.lines.extend(result.notes)

    def _needs_time(self, row: Compared) -> bool:
        """Return whether a benchmark is in the session, and must be judged by its time."""
        return row.fullname in self.head.benchmarks and not row.judgement.same_code

    def _compare(self, head: Sequence[RunFile]) -> Comparison:
        return runs.compare(
            self.base.runs, head, self.thresholds, vanished=self.missing, confirming=self.confirm
        )

    def _describe_record(self) -> None:
        """Add lines on the record, and on the differences between the record and the session."""
        run, sources = self.base.runs[0], self.head.sources
        if run.sources is None:
            raise UsageError(f"{run.path} does not describe its environment; record it again")
        assert sources
        if parts := rebuild.differences(run.sources, sources):
            self.differences.append(f"changed since {self.base.title}: {', '.join(parts)}")
        count = sum(row.fullname in run.benchmarks for row in self.comparison.rows)
        reason = run.part.record.reason if run.part.record else ""
        self.lines.append(
            f"{units.count(count, 'benchmark')} compared with {self.base.title} of {self.base.environment}: "
            f"{units.count(len(self.base.runs), 'process')}, commit {(run.commit or 'unknown')[:10]}"
            f"{f': {reason}' if reason else ''}"
        )

    def _recorded_variant(self) -> Variant:
        """Return the record's code as a variant. Raises UsageError if it cannot be timed in turns."""
        base, head = self.base.runs[0].sources, self.head.sources
        assert base
        assert head
        if not self.turns:
            raise UsageError("--gnn-turns never")
        text = rebuild.variant(base, head, is_built=bool(self.build))
        if text == variant.WORKING_TREE:
            raise UsageError(_UNCHANGED)
        return variant.parse(text)

    def _say_untimed(self, names: Sequence[str], reason: str) -> None:
        """Add a line that says why benchmarks of the record are not timed in turns."""
        names = [name for name in names if any(name in run.benchmarks for run in self.base.runs[:1])]
        only = f"compared only with the times of {self.base.title}" if self.is_comparable else "not compared"
        if names:
            self.lines.append(f"{units.count(len(names), 'benchmark')} {only}: {reason}")


def _timed_again(names: Collection[str], plan: Plan, processes: int, watcher: Listener) -> list[RunFile]:
    new_runs, count = [], units.count(len(names), "benchmark")
    defaults = {"layouts": "sample", **plan.defaults}
    with signals.as_ctrl_c(), scratch() as files:
        for number in range(1, processes + 1):
            watcher.say(f"{count} may be slower: timing again in new process {number} of {processes}")
            output, seed = files / f"{number}.json", _MOST_RECORDED + number
            fresh.run(plan.arguments, output, plan.folder, seed, watcher, names, defaults)
            new_runs.append(run_file.read(output))
    return new_runs
