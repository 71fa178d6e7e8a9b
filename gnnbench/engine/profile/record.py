"""profile.json: the saved profile of a benchmark, and the folder of profiles.

Each benchmark has a folder there, with its profiles in 0001, 0002, ... A numbered folder always holds a
complete profile.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Required, TypedDict

from msgspec import Meta

from ..ground import codec, json_io
from ..ground.codec import Count, PositiveCount
from ..ground.files import next_number
from ..ground.labels import Labels
from ..measure.instructions.counting import Instructions
from ..store import suite
from .findings import Finding

VERSION = 1
# 1: first.

FILE = "profile.json"
_REMEDY = "profile again"

_Path = Annotated[list[str], Meta(min_length=1)]
"""Names of ranges, outermost first."""


class RangeCount(TypedDict):
    """How often one call opens a range."""

    path: _Path
    count: PositiveCount


class NamedCount(RangeCount):
    """How often one call calls an operator, or a library's function, in a range."""

    name: str


class Counts(TypedDict):
    """What one call does, in order of first appearance; the lists are empty if nothing imported torch.

    Only new rows of those that are mappings are read. They have `path` and `count`, too, and all but copies
    `name`. Reads, sorts and copies have a `caller`: the innermost Python function outside torch, as
    `file:line function`, or `the benchmark`.
    """

    ranges: list[RangeCount]
    operators: list[NamedCount]
    """With the library calls, their sums are those of gnnbench.engine.measure.counters."""
    library_calls: list[NamedCount]
    host_reads: list[Mapping[str, Any]]
    """Like `mask_reads`, only of memory of the device. They include the elements that torch.tensor reads from
    a list of tensors, which a dispatch mode does not see."""
    mask_reads: list[Mapping[str, Any]]
    sorts: list[Mapping[str, Any]]
    copies: list[Mapping[str, Any]]
    """Between devices, with `direction`, as in `cpu→cuda`, and `bytes`."""
    gathers: list[Mapping[str, Any]]
    """Of rows of features, for example from nodes to edges, with `from_rows`, `to_rows` and `columns`."""
    scatters: list[Mapping[str, Any]]
    """The same back."""


class TimedRange(TypedDict):
    """One range of a tree."""

    path: _Path
    calls: Annotated[list[Count], Meta(min_length=1)]
    """In each repeat, as the times."""
    cold_ns: Count
    """Time in the first call."""
    total_ns: Annotated[list[Count], Meta(min_length=1)]
    self_ns: Annotated[list[int], Meta(min_length=1)]
    """The same, without the ranges inside."""


class TreeSection(TypedDict):
    """Times by range."""

    rows: Annotated[list[TimedRange], Meta(min_length=1)]
    """Depth first; the first is the whole call."""
    plain_ns: Annotated[list[Count], Meta(min_length=1)]
    """Time of the call without ranges, in each repeat."""
    missing: list[str]
    """A line for each range that the library lacks."""
    nvtx: bool


class InstructionsSection(TypedDict):
    """Instructions of one warm call."""

    counted: Instructions
    counter: str
    """What counted them, with its version."""
    capability: str
    """The vector extensions of the processor that libraries used."""


class Sections(TypedDict, total=False):
    """Results by kind of profile. Mappings are described where they are taken; only new ones are read."""

    counts: Required[Counts]
    phases: TreeSection
    layers: TreeSection
    ranges: TreeSection
    functions: Mapping[str, Any]
    kernels: Mapping[str, Any]
    trace: Mapping[str, Any]
    instructions: InstructionsSection


@dataclass(frozen=True, kw_only=True)
class ProfileRecord:
    """The profile of one benchmark."""

    version: int = VERSION
    id: str
    """The values of its labels, joined by hyphens; pytest's node id if it has none."""
    spec: Mapping[str, str | int] | None
    """The fields of its labels; None if it has none."""
    environment: Mapping[str, Any]
    """Of the process; the fields of `environment.Environment`."""
    repeats: PositiveCount
    """Calls after the first of each kind."""
    sections: Sections
    unavailable: Mapping[str, str]
    """Requested kinds that could not be taken, each with the reason."""
    findings: tuple[Finding, ...]

    @property
    def labels(self) -> Labels | None:
        """None if it has none, or if their suite is not installed."""
        return suite.installed().labels(self.spec) if self.spec else None

    def section(self, kind: str) -> Any:
        """Return the section of a kind; None: there is none."""
        return self.sections.get(kind)


def write(record: ProfileRecord, folder: Path) -> None:
    """Save a record as profile.json in a folder."""
    text = json.dumps(codec.encode(record), indent=1, allow_nan=False)
    (folder / FILE).write_text(text + "\n", encoding="utf-8")


def read(path: Path) -> ProfileRecord:
    """Return a saved record; `path` is its file or folder."""
    file = path / FILE if path.is_dir() else path
    content = json_io.read(file, _REMEDY)
    if "sections" not in json_io.fields(content):
        json_io.refuse(file, f"not a profile, a {FILE} of gnnbench: it has no sections", _REMEDY)
    return codec.read(file, content, ProfileRecord, VERSION, _REMEDY)


_LONGEST_NAME = 200
_NUMBER = re.compile(r"\d{4,}")


class ProfileStore:
    """A folder of profiles, made when first needed."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @contextmanager
    def new(self, name: str) -> Iterator[tuple[Path, Path]]:
        """Yield a folder to write a new profile of a benchmark to, and the numbered one that it becomes.

        It gets its number when the context ends; after an error, it is removed.
        """
        parent = self.root / folder_name(name)
        parent.mkdir(parents=True, exist_ok=True)

        def last() -> int:
            return max((int(one.name) for one in parent.iterdir() if _NUMBER.fullmatch(one.name)), default=0)

        try:
            with next_number(parent, last) as (number, draft):
                numbered = parent / f"{number:04}"
                yield draft, numbered
                draft.rename(numbered)
        except BaseException:
            with suppress(OSError):
                parent.rmdir()  # fails if it has other profiles
            raise


def folder_name(name: str) -> str:
    """Return a benchmark's folder name: valid on any file system, and without path separators.

    Two benchmarks may share a name, as `a:b` and `a_b` do. Nothing is lost: each profile has its own number
    and stores the benchmark's id.
    """
    return re.sub(r"[^A-Za-z0-9._@+=-]+", "_", name).lstrip("._").rstrip("_")[:_LONGEST_NAME] or "_"
