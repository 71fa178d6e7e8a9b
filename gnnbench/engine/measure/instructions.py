"""Counts the instructions of warm calls until two counts agree, in a process under valgrind's callgrind.

A process makes a request to valgrind by a sequence of instructions that otherwise have no effect. Valgrind
recognises the sequence, and reads from a register the address of six words: the request and its arguments
(`valgrind.h`, `callgrind.h`). This module has the sequence as machine code: nothing has to be compiled.
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
"""Fewest and most warm-up calls, and their time limit. Python specialises code after 8 calls."""
_MOST_CALLS = 8
_AGREE = 0.0005
"""Two counts agree if they differ by at most this fraction."""
_LEAST_SHARE = 0.0005
"""Functions with a smaller share of the instructions are left out."""

_FOLDER_VARIABLE = "GNNBENCH_CALLGRIND"
"""Environment variable of a process under callgrind, with the folder into which callgrind writes."""
_VARIABLES = {
    "PYTHONHASHSEED": "0",
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    # Valgrind emulates fused multiply-adds lane by lane, so MKL's matrix products would be 180 times as slow.
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
}
_INSTALL = "apt install valgrind, or dnf install valgrind"

_TOOL = ord("C") << 24 | ord("T") << 16
_DUMP, _ZERO, _TOGGLE, _START, _STOP = _TOOL, _TOOL + 1, _TOOL + 2, _TOOL + 4, _TOOL + 5
"""Requests: write counts to a file, reset counts, toggle counting, start and stop instrumentation."""
_REQUEST = (
    "48 89 f8"  # mov rax, rdi       the address of the words
    "31 d2"  # xor edx, edx          the answer outside of valgrind
    "48 c1 c7 03 48 c1 c7 0d"  # rol rdi, 3; rol rdi, 13
    "48 c1 c7 3d 48 c1 c7 33"  # rol rdi, 61; rol rdi, 51: 128 bits together, so rdi stays as it is
    "48 87 db"  # xchg rbx, rbx      valgrind reads rax, and answers in rdx
    "48 89 d0"  # mov rax, rdx
    "c3"  # ret
)
"""Machine code of a C function that makes the request at a given address, and returns the answer."""
ARCHITECTURE = "x86_64"

_NAMED = re.compile(r"(c?)(ob|fn)=\((\d+)\)(?: (.*))?")
_COST = re.compile(r"[+*-]?\d* (\d+)")
_INNERMOST = re.compile(r"(?<!operator)(<[^<>()\[\]]*>|\([^<>()\[\]]*\)|\[[^<>()\[\]]*\])")
_WRAPPERS = ("c10::function_ref::callback_fn", "void", "operator()")
_KERNEL = re.compile(r"\b(\w+_kernel(?:_impl)?)\b")
"""Kernels of torch. Their names appear only in the template arguments of _WRAPPERS."""


def command(folder: Path) -> list[str]:
    """Return the beginning of a command line, which runs the rest of the line under callgrind.

    The process starts without instrumentation, which would make it five times as slow.
    """
    return [
        *("valgrind", "--tool=callgrind", "--quiet", "--vgdb=no"),
        *("--instr-atstart=no", "--collect-atstart=no", "--dump-line=no"),
        *(f"--log-file={folder / 'valgrind.log'}", f"--callgrind-out-file={folder / 'out'}"),
    ]


def variables(folder: Path) -> dict[str, str]:
    """Return the environment variables of a process under `command(folder)`."""
    return {**_VARIABLES, _FOLDER_VARIABLE: str(folder)}


def counter_name() -> str:
    """Return `callgrind` with its version. Raises UsageError without valgrind, or on another processor."""
    if not shutil.which("valgrind"):
        raise UsageError(f"counting instructions needs valgrind, which is not installed: {_INSTALL}")
    if os.uname().machine != ARCHITECTURE:
        raise UsageError(f"counting instructions needs a processor with the {ARCHITECTURE} architecture")
    version = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S607
    return version.strip().replace("valgrind-", "callgrind ")


class Callgrind:
    """Counts the instructions that this thread executes in a call, in a process under `command`."""

    def __init__(self) -> None:
        self._folder = Path(os.environ[_FOLDER_VARIABLE])
        self.file = self._folder / "out"
        """The file to which callgrind wrote the instructions of each function in the last call."""
        self._overhead = 0
        """Number of instructions of the counting itself."""
        self._page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._page.write(bytes.fromhex(_REQUEST))
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._page))
        request = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(address)
        self._dump, self._zero, self._toggle, self._start, self.close = (
            partial(request, (ctypes.c_uint64 * 6)(number))  # adds no Python frame
            for number in (_DUMP, _ZERO, _TOGGLE, _START, _STOP)
        )

    def begin(self) -> None:
        """Start callgrind's instrumentation. Until `close`, execution takes five times as long."""
        # Each forked process numbers its files anew, and callgrind writes a file when the process ends.
        for file in _dumps(self._folder):
            file.unlink()
        self._start()
        self._overhead = min(self.count(object) for _ in range(3))

    def count(self, call: Callable[[], object]) -> int:
        """Call once, and return the number of instructions."""
        self._zero()
        self._toggle()
        call()
        self._toggle()
        self._dump()
        self.file = _dumps(self._folder)[-1]
        return max(0, total(self.file) - self._overhead)


def count_until_equal(calls: Pedantic, counter: Callgrind) -> dict[str, Any]:
    """Call up to eight times, until two calls in a row agree; return the input of `Instructions.read`.

    Python is slow under callgrind. Therefore another process reads callgrind's file.
    """
    with cpu_threads(1 if "torch" in sys.modules else None), collector_paused():
        begin = RealTime.seconds()
        for number in range(_WARM_UP):  # without instrumentation, which slows calls down
            if number < _FEWEST or RealTime.seconds() - begin < _WARM_UP_SECONDS:
                calls.once()
        counter.begin()
        totals = [_count(calls, counter) for _ in range(2)]
        while _spread(totals) > _AGREE and len(totals) < _MOST_CALLS:
            totals.append(_count(calls, counter))
    return {"totals": totals, "file": str(counter.file)}


def _count(calls: Pedantic, counter: Callgrind) -> int:
    """Return the number of instructions of one call, without its set-up and tear-down."""
    call = calls.next_call()
    count = counter.count(partial(call.function, *call.args, **call.kwargs))  # adds no Python frame
    calls.tear_down(call)
    return count


@dataclass(frozen=True)
class Instructions:
    """The instructions that one warm call executes."""

    total: Count
    spread: NotNegative = 0.0
    """Difference between the last two counts, as a fraction of the larger one."""
    functions: Mapping[str, Count] = field(default_factory=dict)
    """Instructions by `package:function`, excluding callees; small numbers are left out."""

    @classmethod
    def read(cls, answer: Mapping[str, Any]) -> Self:
        """Read the file that `count_until_equal` names in its answer, and remove all of callgrind's files."""
        totals, file = answer["totals"], Path(answer["file"])
        counts = functions(file)
        for dump in _dumps(file.parent):
            dump.unlink()
        threshold = max(1, sum(counts.values())) * _LEAST_SHARE
        large = {name: number for name, number in counts.items() if number >= threshold}
        return cls(totals[-1], _spread(totals), large)


def _spread(totals: Sequence[int]) -> float:
    last, before = totals[-1], totals[-2]
    return abs(last - before) / max(last, before, 1)


def _dumps(folder: Path) -> list[Path]:
    return sorted(folder.glob("out.*"), key=lambda file: int(file.suffix[1:]))


def functions(file: Path) -> Mapping[str, int]:
    """Return the numbers of instructions in callgrind's file by `package:function`, excluding callees."""
    counts: Counter[str] = Counter()
    names: dict[tuple[str, str], str] = {}
    current = {"ob": "", "fn": ""}  # the library and the function
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
    """Return the total number of instructions, from the last line of callgrind's file."""
    return int(file.read_bytes().rpartition(b"totals: ")[2])


def _package(path: str) -> str:
    """Return the package of a native library, or the library's name if it is not in site-packages."""
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
