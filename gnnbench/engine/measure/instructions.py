"""Counts the instructions of warm calls until two counts agree, in a process under valgrind's callgrind.

A request to valgrind is a sequence of instructions that has no effect on a processor. Valgrind recognises the
sequence, and reads the address of six words from a register: the request and its arguments; see `valgrind.h`
and `callgrind.h`. Here a C function of a few bytes of machine code makes the request, so that no library has
to be compiled.
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
from .benchmark_fixture import Pedantic
from .conditions import collector_paused, cpu_threads

_FEWEST, _WARM_UP, _WARM_UP_SECONDS = 2, 20, 5.0
"""Fewest and most warm-up calls, and their time limit. Python 3.11 specialises functions after 8 calls."""
_MOST_CALLS = 8
_AGREE = 0.0005
"""Two calls agree if they differ by at most this fraction."""
_KEPT = 0.0005
"""Functions with a smaller fraction of the instructions are left out."""

FOLDER_VARIABLE = "GNNBENCH_CALLGRIND"
"""Environment variable of a process under callgrind: the folder into which callgrind writes."""
_VARIABLES = {
    "PYTHONHASHSEED": "0",
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    # Valgrind emulates each lane of a fused multiply-add by a call: MKL's products are 180 times as slow.
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
}
_HOW = "apt install valgrind, or dnf install valgrind"

_TOOL = ord("C") << 24 | ord("T") << 16
_DUMP, _ZERO, _TOGGLE, _START, _STOP = _TOOL, _TOOL + 1, _TOOL + 2, _TOOL + 4, _TOOL + 5
"""Requests: write the counts to a file, reset them, toggle counting, start and stop instrumentation."""
_MAKE = (
    "48 89 f8"  # mov rax, rdi       the address of the words
    "31 d2"  # xor edx, edx          the answer outside of valgrind
    "48 c1 c7 03 48 c1 c7 0d"  # rol rdi, 3; rol rdi, 13
    "48 c1 c7 3d 48 c1 c7 33"  # rol rdi, 61; rol rdi, 51: 128 bits together, so rdi stays as it is
    "48 87 db"  # xchg rbx, rbx      valgrind reads rax, and answers in rdx
    "48 89 d0"  # mov rax, rdx
    "c3"  # ret
)
"""Machine code of a C function that makes the request that its argument points to, and returns the answer."""
ARCHITECTURE = "x86_64"

_NAMED = re.compile(r"(c?)(ob|fn)=\((\d+)\)(?: (.*))?")
_COST = re.compile(r"[+*-]?\d* (\d+)")
_INNERMOST = re.compile(r"(?<!operator)(<[^<>()\[\]]*>|\([^<>()\[\]]*\)|\[[^<>()\[\]]*\])")
_WRAPPERS = ("c10::function_ref::callback_fn", "void", "operator()")
_KERNEL = re.compile(r"\b(\w+_kernel(?:_impl)?)\b")
"""Torch's loops over elements are named only in the template arguments of their callers."""


def command(folder: Path) -> list[str]:
    """Return the command under which a process counts its calls.

    Instrumentation is off at first, which is five times as fast.
    """
    return [
        *("valgrind", "--tool=callgrind", "--quiet", "--vgdb=no"),
        *("--instr-atstart=no", "--collect-atstart=no", "--dump-line=no"),
        *(f"--log-file={folder / 'valgrind.log'}", f"--callgrind-out-file={folder / 'out'}"),
    ]


def variables(folder: Path) -> dict[str, str]:
    """Return the environment variables of a process whose callgrind writes into `folder`."""
    return {**_VARIABLES, FOLDER_VARIABLE: str(folder)}


def counter_name() -> str:
    """Return `callgrind` with its version. Raises UsageError if valgrind cannot count instructions here."""
    if not shutil.which("valgrind"):
        raise UsageError(f"counting instructions needs valgrind, which is not installed: {_HOW}")
    if os.uname().machine != ARCHITECTURE:
        raise UsageError(f"counting instructions needs a processor of the architecture {ARCHITECTURE}")
    version = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S607
    return version.strip().replace("valgrind-", "callgrind ")


class Callgrind:
    """Counts the instructions that this thread executes in a call."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.file = folder / "out"
        """The file that callgrind wrote for the last call: the instructions of each function."""
        self._cost = 0
        """Instructions of the counting itself."""
        self._page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._page.write(bytes.fromhex(_MAKE))
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._page))
        make = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(address)
        self._dump, self._zero, self._toggle, self._start, self.close = (
            partial(make, (ctypes.c_uint64 * 6)(request))  # adds no Python frame
            for request in (_DUMP, _ZERO, _TOGGLE, _START, _STOP)
        )

    def begin(self) -> None:
        """Start callgrind's instrumentation: until `close`, execution takes five times as long."""
        # Callgrind numbers its files anew in each fork, and writes one when the fork ends.
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
    """Call up to eight times, until two calls in a row agree; return the input of `Instructions.read`.

    Python is fifty times as slow here, so the process that reads the result does everything else.
    """
    with cpu_threads(1 if "torch" in sys.modules else None), collector_paused():
        begin = RealTime.seconds()
        for number in range(_WARM_UP):  # before instrumentation starts: ten times as fast
            if number < _FEWEST or RealTime.seconds() - begin < _WARM_UP_SECONDS:
                calls.once()
        counter.begin()
        totals = [_counted(calls, counter) for _ in range(2)]
        while _spread(totals) > _AGREE and len(totals) < _MOST_CALLS:
            totals.append(_counted(calls, counter))
    return {"totals": totals, "file": str(counter.file)}


def _counted(calls: Pedantic, counter: Callgrind) -> int:
    """Return the instructions of one call, without its set-up and tear-down."""
    call = calls.next_call()
    count = counter.count(partial(call.function, *call.args, **call.kwargs))  # adds no Python frame
    calls.tear_down(call)
    return count


@dataclass(frozen=True)
class Instructions:
    """The instructions that one warm call executes."""

    total: Count
    spread: NotNegative = 0.0
    """Difference between the last two calls, as a fraction."""
    functions: Mapping[str, Count] = field(default_factory=dict)
    """Each function's own instructions, by `package:function`; small numbers are left out."""

    @classmethod
    def read(cls, answer: Mapping[str, Any]) -> Self:
        """Read what `take` returned, and remove callgrind's files."""
        totals, file = answer["totals"], Path(answer["file"])
        counts = functions(file)
        for dump in _dumps(file.parent):
            dump.unlink()
        threshold = max(1, sum(counts.values())) * _KEPT
        large = {name: number for name, number in counts.items() if number >= threshold}
        return cls(totals[-1], _spread(totals), large)


def _spread(totals: Sequence[int]) -> float:
    last, before = totals[-1], totals[-2]
    return abs(last - before) / max(last, before, 1)


def _dumps(folder: Path) -> list[Path]:
    return sorted(folder.glob("out.*"), key=lambda file: int(file.suffix[1:]))


def functions(file: Path) -> Mapping[str, int]:
    """Return each function's own instructions, by `package:function`; the file has no line numbers."""
    counts: Counter[str] = Counter()
    names: dict[tuple[str, str], str] = {}
    current = {"ob": "", "fn": ""}
    lines = iter(file.read_text(encoding="utf-8", errors="replace").splitlines())
    for line in lines:
        if match := _NAMED.fullmatch(line):
            callee, kind, number, name = match.groups()
            if name is not None:
                names[kind, number] = _package(name) if kind == "ob" else short_name(name)
            if not callee:
                current[kind] = names[kind, number]
        elif line.startswith("calls="):
            next(lines)  # the next line has the callee's instructions
        elif cost := _COST.fullmatch(line):
            counts[":".join(current.values())] += int(cost[1])
    return counts


def total(file: Path) -> int:
    """Return the total number of instructions, from the last line of a file."""
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
