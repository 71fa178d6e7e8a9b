"""Parses one side of a comparison as the user types it: `git:main env:OMP_NUM_THREADS=1`."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TypeVar

from ...ground.errors import UsageError, unknown_name
from ...interfaces import VariantPart
from .commit import Commit
from .folder import Folder
from .requirement import Requirement
from .variable import Variable

KINDS: Mapping[str, type[VariantPart]] = {kind.kind: kind for kind in (Folder, Commit, Requirement, Variable)}
"""The kinds of parts, in the order in which they are prepared."""
WORKING_TREE = "."

_FORM = "give git:REF, git:DIR@REF, path:DIR, pip:REQUIREMENT, env:NAME=VALUE or ."
_Part = TypeVar("_Part", bound=VariantPart)


@dataclass(frozen=True)
class Variant:
    """The code and settings of one side; without a part that is a tree, the working tree's code."""

    text: str
    """As the user typed it."""
    parts: tuple[VariantPart, ...] = ()

    def of(self, kind: type[_Part]) -> list[_Part]:
        """Return its parts of a kind."""
        return [part for part in self.parts if isinstance(part, kind)]

    def check(self, root: Path) -> None:
        """Check that its commits and folders exist; nothing is checked out or installed."""
        for part in self.parts:
            part.check(root)


def parse(text: str) -> Variant:
    """Read a variant: parts separated by spaces, quoted as in a shell."""
    typed = words(text)
    if not typed:
        raise UsageError(f"variant {text!r} is empty: {_FORM}")
    parts = [_part(word) for word in typed if word != WORKING_TREE]
    replaced = [(PurePath(), word) for word in typed if word == WORKING_TREE]
    replaced += [(part.replaces, str(part)) for part in parts if part.replaces is not None]
    for folder, _ in replaced:
        sources = [word for place, word in replaced if place == folder]
        if len(sources) > 1:
            raise UsageError(
                f"variant {text!r} has {len(sources)} sources of code for one folder,"
                f" {' and '.join(map(repr, sources))}: give one"
            )
    return Variant(text, tuple(parts))


def words(text: str) -> list[str]:
    """Return the parts of a variant."""
    if "\0" in text:
        raise UsageError(f"variant {text!r} contains a null character: remove it")
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"variant {text!r} is incomplete: {str(error).lower()}") from None


def _part(word: str) -> VariantPart:
    kind, colon, value = word.partition(":")
    if not colon:
        likely = "pip" if re.search(r"[=<>~!]=|[<>]", word) else "env" if "=" in word else "git"
        also = f" or {f'path:{word}'!r}" if likely == "git" else ""
        raise UsageError(f"{word!r} is not part of a variant: did you mean {f'{likely}:{word}'!r}{also}?")
    if kind not in KINDS:
        # Escaped, so that the message stays on one line.
        raise unknown_name("part of a variant", ascii(kind)[1:-1], KINDS)
    value = value.strip() if kind != "env" else value
    if not value:
        raise UsageError(f"{word!r} has no value: give {kind}:{KINDS[kind].form}")
    return KINDS[kind].read(value)
