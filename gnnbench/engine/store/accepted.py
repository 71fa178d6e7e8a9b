"""Reads and writes `baselines/accepted.toml`, the list of accepted changes of time, memory and outputs."""

import json
import tomllib
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

from ..ground import codec, git
from ..ground.errors import UsageError
from ..ground.files import above, one_writer, save
from ..ground.settings import check_keys, read_toml
from ..judge.accepted import FILE, Accepted, Entry

_LIST = "accepted"
"""The key of the list of entries."""
_HEADER = """\
# Accepted changes, written by gnnbench accept (docs/accept.md). To withdraw one, remove its entry.

"""
_DIGITS = 4
"""Digits after the point of a saved ratio."""


def find(start: Path) -> Accepted:
    """Read the file in `start` or the nearest folder above it. If there is none, no change is accepted."""
    for folder in above(start):
        if (folder / FILE).is_file():
            return read(folder / FILE)
    return Accepted(start.resolve() / FILE)


def read(file: Path) -> Accepted:
    content = read_toml(file)
    check_keys(f"{file}", content, [_LIST])
    try:
        entries = codec.decode(content.get(_LIST, []), list[Entry])
    except ValueError as error:
        reason = f"{_LIST}{str(error).removeprefix('$')}"
        raise UsageError(f"{file}: {reason}; correct it, or remove the entry and accept again") from None
    return Accepted(file, tuple(replace(entry, number=number) for number, entry in enumerate(entries, 1)))


@cache
def entries_at(file: Path, commit: str) -> Sequence[Entry] | None:
    """Return the entries that a file has in a commit. Returns None if git does not have the commit."""
    if git.full_hash(file.parents[1], commit) is None:
        return None
    try:
        content = tomllib.loads(git.content(file.parents[1], commit, FILE))
        return codec.decode(content.get(_LIST, []), list[Entry])
    except ValueError:  # written by another version of gnnbench
        return ()


def write(old: Accepted, new: Sequence[Entry]) -> None:
    """Append entries to the file of `old`. The text that the file already has is kept as it is."""
    with one_writer(old.file.parent):
        text = old.file.read_text("utf-8") if old.file.exists() else _HEADER
        for entry in new:
            text = f"{text.rstrip()}\n\n[[{_LIST}]]\n"
            for field in fields(Entry):
                if field.compare and (value := getattr(entry, field.name)) != field.default:
                    value = round(value, _DIGITS) if isinstance(value, float) else value
                    text += f"{field.name} = {json.dumps(value, ensure_ascii=False)}\n"  # valid TOML too
        try:
            tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            raise UsageError(f"{old.file}: write each entry as a table [[{_LIST}]], not as a list") from None
        save(old.file, text.lstrip())
