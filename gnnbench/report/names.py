"""Names from files of unknown origin: made safe to show, and shortened to what differs."""

import re
import unicodedata
from collections.abc import Sequence

from ..workloads.spec import DIRECTIONS, Spec
from .table import SHORT_DIRECTION, inputs, shared_place

_LONGEST = 300
"""Most characters of a name."""
LONGEST = 2000
"""Most characters of a text or command in a page or comment."""
_MOST_LINES = 3
"""Most lines of a wrapped name."""
_PART = re.compile(r"[^/:_,.\-\[]*[/:_,.\-\[]*")
"""A part of a long word, which may end a line."""
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode categories that control a terminal or the direction of text, or are no characters."""
_ID = re.compile(
    rf"\[([\w.]+)-({'|'.join(DIRECTIONS)})-(\w+)-(\w+)-(int\d+)-([^\[\]]+)-(\d{{1,9}})-(cpu|cuda)\]$",
    re.ASCII,
)


def clean(value: object, longest: int = _LONGEST) -> str:
    """Return a text of at most `longest` characters, with invisible characters replaced."""
    text = str(value)
    if len(text) > longest:
        text = f"{text[: longest - 1]}…"
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        " " if one in "\n\t" else "\ufffd" if unicodedata.category(one) in _HIDDEN else one for one in text
    )


def in_lines(text: str, letters: int) -> list[str]:
    """Return a name in lines: broken at spaces, within a long word at punctuation.

    A name that is too long keeps its beginning and its end.

    Args:
        text: the name.
        letters: most letters of a line.
    """
    lines = [""]
    for word in text.split():
        parts = [word] if len(word) <= letters else _PART.findall(word)
        parts = [part[start : start + letters] for part in parts for start in range(0, len(part), letters)]
        for number, part in enumerate(parts):
            space = " " if lines[-1] and not number else ""
            if lines[-1] and len(lines[-1] + space + part) > letters:
                lines.append(part)
            else:
                lines[-1] += space + part
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"…{text[1 - letters :]}"]
    return [line.removesuffix(" ·") for line in lines]


def spec_of(fullname: str) -> Spec | None:
    """Return the spec in a test id of gnnbench's suite; None: another test id."""
    found = _ID.search(fullname)
    if not found:
        return None
    operation, direction, platform, dtype, index_dtype, dataset, hidden, device = found.groups()
    return Spec(operation, direction, platform, dtype, index_dtype, dataset, int(hidden), device)


def titles(names: Sequence[str], specs: Sequence[Spec | None]) -> tuple[list[tuple[str, str]], str]:
    """Return title and context of each benchmark, and what all have in common.

    Args:
        names: fullnames of the benchmarks.
        specs: their specs; None: a benchmark has none.
    """
    known = [spec for spec in specs if spec]
    place = shared_place([name for name, spec in zip(names, specs, strict=True) if not spec])
    varying = [len(set(values)) > 1 for values in zip(*map(_context, known), strict=True)]
    found = []
    for name, spec in zip(names, specs, strict=True):
        if spec is None:
            found.append((clean(name.removeprefix(place)), ""))
            continue
        context = [value for value, differs in zip(_context(spec), varying, strict=True) if differs]
        found.append(
            (clean(f"{spec.operation} {SHORT_DIRECTION[spec.direction]}"), clean(" · ".join(context)))
        )
    shared = (
        [value for value, differs in zip(_context(known[0]), varying, strict=True) if not differs]
        if known
        else []
    )
    return found, clean(" · ".join([*shared, *([place.rstrip(":/")] if place else [])]))


def _context(spec: Spec) -> tuple[str, ...]:
    return spec.platform, *inputs(spec)
