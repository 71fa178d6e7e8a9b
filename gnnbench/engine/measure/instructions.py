"""Counts the instructions of warm calls until two agree, by the callgrind around this process.

A request to valgrind is a sequence of instructions that does nothing on a processor. Valgrind recognises it,
and takes the address of six words from a register: the request, and its arguments; see `valgrind.h` and
`callgrind.h`. Here a request is a function of C that executes few instructions, and needs no library that was
compiled for it.
"""

import ctypes
import mmap
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Self

from ..ground.codec import Count, NotNegative
from ..ground.cpu import RealTime
from ..ground.errors import UsageError
from .conditions import collector_paused, cpu_threads
from .seam import Pedantic

_FEWEST, _WARM_UP, _WARM_UP_SECONDS = 2, 20, 5.0
"""Calls before the first that counts, fewer of slow ones. Python 3.11 specialises functions after 8 calls."""
_MOST_CALLS = 8
_AGREE = 0.0005
"""Two calls agree if they differ by at most this fraction."""
_KEPT = 0.0005
"""Functions with a smaller fraction of the instructions are not kept."""

FOLDER_VARIABLE = "GNNBENCH_CALLGRIND"
"""Folder into which the callgrind around this process writes."""
_VARIABLES = {
    "PYTHONHASHSEED": "0",
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    # Valgrind computes each lane of a fused multiply-add by a function: MKL's products are 180 times as slow.
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
}
_HOW = "apt install valgrind, or dnf install valgrind"

_TOOL = ord("C") << 24 | ord("T") << 16
_DUMP, _ZERO, _TOGGLE, _START, _STOP = _TOOL, _TOOL + 1, _TOOL + 2, _TOOL + 4, _TOOL + 5
"""Write the counts to a file; forget them; begin to count, or cease; watch what is executed; cease to."""
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

_NAMED = re.compile(r"(c?)(ob|fn)=\((\d+)\)(?: (.*))?")
_COST = re.compile(r"[+*-]?\d* (\d+)")
_INNERMOST = re.compile(r"(?<!operator)(<[^<>()\[\]]*>|\([^<>()\[\]]*\)|\[[^<>()\[\]]*\])")
_WRAPPERS = ("c10::function_ref::callback_fn", "void", "operator()")
_KERNEL = re.compile(r"\b(\w+_kernel(?:_impl)?)\b")
"""Torch's loops over elements have a name of their own among the template arguments of what calls them."""


def command(folder: Path) -> list[str]:
    """Return the command under which a process counts its calls.

    Nothing is watched at first: that is five times faster than callgrind usually is.
    """
    return [
        *("valgrind", "--tool=callgrind", "--quiet", "--vgdb=no"),
        *("--instr-atstart=no", "--collect-atstart=no", "--dump-line=no"),
        *(f"--log-file={folder / 'valgrind.log'}", f"--callgrind-out-file={folder / 'out'}"),
    ]


def variables(folder: Path) -> dict[str, str]:
    """Return the variables of a process under callgrind, which writes into a folder."""
    return {**_VARIABLES, FOLDER_VARIABLE: str(folder)}


def counter_name() -> str:
    """Return callgrind with its version."""
    if not shutil.which("valgrind"):
        raise UsageError(f"valgrind counts instructions, and is not installed: {_HOW}")
    if os.uname().machine != ARCHITECTURE:
        raise UsageError(f"valgrind counts instructions on {ARCHITECTURE} only")
    version = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S607
    return version.strip().replace("valgrind-", "callgrind ")


class Callgrind:
    """Counts the instructions that this thread executes in a call."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.file = folder / "out"
        """What callgrind wrote about the last call: the instructions of each function."""
        self._cost = 0
        """What counting itself executes."""
        self._page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._page.write(bytes.fromhex(_MAKE))
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._page))
        make = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(address)
        self._dump, self._zero, self._toggle, self._start, self.close = (
            partial(make, (ctypes.c_uint64 * 6)(request))  # which is no Python function
            for request in (_DUMP, _ZERO, _TOGGLE, _START, _STOP)
        )

    def begin(self) -> None:
        """Let callgrind watch what is executed, until `close`: that takes five times as long."""
        # Callgrind numbers its files anew in each fork, and writes one when it ends.
        for file in _dumps(self._folder):
            file.unlink()
        self._start()
        self._cost = min(self.count(object) for _ in range(3))

    def count(self, call: Callable[[], object]) -> int:
        """Call once, and return how many instructions that takes."""
        self._zero()
        self._toggle()
        call()
        self._toggle()
        self._dump()
        self.file = _dumps(self._folder)[-1]
        return max(0, total(self.file) - self._cost)


def here() -> Callgrind | None:
    """Return the counter of this process, or None if it does not run under callgrind."""
    folder = os.environ.get(FOLDER_VARIABLE)
    return Callgrind(Path(folder)) if folder else None


def take(calls: Pedantic, counter: Callgrind) -> dict[str, Any]:
    """Call until two calls in a row agree, eight times at most; return what `Instructions.read` takes.

    This runs where Python is fifty times slower than usual, and leaves all else to the process that reads it.
    """
    with cpu_threads(1 if "torch" in sys.modules else None), collector_paused():
        begin = RealTime.seconds()
        for number in range(_WARM_UP):  # before callgrind watches: ten times as fast
            if number < _FEWEST or RealTime.seconds() - begin < _WARM_UP_SECONDS:
                calls.once()
        counter.begin()
        totals = [_counted(calls, counter) for _ in range(2)]
        while _spread(totals) > _AGREE and len(totals) < _MOST_CALLS:
            totals.append(_counted(calls, counter))
    return {"totals": totals, "file": str(counter.file)}


def _counted(calls: Pedantic, counter: Callgrind) -> int:
    """Count one call; set-up and tear-down are not part of it."""
    call = calls.inputs()
    count = counter.count(partial(call.function, *call.args, **call.kwargs))  # which is no Python function
    calls.tear_down(call)
    return count


@dataclass(frozen=True)
class Instructions:
    """What one warm call executes."""

    total: Count
    spread: NotNegative = 0.0
    """Difference between the last two calls, as a fraction."""
    functions: Mapping[str, Count] = field(default_factory=dict)
    """Instructions of each function itself, by `package:function`, without small ones."""

    @classmethod
    def read(cls, answer: Mapping[str, Any]) -> Self:
        """Read what `take` returned, and remove callgrind's files."""
        totals, file = answer["totals"], Path(answer["file"])
        counts = functions(file)
        for written in _dumps(file.parent):
            written.unlink()
        least = max(1, sum(counts.values())) * _KEPT
        large = {name: number for name, number in counts.items() if number >= least}
        return cls(totals[-1], _spread(totals), large)


def _spread(totals: Sequence[int]) -> float:
    last, before = totals[-1], totals[-2]
    return abs(last - before) / max(last, before, 1)


def _dumps(folder: Path) -> list[Path]:
    return sorted(folder.glob("out.*"), key=lambda file: int(file.suffix[1:]))


def functions(file: Path) -> Mapping[str, int]:
    """Return the instructions of each function itself, by `package:function`, in a file without lines."""
    counts: Counter[str] = Counter()
    names: dict[tuple[str, str], str] = {}
    current = {"ob": "", "fn": ""}
    lines = iter(file.read_text(encoding="utf-8", errors="replace").splitlines())
    for line in lines:
        if named := _NAMED.fullmatch(line):
            called, kind, number, name = named.groups()
            if name is not None:
                names[kind, number] = _package(name) if kind == "ob" else short_name(name)
            if not called:
                current[kind] = names[kind, number]
        elif line.startswith("calls="):
            next(lines)  # which has the instructions of what was called
        elif cost := _COST.fullmatch(line):
            counts[":".join(current.values())] += int(cost[1])
    return counts


def total(file: Path) -> int:
    """Return all instructions, which the last line of a file has."""
    return int(file.read_bytes().rpartition(b"totals: ")[2])


def _package(path: str) -> str:
    """Return the package to which a native library belongs, or else the library's name."""
    first, slash, _ = path.rpartition("/site-packages/")[2].partition("/")
    if slash and first:
        return first.removesuffix(".libs")
    return re.sub(r"[-.].*", "", path.rpartition("/")[2]) or "?"


@lru_cache(maxsize=1 << 16)
def short_name(name: str) -> str:
    """Return the name of a C++ function without template arguments, parameters and anonymous namespaces."""
    if name.startswith("0x"):
        return "(no name)"
    text = name = re.sub(r"\(anonymous namespace\)::|'\d+$", "", name)
    while (outer := _INNERMOST.sub("", text)) != text:
        text = outer
    text = text.replace(" const", "").strip().rpartition(" ")[2] or name
    kernel = _KERNEL.search(name) if text in _WRAPPERS else None
    return f"{text} of {kernel[1]}" if kernel else text
