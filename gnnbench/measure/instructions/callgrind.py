"""Counts the instructions of a call by the callgrind under which this process runs."""

import os
import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from .counter import ByFrame, Call, Events, Taken
from .requests import DUMP, START, STOP, TOGGLE, ZERO, Requests

_OUT = "out"
_TOTAL = b"totals: "
_TAIL_BYTES = 64
_NAMED = re.compile(r"(c?)(ob|fn)=\((\d+)\)(?: (.*))?")
_COST = re.compile(r"[+*-]?\d* (\d+)")
_OPERATOR = re.compile(r"operator ?(\(\)|\[\]|->\*?|<=>|<<=?|>>=?|<=?|>=?)")
_WRAPPERS = ("c10::function_ref::callback_fn", "void", "operator()")
_KERNEL = re.compile(r"\b(\w+_kernel(?:_impl)?)\b")
"""Torch's loops over elements have a name of their own among the template arguments of what calls them."""
_MOST_LETTERS = 120


def command(folder: Path) -> list[str]:
    """Return the command under which a process counts its calls.

    Nothing is watched at first: that is five times faster than callgrind usually is.
    """
    return [
        *("valgrind", "--tool=callgrind", "--quiet", "--vgdb=no"),
        *("--instr-atstart=no", "--collect-atstart=no", "--dump-line=no"),
        *(f"--log-file={folder / 'valgrind.log'}", f"--callgrind-out-file={folder / _OUT}"),
    ]


class Callgrind:
    """See `InstructionCounter`.

    Args:
        folder: where `command` let callgrind write.
    """

    name = "callgrind"
    emulates = True

    def __init__(self, folder: Path) -> None:
        self._folder, self._requests = folder, Requests()
        self._cost = 0

    def begin(self) -> None:
        """Let callgrind watch what is executed from now on, and measure what counting itself executes."""
        for (
            file
        ) in self._dumps():  # callgrind numbers its files anew in each fork, and writes one when it ends
            file.unlink()
        self._requests.prepared(START)()
        self._cost = 0
        self._cost = min(self.count(object).total for _ in range(3))

    def count(self, call: Call) -> Taken:
        """Call once and count."""
        zero, toggle, dump = map(self._requests.prepared, (ZERO, TOGGLE, DUMP))
        zero()
        toggle()
        call()
        toggle()
        dump()
        file = self._dumps()[-1]
        return Taken(max(0, total(file) - self._cost), str(file))

    def by_frame(self, call: Call, events: Events) -> ByFrame:
        """Let callgrind write a file at each call and return of a Python function."""
        zero, toggle = map(self._requests.prepared, (ZERO, TOGGLE))
        begin, end = self._requests.at_frames(events.deepest)
        before = len(self._dumps())
        zero()
        begin()
        toggle()
        call()
        toggle()
        end()
        return ByFrame(events.names, (), tuple(map(str, self._dumps()[before:])))

    def close(self) -> None:
        """Let callgrind watch no longer: what follows runs five times as fast."""
        self._requests.prepared(STOP)()

    def _dumps(self) -> list[Path]:
        """Return the files that callgrind wrote, in order."""
        return sorted(self._folder.glob(f"{_OUT}.*"), key=lambda file: int(file.suffix[1:]))


def functions(file: Path) -> Mapping[str, int]:
    """Return the instructions of each function itself, by `package:function`, in a file without lines."""
    text = file.read_text(encoding="utf-8", errors="replace")
    found: Counter[str] = Counter()
    names: dict[tuple[str, str], str] = {}
    package = function = ""
    skip = False
    for line in text.splitlines():
        if named := _NAMED.fullmatch(line):
            called, kind, number, name = named.groups()
            if name is not None:
                names[kind, number] = _package(name) if kind == "ob" else short_name(name)
            if called:
                continue
            if kind == "ob":
                package = names[kind, number]
            else:
                function = names[kind, number]
        elif line.startswith("calls="):
            skip = True  # the next line has the instructions of what was called
        elif cost := _COST.fullmatch(line):
            if not skip:
                found[f"{package}:{function}"] += int(cost[1])
            skip = False
    return found


def total(file: Path) -> int:
    """Return the last line of a file: all instructions. Reads no more of it, for Python is slow here."""
    with file.open("rb") as opened:
        opened.seek(max(0, opened.seek(0, os.SEEK_END) - _TAIL_BYTES))
        return int(opened.read().rpartition(_TOTAL)[2])


def _package(path: str) -> str:
    """Return the package to which a native library belongs, or else the library's name."""
    inside = path.rpartition("/site-packages/")[2] if "/site-packages/" in path else ""
    first, slash, _ = inside.partition("/")
    if slash:
        return first.removesuffix(".libs")
    return re.sub(r"[-.].*", "", path.rpartition("/")[2]) or "?"


@lru_cache(maxsize=1 << 16)
def short_name(name: str) -> str:
    """Return the name of a C++ function without template arguments, parameters and anonymous namespaces."""
    if name.startswith("0x"):
        return "(no name)"
    name = re.sub(r"\(anonymous namespace\)::|'\d+$", "", name)
    kept, depth, position = [], 0, 0
    for operator in (*_OPERATOR.finditer(name), None):
        end = operator.start() if operator else len(name)
        for letter in name[position:end]:
            depth += letter in "<(["
            if not depth:
                kept.append(letter)
            depth -= letter in ">)]"
        if operator:
            position = operator.end()
            if not depth:
                kept.append(operator[0])
    text = "".join(kept).replace(" const", "").strip().rpartition(" ")[2] or name
    if text in _WRAPPERS and (kernel := _KERNEL.search(name)):
        text = f"{text} of {kernel[1]}"
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"
