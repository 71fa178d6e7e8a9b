"""The result of `gnnbench ab` or `gnnbench compare`, which is saved as JSON and read again."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

from ..ground import codec, json_io, units
from ..ground.codec import UNSAVED, NotNegative
from ..ground.cpu import CONTENDED
from ..ground.environment import Environment
from ..judge.comparison import Compared, Comparison
from ..judge.control import Control
from ..judge.verdict import Thresholds
from ..measure.sources import CALLERS_TREE
from ..process.variants.variant import Prepared
from ..store.run_file import RunFile
from .repeat import Repeat

FORMAT_VERSION = 1
_REMEDY = "save it again with gnnbench ab --json or gnnbench compare --json"

Command = Literal["ab", "compare"]
Kind = Literal["run", "ab", "compare"]
SHORT_COMMIT = 8


@dataclass(frozen=True)
class Side:
    """One side of a comparison."""

    text: str
    """The variant as the user typed it, or the number of run files: `3 runs`."""
    commits: tuple[str, ...] = ()
    """Empty if unknown. There are several if the processes of the side ran different commits."""
    dirty: bool = False
    """Whether tracked files differed from the commit."""
    checkouts: Mapping[str, str] = field(default_factory=dict)
    """Folders of other repositories, as the user typed them, and their commits."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Names and versions of the packages that pip installed for this side."""
    variables: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()

    @classmethod
    def of(cls, variant: Prepared) -> Self:
        commits = (variant.commit,) if variant.commit else ()
        checkouts, versions = dict(variant.checkouts), dict(variant.versions)
        return cls(variant.text, commits, variant.dirty, checkouts, versions, dict(variant.environment))

    @classmethod
    def of_runs(cls, runs: Sequence[RunFile]) -> Self:
        """Return run files as a side of a comparison. If any file's commit is unknown, `commits` is empty."""
        sources = (run.sources.trees if run.sources else () for run in runs)
        trees = [next((tree for tree in trees if tree.path == CALLERS_TREE), None) for trees in sources]
        commits = [tree and tree.commit for tree in trees]
        distinct = tuple(dict.fromkeys(commit for commit in commits if commit)) if all(commits) else ()
        is_dirty = any(tree and tree.dirty for tree in trees)
        files = tuple(str(run.path) for run in runs)
        return cls(units.count(len(runs), "run"), distinct, is_dirty, files=files)

    @property
    def title(self) -> str:
        """The side with its commits, as in `git:main (01234567, ../pyg 89abcdef)`."""
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
    environment: Environment | None = None
    seconds: NotNegative | None = None
    contention_share: NotNegative | None = None
    """Fraction of CPU time that other programs used. None if unknown, or on a simulated machine."""
    interrupted: bool = False
    shard: str | None = None
    """The shard that was timed, as in `1/4`. None if all benchmarks were timed."""
    notes: tuple[str, ...] = ()
    repeat: Repeat | None = None
    """The variants and options that commands need to time the benchmarks again. None if unknown."""
    needed_seconds: float = field(default=0.0, metadata=UNSAVED)
    """Estimated time for the pairs that verdicts on all benchmarks need."""
    control: Control | None = None
    """The base timed against itself. None if this could not be done, or not often enough."""
    path: Path = field(default_factory=Path, metadata=UNSAVED)
    """The file that contains the result. Empty if there is no such file."""
    version: int = FORMAT_VERSION

    @property
    def rows(self) -> Sequence[Compared]:
        """The benchmarks, in the order of collection."""
        return self.comparison.rows

    @property
    def is_busy(self) -> bool:
        """Whether other programs used much CPU time during the comparison."""
        return (self.contention_share or 0.0) > CONTENDED

    def all_notes(self) -> tuple[str, ...]:
        """Return all notes, including notes on omitted benchmarks and on the power of the comparison."""
        part = f"not all benchmarks were timed: shard {self.shard}" if self.shard else ""
        end = "interrupted: benchmarks without a verdict by then are undecided" if self.interrupted else ""
        return tuple(filter(None, (part, end, *self.first_notes(), self.power())))

    def first_notes(self) -> tuple[str, ...]:
        """Return `notes`. If the machine was busy, a note on that comes first."""
        return tuple(filter(None, (self._busy(), *self.notes)))

    def power(self) -> str:
        """Return a note on the slowdowns that the run could detect, and on the control. Empty if unknown."""
        known = (row.judgement.minimum_detectable_effect for row in self.rows if self.command == "ab")
        effects = [effect for effect in known if effect is not None]
        if not effects:
            return ""
        median, worst = units.fraction(statistics.median(effects)), units.fraction(max(effects))
        sizes = f"{median} in half of the benchmarks timed, {worst} in all" if len(effects) > 1 else median
        control = f"; {self.control.text}" if self.control else ""
        return f"smallest detectable slowdown: {sizes} (MDE, power 90%){control}"

    def _busy(self) -> str:
        """Return a note if the machine was busy and benchmarks are undecided. Empty otherwise."""
        count = sum(row.judgement.verdict == "undecided" for row in self.rows)
        if not count or not self.is_busy:
            return ""
        undecided = f"{units.count(count, 'benchmark')} {'is' if count == 1 else 'are'} undecided"
        busy = f"other programs used {units.fraction(self.contention_share or 0.0)} of its CPU time"
        threads = self.environment.threads if self.environment else 1
        hint = "; with OMP_NUM_THREADS=1, gnnbench can judge by CPU time" if threads > 1 else ""
        return f"the machine was busy: {busy}, which may be why {undecided}{hint}"


def kind(content: Any) -> Kind | None:
    """Return the kind of a parsed JSON file. Returns None if it is neither a run file nor a result."""
    if not isinstance(content, dict):
        return None
    command = content.get("command")
    if command in ("ab", "compare"):
        return "ab" if command == "ab" else "compare"
    return "run" if isinstance(content.get("benchmarks"), list) else None


def read(path: Path) -> Result:
    return parse(path, json_io.read(path, _REMEDY))


def parse(path: Path, content: Any) -> Result:
    """Return the result in a parsed JSON file, or refuse the file."""
    if (file_kind := kind(content)) not in ("ab", "compare"):
        reason = "not a result of gnnbench ab or compare"
        json_io.refuse(path, f"{reason}: it is a run file" if file_kind else reason, _REMEDY)
    return replace(codec.read(path, content, Result, FORMAT_VERSION, _REMEDY), path=path)
