"""Names from files of unknown origin: made safe to show, and shortened to what differs."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import astuple, replace

from ..compare.verdict import Judgement
from ..workloads.spec import DIRECTIONS, Spec
from .table import SHORT_DIRECTION, shared_place

_LONGEST = 300
"""Most characters of a text."""
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


def cleaned(judgement: Judgement) -> Judgement:
    """Return a judgement with a clean reason, which may quote names and values from files."""
    return replace(judgement, reason=clean(judgement.reason))


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
    _, _, platform, dtype, index_dtype, dataset, hidden, device = map(str, astuple(spec))
    return platform, dataset, f"hidden {hidden}", dtype, index_dtype, device
