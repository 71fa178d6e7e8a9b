"""Counts the instructions of a call by the callgrind under which this process runs, by requests to it."""

import ctypes
import mmap
import os
import platform
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

_TOOL = ord("C") << 24 | ord("T") << 16
DUMP, ZERO, TOGGLE, START, STOP = _TOOL, _TOOL + 1, _TOOL + 2, _TOOL + 4, _TOOL + 5
"""Write the counts to a file; forget them; begin to count, or cease; watch what is executed; cease to."""
_WORDS = 6

_MAKE = (
    "48 89 f8"  # mov rax, rdi       the address of the words
    "31 d2"  # xor edx, edx          the answer, if this is no valgrind
    "48 c1 c7 03 48 c1 c7 0d"  # rol rdi, 3; rol rdi, 13
    "48 c1 c7 3d 48 c1 c7 33"  # rol rdi, 61; rol rdi, 51: 128 bits together, so rdi stays as it is
    "48 87 db"  # xchg rbx, rbx      valgrind reads rax, and answers in rdx
    "48 89 d0"  # mov rax, rdx
    "c3"  # ret
)
"""A function of C: makes the request whose words its argument points to, and returns the answer."""
ARCHITECTURE = "x86_64"
_OUT = "out"
_TOTAL = b"totals: "
_TAIL_BYTES = 64
_NAMED = re.compile(r"(c?)(ob|fn)=\((\d+)\)(?: (.*))?")
_COST = re.compile(r"[+*-]?\d* (\d+)")
_OPERATOR = re.compile(r"operator ?(\(\)|\[\]|->\*?|<=>|<<=?|>>=?|<=?|>=?)")
_HIDDEN = str.maketrans("<>()[]", "\0\1\2\3\4\5")
"""Of an operator's name, so that it is not taken for the brackets of arguments."""
_SHOWN = {hidden: shown for shown, hidden in _HIDDEN.items()}
_INNERMOST = re.compile(r"<[^<>()\[\]]*>|\([^<>()\[\]]*\)|\[[^<>()\[\]]*\]")
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


class Taken(NamedTuple):
    """Instructions of one call."""

    total: int
    file: str
    """Where callgrind wrote those of each function."""


class Callgrind:
    """Counts the instructions that this thread executes in a call.

    A request to valgrind is a sequence of instructions that does nothing on a processor. Valgrind recognises
    it, and takes the address of six words from a register: the request, and its arguments. See `valgrind.h`
    and `callgrind.h`. A request is a function of C that executes few instructions, and needs no library that
    was compiled for it.
    """

    def __init__(self, folder: Path) -> None:
        assert platform.machine() == ARCHITECTURE
        self._folder = folder
        self._cost = 0
        self._words = {name: (ctypes.c_uint64 * _WORDS)(name) for name in (DUMP, ZERO, TOGGLE, START, STOP)}
        self._page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._page.write(bytes.fromhex(_MAKE))
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._page))
        self._make = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(address)

    def _prepared(self, request: int) -> Callable[[], int]:
        """Return a function that makes a request; it is no Python function."""
        return partial(self._make, ctypes.addressof(self._words[request]))

    def begin(self) -> None:
        """Let callgrind watch what is executed from now on, and measure what counting itself executes."""
        # Callgrind numbers its files anew in each fork, and writes one when it ends.
        for file in self._dumps():
            file.unlink()
        self._prepared(START)()
        self._cost = 0
        self._cost = min(self.count(object).total for _ in range(3))

    def count(self, call: Callable[[], object]) -> Taken:
        """Call once and count."""
        zero, toggle, dump = map(self._prepared, (ZERO, TOGGLE, DUMP))
        zero()
        toggle()
        call()
        toggle()
        dump()
        file = self._dumps()[-1]
        return Taken(max(0, total(file) - self._cost), str(file))

    def close(self) -> None:
        """Let callgrind watch no longer: what follows runs five times as fast."""
        self._prepared(STOP)()

    def _dumps(self) -> list[Path]:
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
    kept = _OPERATOR.sub(lambda operator: operator[0].translate(_HIDDEN), name)
    while (outer := _INNERMOST.sub("", kept)) != kept:
        kept = outer
    text = kept.replace(" const", "").strip().rpartition(" ")[2].translate(_SHOWN) or name
    if text in _WRAPPERS and (kernel := _KERNEL.search(name)):
        text = f"{text} of {kernel[1]}"
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"
