"""The result of `gnnbench ab` or `gnnbench compare`, which is saved as JSON and read again."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

from ..ground import codec, json_io, units
from ..ground.codec import UNSAVED, NotNegative
from ..ground.cpu import CONTENDED
from ..judge.comparison import Compared, Comparison
from ..judge.control import Control
from ..judge.verdict import Thresholds
from ..process.variants.prepare import Prepared
from ..store.run_file import RunFile
from . import repeat, runs
from .repeat import Repeat
from .settle import Revision, settle

FORMAT_VERSION = 1
_REMEDY = "save it again with gnnbench ab --json or gnnbench compare --json"

Command = Literal["ab", "compare"]
Kind = Literal["run", "ab", "compare", "compare --by", "profile"]
_BY_FIELD: Mapping[str, Kind] = {
    "sections": "profile",
    "rows": "compare --by",
}
"""The field by which a format without benchmarks is known."""
SHORT_COMMIT = 8


@dataclass(frozen=True)
class Side:
    """One side of a comparison."""

    text: str
    """The variant as the user typed it; of run files, their number: `3 runs`."""
    commits: tuple[str, ...] = ()
    """Empty: unknown. Several: its processes ran different ones."""
    dirty: bool = False
    """Whether tracked files differed from a commit."""
    checkouts: Mapping[str, str] = field(default_factory=dict)
    """Folders of other repositories, as the user typed them, and their commits."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Names and versions of the packages that pip installed for it."""
    variables: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()

    @classmethod
    def of(cls, variant: Prepared) -> Self:
        """Return the side that a variant is."""
        commits = (variant.commit,) if variant.commit else ()
        there = dict(variant.checkouts), dict(variant.versions), dict(variant.environment)
        return cls(variant.text, commits, variant.dirty, *there)

    @classmethod
    def of_runs(cls, found: Sequence[RunFile]) -> Self:
        """Return the side that run files are."""
        revision = Revision.of_runs(found)
        files = tuple(str(run.path) for run in found)
        return cls(units.count(len(found), "run"), revision.commits, revision.dirty, files=files)

    @property
    def revision(self) -> Revision:
        """Its commits."""
        return Revision(self.commits, self.dirty)

    @property
    def title(self) -> str:
        """The text, with the commits of a variant: `git:main (01234567, ../pyg 89abcdef)`."""
        dirty = ", with uncommitted changes" if self.dirty else ""
        facts = [f"{commit[:SHORT_COMMIT]}{dirty}" for commit in self.commits]
        facts += [f"{folder} {commit[:SHORT_COMMIT]}" for folder, commit in self.checkouts.items()]
        return f"{self.text} ({', '.join(facts)})" if facts else self.text


@dataclass(frozen=True)
class Result:
    """A comparison of two sides. The fields from `environment` to `shard` are those of `gnnbench ab`."""

    command: Command
    base: Side
    head: Side
    comparison: Comparison
    thresholds: Thresholds
    environment: Mapping[str, Any] | None = None
    seconds: NotNegative | None = None
    contention_share: NotNegative | None = None
    """The fraction of CPU time that other programs used meanwhile; None: unknown, or a simulated machine."""
    interrupted: bool = False
    shard: str | None = None
    """The shard that was timed, as in `1/4`; None: all benchmarks."""
    notes: tuple[str, ...] = ()
    repeat: Repeat | None = None
    """What commands need that time the benchmarks again; None: unknown."""
    needed_seconds: float = field(default=0.0, metadata=UNSAVED)
    """Time for the pairs that a verdict needs at least, of all benchmarks, by the costs so far."""
    control: Control | None = None
    """The base against itself, in some pairs. None: too few, or none could be made."""
    path: Path = field(default_factory=Path, metadata=UNSAVED)
    """Where it is saved; empty: nowhere."""
    version: int = FORMAT_VERSION

    @property
    def rows(self) -> Sequence[Compared]:
        """The benchmarks, in the order of collection."""
        return self.comparison.rows

    @property
    def is_busy(self) -> bool:
        """Whether other programs used much CPU time meanwhile."""
        return (self.contention_share or 0.0) > CONTENDED

    def settled(self) -> Self:
        """Return the result with what is accepted and ignored, and notes on that."""
        sides = self.base.revision, self.head.revision
        found, lines = settle(self.comparison, self.thresholds, sides)
        return replace(self, comparison=found, notes=(*self.notes, *lines))

    def all_notes(self) -> tuple[str, ...]:
        """Return how busy the machine was, the notes, and what the run could detect."""
        return tuple(filter(None, (*self.first_notes(), self._power())))

    def first_notes(self) -> tuple[str, ...]:
        """Return how busy the machine was, and the notes."""
        return tuple(filter(None, (self._busy(), *self.notes)))

    def last_notes(self) -> list[tuple[str, str]]:
        """Return what the run could detect, and what tells more; a terminal always has them."""
        power = self._power()
        return [*([(power, "")] if power else []), *filter(None, (self.counting(),))]

    def _power(self) -> str:
        """Return the slowdowns that the run could detect, and the control; empty if unknown."""
        if self.command != "ab":
            return ""
        effects = [
            effect for row in self.rows if (effect := row.judgement.minimum_detectable_effect) is not None
        ]
        if not effects:
            return ""
        median, worst = units.fraction(statistics.median(effects)), units.fraction(max(effects))
        of_all = f"{median} in the median, {worst} at worst" if len(effects) > 1 else median
        control = f"; {self.control.text}" if self.control else ""
        return f"this run could detect a slowdown of {of_all} (MDE, power 90%){control}"

    def counting(self) -> tuple[str, str] | None:
        """Return what tells more of undecided benchmarks whatever the load, and its command.

        Returns None if none is undecided, or their instructions are known, or nothing can be compared again.
        """
        undecided = [row for row in self.rows if row.judgement.verdict == "undecided"]
        names = [row.fullname for row in undecided if not row.work.instructions]
        if not names or not self.repeat:
            return None
        repeat = replace(self.repeat, options=(*self.repeat.options, "--instructions"))
        commands = repeat.commands(names, [row.fullname for row in self.rows])
        return f"count the instructions of {units.count(commands.count, 'benchmark')}", commands.ab

    def _busy(self) -> str:
        """Return that other programs used much CPU time, if benchmarks are undecided; empty otherwise."""
        count = sum(row.judgement.verdict == "undecided" for row in self.rows)
        if not count or not self.is_busy:
            return ""
        whose = f"{units.count(count, 'benchmark')} {'is' if count == 1 else 'are'} undecided"
        used = units.fraction(self.contention_share or 0.0)
        threads = (self.environment or {}).get("threads", 1)
        hint = "; OMP_NUM_THREADS=1 before the command lets CPU time decide" if threads > 1 else ""
        return f"the machine was busy: other programs used {used} of its CPU time, maybe why {whose}{hint}"


def of_runs(
    base: Sequence[RunFile],
    head: Sequence[RunFile],
    thresholds: Thresholds,
    options: tuple[str, ...] = (),
) -> Result:
    """Compare the processes of two runs."""
    judged, again = runs.compare(base, head, thresholds), repeat.of_runs(base[0], head[0], options)
    sides = Side.of_runs(base), Side.of_runs(head)
    return Result("compare", *sides, judged, thresholds, repeat=again).settled()


def kind(content: Any) -> Kind | None:
    """Return which of gnnbench's formats a parsed JSON file has, by its fields; None if it has none."""
    if not isinstance(content, dict):
        return None
    command = content.get("command")
    if command in ("ab", "compare"):
        return "ab" if command == "ab" else "compare"
    if isinstance(content.get("benchmarks"), list):
        return "run"
    return next((kind for field, kind in _BY_FIELD.items() if field in content), None)


def read(path: Path) -> Result:
    """Read a result."""
    content = json_io.read(path, _REMEDY)
    return parse(path, content)


def parse(path: Path, content: Any) -> Result:
    """Check a result's content."""
    command = kind(content)
    if command not in ("ab", "compare"):
        what = f": it is {units.article(f'{command} file')}" if command else ""
        json_io.refuse(path, f"not a result of gnnbench ab or compare{what}", _REMEDY)
    found = codec.read(path, content, Result, FORMAT_VERSION, _REMEDY)
    with json_io.refusing(path, "damaged", _REMEDY):
        for row in found.rows:
            row.judgement.check()
    return replace(found, path=path)
