"""Accepted slowdowns and more memory: the file `baselines/accepted.toml`, read and written."""

import datetime as dt
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from .. import codec, json_io
from ..errors import UsageError
from ..files import above, save
from ..settings import check_keys, read_toml

FILE = Path("baselines") / "accepted.toml"
PATTERN = f"**/{FILE.as_posix()}"
"""Of the file's path in a repository, for git."""
_LIST = "accepted"
"""The key of the list of entries."""
_HEADER = """\
# What is intended, written by gnnbench accept (docs/accept.md). To end it, remove its entry.
"""
_DIGITS = 4
_AGAIN = "or remove the entry and accept again"

Ratio = Annotated[float, Meta(gt=1e-6, lt=1e6)]
Commit = Annotated[str, Meta(pattern=r"\A[0-9a-f]{7,64}\Z")]
Text = Annotated[str, Meta(pattern=r"\S")]


@dataclass(frozen=True)
class Entry:
    """What is intended of one benchmark: a slowdown, more memory, another result, or several of these."""

    benchmark: Text
    """The id of its test."""
    ratio: Ratio
    """Time of the head / time of the base; 1, as both bounds: the time is not accepted to be longer."""
    low: Ratio
    """Lower bound of the simultaneous interval of the comparison that found it; `high` is the upper one."""
    high: Ratio
    base: Commit
    """Full hash of the compared base's commit."""
    head: Commit
    author: Text
    date: dt.date
    reason: Text
    until: dt.date | None = None
    """The last day on which it is accepted; None: there is none."""
    more_bytes: codec.PositiveCount = 0
    """By how much more the head's peak memory beside its inputs is accepted."""
    result: bool = False
    number: int = 0
    """Its position in the file, from 1; 0: it is not in a file."""

    @property
    def place(self) -> str:
        """Where it is: `entry 2 (test_a.py::test_a)`."""
        return f"entry {self.number} ({json_io.clipped(self.benchmark)})"

    @property
    def slows(self) -> bool:
        """Whether it accepts a longer time."""
        return self.high > 1

    @property
    def half_width(self) -> float:
        """Larger half-width of the interval of the log ratio."""
        return max(math.log(self.high / self.ratio), math.log(self.ratio / self.low))


@dataclass(frozen=True)
class Accepted:
    """The accepted slowdowns of a project."""

    file: Path
    """It may not exist."""
    entries: tuple[Entry, ...] = ()
    today: dt.date = field(default_factory=dt.date.today)
    """The day on which entries expire or not."""

    @property
    def folder(self) -> Path:
        """A folder of the project's repository."""
        return self.file.parents[1]


NONE = Accepted(FILE)


def find(start: Path) -> Accepted:
    """Read the accepted slowdowns of a project: of the nearest folder, up to the top of the repository.

    Args:
        start: the folder to begin with; the file belongs there if there is none.
    """
    for folder in above(start):
        if (folder / FILE).is_file():
            return read(folder / FILE)
    return Accepted(start.resolve() / FILE)


def read(file: Path) -> Accepted:
    """Read a file."""
    content = read_toml(file)
    check_keys(f"{file}", content, [_LIST])
    try:
        tables = codec.decode(content.get(_LIST, []), list[dict[str, Any]])
    except ValueError:
        raise UsageError(f"{file}: {_LIST} must be a list of tables, as in [[{_LIST}]]") from None
    return Accepted(file, tuple(_entry(file, *one) for one in enumerate(tables, 1)))


def _entry(file: Path, number: int, table: dict[str, Any]) -> Entry:
    named = table.get("benchmark")
    place = f"{file}: entry {number}{f' ({json_io.clipped(named)})' if isinstance(named, str) else ''}"
    check_keys(place, table, _KEYS)
    of_others = not table.keys().isdisjoint(_OF_OTHERS) and table.keys().isdisjoint(_OF_TIME)
    try:
        found = codec.decode(table | dict.fromkeys(_OF_TIME if of_others else (), 1.0), Entry)
    except ValueError as error:
        reason = str(error).lstrip("$.: ")
        raise UsageError(f"{place}: {reason}; correct it, {_AGAIN}") from None
    if not found.low <= found.ratio <= found.high:
        raise UsageError(f"{place}: ratio must lie between low and high; correct it, {_AGAIN}")
    return replace(found, reason=" ".join(found.reason.split()), number=number)


def write(old: Accepted, new: Sequence[Entry], replaced: Collection[int] = ()) -> None:
    """Add entries to a file, and remove those with the numbers `replaced`; all else stays, comments too."""
    import tomlkit

    try:
        text = old.file.read_text("utf-8")
    except FileNotFoundError:
        text = _HEADER
    except OSError as error:
        raise UsageError(f"{old.file} cannot be read: {error.strerror}") from None
    document = tomlkit.parse(text)
    tables = document.get(_LIST)
    if isinstance(tables, tomlkit.items.AoT):
        for number in sorted(replaced, reverse=True):
            del tables[number - 1]
    else:  # there is none, or it is written in brackets
        new = [*(one for one in old.entries if one.number not in replaced), *new]
        tables = []
    if not tables:
        document.pop(_LIST, None)
    before = tomlkit.dumps(document).rstrip("\n") or _HEADER.rstrip("\n")
    save(old.file, "\n\n".join((before, *map(_text_of, new))) + "\n")


def _text_of(one: Entry) -> str:
    """Return the table of an entry, without the line break at its end."""
    import tomlkit

    left_out = () if one.slows else _OF_TIME
    table = {key: value for key in _KEYS if key not in left_out and (value := getattr(one, key))}
    rounded = {key: round(one, _DIGITS) if isinstance(one, float) else one for key, one in table.items()}
    return tomlkit.dumps({_LIST: [rounded]}).strip("\n")


_KEYS = [one.name for one in fields(Entry) if one.name != "number"]
_OF_TIME = ("ratio", "low", "high")
"""All or none; an entry without them has one of the others."""
_OF_OTHERS = ("more_bytes", "result")
