"""The result of `gnnbench ab` or `gnnbench compare`, which is saved as JSON and read again."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

from ..ground import codec, json_io, units
from ..ground.codec import Level, NotNegative
from ..ground.cpu import CONTENDED
from ..ground.settings import Settings
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
_SHORT_COMMIT = 8


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
        if self.files:
            return self.text
        dirty = ", with uncommitted changes" if self.dirty else ""
        facts = [f"{commit[:_SHORT_COMMIT]}{dirty}" for commit in self.commits]
        facts += [f"{folder} {commit[:_SHORT_COMMIT]}" for folder, commit in self.checkouts.items()]
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
    seconds: float | None = None
    contention_share: float | None = None
    """The fraction of CPU time that other programs used meanwhile; None: unknown, or a simulated machine."""
    interrupted: bool = False
    shard: str | None = None
    """The shard that was timed, as in `1/4`; None: all benchmarks."""
    notes: tuple[str, ...] = ()
    repeat: Repeat | None = None
    """What commands need that time the benchmarks again; None: unknown."""
    needed_seconds: float = 0.0
    """Time for the pairs that a verdict needs at least, of all benchmarks, by the costs so far; not saved."""
    control: Control | None = None
    """The base against itself, in some pairs. None: too few, or none could be made."""
    path: Path = Path()
    """Where it is saved; empty: nowhere."""

    @property
    def rows(self) -> Sequence[Compared]:
        """The benchmarks, in the order of collection."""
        return self.comparison.rows

    def settled(self) -> Self:
        """Return the result with what is accepted and ignored, and notes on that."""
        sides = self.base.revision, self.head.revision
        found, lines = settle(self.comparison, self.thresholds, sides)
        return replace(self, comparison=found, notes=(*self.notes, *lines))

    def all_notes(self) -> tuple[str, ...]:
        """Return the notes, and those on what the run could see, and on how busy the machine was."""
        return (*self.notes, *filter(None, (self._power(), self._busy())))

    def _power(self) -> str:
        """Return which slowdowns the run could see, and what the base is against itself; empty if unknown."""
        if self.command != "ab":
            return ""
        effects = [
            effect for row in self.rows if (effect := row.judgement.minimum_detectable_effect) is not None
        ]
        if not effects:
            return ""
        median, worst = units.fraction(statistics.median(effects)), units.fraction(max(effects))
        of_all = f"{median} (median of {len(effects)}), {worst} at worst" if len(effects) > 1 else median
        control = f"; {self.control.text}" if self.control else ""
        return f"this run could see a slowdown of {of_all}{control}"

    def _busy(self) -> str:
        """Return that other programs used much CPU time, if benchmarks are undecided; empty otherwise."""
        count = sum(row.judgement.verdict == "undecided" for row in self.rows)
        share = self.contention_share or 0.0
        if not count or share <= CONTENDED:
            return ""
        whose = f"{units.count(count, 'benchmark')} {'is' if count == 1 else 'are'} undecided"
        used = units.fraction(share)
        threads = (self.environment or {}).get("threads", 1)
        hint = "; OMP_NUM_THREADS=1 before the command lets CPU time decide" if threads > 1 else ""
        return f"the machine was busy: other programs used {used} of its CPU time, maybe why {whose}{hint}"

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form, see docs/formats.md."""
        verdicts = Counter(row.judgement.verdict for row in self.rows)
        return {
            "version": FORMAT_VERSION,
            "command": self.command,
            "base": codec.encode(self.base),
            "head": codec.encode(self.head),
            "environment": self.environment,
            "effect": self.thresholds.effect,
            "family_level": self.thresholds.family_level,
            "own_level": self.thresholds.own_level,
            "benchmarks": [row.as_json() for row in self.rows],
            "summary": dict(sorted(verdicts.items())),
            "seconds": self.seconds and round(self.seconds, 3),
            "contention_share": self.contention_share,
            "control": codec.encode(self.control),
            "interrupted": self.interrupted,
            "shard": self.shard,
            "notes": list(self.notes),
            "repeat": codec.encode(self.repeat),
            "settings": self.thresholds.rules.as_json(self.command),
        }


def of_runs(
    base: Sequence[RunFile],
    head: Sequence[RunFile],
    thresholds: Thresholds,
    options: tuple[str, ...] = (),
) -> Result:
    """Compare the processes of two runs.

    Args:
        options: those that a command which compares again must have too.
    """
    judged, again = runs.compare(base, head, thresholds), repeat.of_runs(base[0], head[0], options)
    sides = Side.of_runs(base), Side.of_runs(head)
    return Result("compare", *sides, judged, thresholds, repeat=again).settled()


def kind(content: Any) -> Kind | None:
    """Return which of gnnbench's formats a parsed JSON file has, by its fields; None if it has none."""
    if not isinstance(content, dict):
        return None
    benchmarks, command = content.get("benchmarks"), content.get("command")
    if command in ("ab", "compare"):
        return "ab" if command == "ab" else "compare"
    if isinstance(benchmarks, list):
        return None if "summary" in content else "run"  # that of `gnnbench affected` has one
    return next((kind for field, kind in _BY_FIELD.items() if field in content), None)


def read(path: Path) -> Result:
    """Read a result."""
    content = json_io.read(path, _REMEDY)
    return parse(path, content)


@dataclass(frozen=True)
class SavedResult:
    """What `Result.as_json` returns; the benchmarks are read one by one."""

    version: int
    command: Command
    base: Side
    head: Side
    benchmarks: tuple[Mapping[str, Any], ...]
    effect: Level
    family_level: Level
    own_level: Level
    environment: Mapping[str, Any] | None = None
    seconds: NotNegative | None = None
    contention_share: NotNegative | None = None
    control: Control | None = None
    interrupted: bool = False
    shard: str | None = None
    notes: tuple[str, ...] = ()
    repeat: Repeat | None = None
    settings: Mapping[str, Any] | None = None


def parse(path: Path, content: Any) -> Result:
    """Check a result's content."""
    command = kind(content)
    if command not in ("ab", "compare"):
        found = f": it is {units.article(f'{command} file')}" if command else ""
        json_io.refuse(path, f"not a result of gnnbench ab or compare{found}", _REMEDY)
    with json_io.refusing(path, "damaged", _REMEDY):
        saved = codec.read(path, content, SavedResult, FORMAT_VERSION, _REMEDY)
        rows = [Compared.from_json(one) for one in saved.benchmarks]
        rules = Settings.from_json(saved.settings)
    return Result(
        saved.command,
        saved.base,
        saved.head,
        Comparison(rows),
        Thresholds(saved.effect, saved.family_level, saved.own_level, rules=rules),
        saved.environment,
        saved.seconds,
        saved.contention_share,
        saved.interrupted,
        saved.shard,
        saved.notes,
        saved.repeat,
        control=saved.control,
        path=path,
    )
