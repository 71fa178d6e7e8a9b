"""The kind `instructions`: functions of C, C++ and Python by the instructions that they execute.

Callgrind counts them. It must run from the start of the process, which `gnnbench profile` sees to.
"""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ..ground import units
from ..measure.instructions import counting
from ..measure.instructions.callgrind import Callgrind
from ..measure.instructions.counting import Instructions, named
from . import text
from .kinds import Subject

_SHOWN = 25
_COLUMNS = {"Frac.": 6, "Instructions": 14}
_FUNCTION = 58
_LEAST_PLACE = 8
"""A package or module is left out if it has less room."""


def take(subject: Subject, folder: Path) -> dict[str, Any]:  # noqa: ARG001
    """Count in warm calls until two agree, then by Python function.

    Returns:
        The fields of `Instructions`; `counter`: what counted them, with its version; `capability`: the
        vector extensions of the processor that libraries used.
    """
    # Callgrind ceases to watch at once: where it does, reading its files takes minutes.
    with closing(_counter()) as counter:
        answer = counting.take(subject.asked, counter)
    counted = Instructions.read(answer)
    with closing(_counter()) as counter:
        frames = counting.take_by_frame(subject.asked, counter)
    return {
        "counted": asdict(replace(counted, frames=counting.read_frames(frames))),
        "counter": counting.counter_name(),
        "capability": answer["capability"],
    }


def _counter() -> Callgrind:
    counter = counting.here()
    assert counter, "gnnbench profile starts this process under callgrind"
    return counter


def table(section: Mapping[str, Any]) -> str:
    """Return the functions of C and C++ and those of Python as two tables, 25 each."""
    found = Instructions(**section["counted"])
    native = _rows("Functions of C and C++, without what they call", found.functions, found.total)
    if found.frames is None:
        python = ["Python functions: each call runs others, so they were not counted."]
    else:
        whole = sum(found.frames.values())
        python = _rows("Python functions, with what they call in C and C++", found.frames, whole)
    agree = "two calls agree" if found.is_steady else f"calls differ by {units.fraction(found.spread)}"
    note = (
        f"One warm call with one thread: {found.total:,} instructions, {agree}; counted by "
        f"{section['counter']} ({section['capability']}). Instructions are not time: docs/instructions.md."
    )
    if found.frames:
        more = sum(found.frames.values()) / found.total - 1
        note += f" Where Python reported its calls, to divide them among functions: {more:+.0%}."
    if found.varying:
        note += f" What differs: {', '.join(map(named, found.varying))}."
    return text.page([*native, "", *python, ""], note)


def _rows(title: str, numbers: Mapping[str, int], whole: int) -> list[str]:
    shown = dict(list(numbers.items())[:_SHOWN])
    rest = whole - sum(shown.values())
    if rest > 0:  # what counting itself executes is not part of the whole
        shown["(all others)"] = rest
    return text.table(
        {title: -_FUNCTION, **_COLUMNS},
        [(_shortened(name), units.fraction(number / whole), f"{number:,}") for name, number in shown.items()],
    )


def _shortened(name: str) -> str:
    """Return the function with its package or module, whose beginning is left out if there is no room."""
    place, _, function = name.partition(":")
    room = _FUNCTION - len(function) - len(" ()")
    if not function or room < _LEAST_PLACE:
        return function or name
    return f"{function} ({text.cut_start(place, room)})"
