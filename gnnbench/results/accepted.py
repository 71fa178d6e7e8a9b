"""Accepted slowdowns and more memory: the file `baselines/accepted.toml`, read and written."""

import datetime as dt
import math
import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import git, settings
from ..errors import UsageError, unknown_name
from ..files import above, read_whole, save
from . import former_names

FILE = Path("baselines") / "accepted.toml"
PATTERN = f"**/{FILE.as_posix()}"
"""Of the file's path in a repository, for git."""
_LIST = "accepted"
"""The key of the list of entries."""
_MAX_BYTES = 2**22
_HEADER = """\
# What is intended, written by gnnbench accept (docs/accept.md). To end it, remove its entry.
"""
_DIGITS = 4
_LONGEST = 200
"""Characters of an id in a message."""


@dataclass(frozen=True)
class Entry:
    """A slowdown of one benchmark, more memory, or both, that are intended."""

    benchmark: str
    """The id of its test."""
    ratio: float
    """Time of the head / time of the base; 1, as both bounds: the time is not accepted to be longer."""
    low: float
    """Lower bound of the simultaneous interval of the comparison that found it; `high` is the upper one."""
    high: float
    base: str
    """Full hash of the compared base's commit."""
    head: str
    author: str
    date: dt.date
    reason: str
    until: dt.date | None = None
    """The last day on which it is accepted; None: there is none."""
    patches: tuple[str, ...] = ()
    """Patch ids (git patch-id) of what the head changed: of everything together, and, if that is several
    commits, of each."""
    more_bytes: int = 0
    """By how much more the head's peak memory beside its inputs is accepted."""
    number: int = 0
    """Its position in the file, from 1; 0: it is not in a file."""

    @property
    def place(self) -> str:
        """Where it is: `entry 2 (test_a.py::test_a)`."""
        return f"entry {self.number} ({_short(self.benchmark)})"

    @property
    def slows(self) -> bool:
        """Whether it accepts a longer time."""
        return self.high > 1

    @property
    def log_ratio(self) -> float:
        """Logarithm of the ratio."""
        return math.log(self.ratio)

    @property
    def half_width(self) -> float:
        """Larger half-width of the interval of `log_ratio`."""
        return max(math.log(self.high / self.ratio), math.log(self.ratio / self.low))

    def is_expired(self, today: dt.date) -> bool:
        """Tell whether its last day is over."""
        return self.until is not None and today > self.until


@dataclass(frozen=True)
class Accepted:
    """The accepted slowdowns of a project."""

    file: Path
    """It may not exist."""
    entries: tuple[Entry, ...] = ()

    @property
    def name(self) -> str:
        """The file as it is shown."""
        return FILE.as_posix()


def find(start: Path) -> Accepted:
    """Read the accepted slowdowns of a project: of the nearest folder, up to the top of the repository.

    Args:
        start: the folder to begin with; the file belongs there if there is none.

    Raises:
        UsageError: see `read`.
    """
    for folder in above(start):
        if (folder / FILE).is_file():
            return read(folder / FILE)
    return Accepted(start.resolve() / FILE)


def read(file: Path) -> Accepted:
    """Read a file.

    Raises:
        UsageError: it cannot be read, or an entry is wrong; the message is one line.
    """
    try:
        raw = read_whole(file, _MAX_BYTES)
        content = former_names.renewed(tomllib.loads(raw.decode()), raw)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{file} is not valid TOML: {error}; correct it") from None
    for key in content:
        if key != _LIST:
            raise UsageError(f"{file}: {unknown_name('key', _short(key), [_LIST])}")
    tables = content.get(_LIST, [])
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise UsageError(f"{file}: {_LIST} must be a list of tables, as in [[{_LIST}]]")
    return Accepted(file, tuple(_entry(file, *one) for one in enumerate(tables, 1)))


def _entry(file: Path, number: int, table: Mapping[str, Any]) -> Entry:
    named = table.get("benchmark")
    place = f"{file}: entry {number}{f' ({_short(named)})' if isinstance(named, str) else ''}"
    for key in table:
        if key not in _READERS:
            raise UsageError(f"{place}: {unknown_name('key', _short(key), _READERS)}")
    of_time = "more_bytes" not in table or not table.keys().isdisjoint(_OF_TIME)
    values: dict[str, Any] = {} if of_time else dict.fromkeys(_OF_TIME, 1.0)
    for key, (read_value, form) in _READERS.items():
        if key not in table:
            if key in _OPTIONAL or key in values:
                continue
            raise UsageError(f"{place} has no key {key}; add it, or remove the entry and accept again")
        values[key] = read_value(table[key])
        if values[key] is None:
            raise UsageError(f"{place}: {key} = {settings.shown(table[key])} must be {form}")
    found = Entry(**values, number=number)
    if not found.low <= found.ratio <= found.high:
        raise UsageError(f"{place}: ratio must lie between low and high; remove the entry and accept again")
    return found


def write(old: Accepted, new: Sequence[Entry], replaced: Collection[int] = ()) -> None:
    """Add entries to a file, and remove those that they replace; all else in it stays, comments too.

    The file is written whole or not at all.

    Args:
        old: the file as it was read.
        new: entries to add at its end.
        replaced: numbers of entries to remove.

    Raises:
        UsageError: the file cannot be written.
    """
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

    table = tomlkit.table()
    table["benchmark"] = one.benchmark
    for key in _OF_TIME if one.slows else ():
        table[key] = round(getattr(one, key), _DIGITS)
    if one.more_bytes:
        table["more_bytes"] = one.more_bytes
    for key in ("base", "head", "author", "date", "reason"):
        table[key] = getattr(one, key)
    if one.until:
        table["until"] = one.until
    if one.patches:
        table["patches"] = list(one.patches)
    tables = tomlkit.aot()
    tables.append(table)
    return tomlkit.dumps({_LIST: tables}).strip("\n")


def _short(name: str) -> str:
    """Shorten a name for a message."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."


def _text(given: Any) -> str | None:
    return given.strip() or None if isinstance(given, str) else None


def _line(given: Any) -> str | None:
    return " ".join(given.split()) or None if isinstance(given, str) else None


def _ratio(given: Any) -> float | None:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    return float(given) if is_number and 1 / _LARGEST < given < _LARGEST else None


def _bytes(given: Any) -> int | None:
    return given if isinstance(given, int) and not isinstance(given, bool) and given > 0 else None


def _hash(given: Any) -> str | None:
    return given if isinstance(given, str) and git.HASH.fullmatch(given) else None


def _day(given: Any) -> dt.date | None:
    return given if isinstance(given, dt.date) and not isinstance(given, dt.datetime) else None


def _patches(given: Any) -> tuple[str, ...] | None:
    is_list = isinstance(given, list) and all(isinstance(one, str) and _PATCH.fullmatch(one) for one in given)
    return tuple(given) if is_list else None


_LARGEST = 1e6
_PATCH = re.compile(r"[0-9a-f]{40,64}", re.ASCII)
_NUMBER = "a ratio of times, as in 1.12"
_COMMIT = "the hash of a commit, of at least 7 characters"
_WHEN = "a day without quotation marks, as in 2027-01-31"
_READERS: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "benchmark": (_text, "the id of a test"),
    "ratio": (_ratio, _NUMBER),
    "low": (_ratio, _NUMBER),
    "high": (_ratio, _NUMBER),
    "more_bytes": (_bytes, "a number of bytes, as in 1048576"),
    "base": (_hash, _COMMIT),
    "head": (_hash, _COMMIT),
    "author": (_line, 'who accepted it, as in "Ada <ada@example.org>"'),
    "date": (_day, _WHEN),
    "reason": (_line, "why the slowdown is intended"),
    "until": (_day, _WHEN),
    "patches": (_patches, "a list of patch ids, as git patch-id prints them"),
}
"""By key: the function that reads a value, and what the value must be. The function returns None for what it
cannot read."""
_OPTIONAL = ("until", "patches", "more_bytes")
_OF_TIME = ("ratio", "low", "high")
"""All or none; an entry without them has `more_bytes`."""
