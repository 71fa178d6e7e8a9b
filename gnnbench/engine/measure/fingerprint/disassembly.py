"""The functions of a native library, disassembled by `objdump`."""

import io
import os
import re
import subprocess
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

MACHINE, _TRAP = "EM_X86_64", b"\xcc"
"""The processor, and its instruction that ends a process."""
_LABEL = re.compile(r"([0-9a-f]+) <(.+)>:\n")
_LINE = re.compile(r"^ *([0-9a-f]+):\t(.*)$", re.MULTILINE)
_PADDING = re.compile(r"(data16 |cs )*(nop\w?|xchg +%ax,%ax|int3)\b")
_STUBS = ".plt"
"""Beginning of the names of sections with what calls other libraries."""
_FILE = re.compile(r"(\d+)_GLOBAL__N__(\w*)")
"""The anonymous namespace of a file in CUDA, which elsewhere is `12_GLOBAL__N_1`: the length and the rest."""
_NUMBER = re.compile(r"\.\d+|@@Base")
"""Part of symbols that depends on the order of functions, or on the symbol table."""
_STARTS = "__device_stub_"
KERNEL = "kernel "
"""Before the name of a function that starts a kernel on a GPU."""
_UNLIKELY = ".cold"
"""End of the name of a part of a function that is seldom executed."""


@dataclass(frozen=True)
class Function:
    """A function, or what else has a name in the code."""

    address: int
    name: str
    lines: Sequence[str]
    """Its instructions, without those that fill the space to the next function."""
    last: int
    """Address of the last instruction before the next function."""

    @property
    def plain(self) -> str:
        """The name without what depends on other functions."""
        return plain(self.name).removesuffix(_UNLIKELY)


def disassembled(file: Path) -> list[Function]:
    """Return the functions of a file, except the stubs that call other libraries."""
    command = ["objdump", "-d", "-w", "--no-show-raw-insn", str(file)]
    environment = {**os.environ, "LC_ALL": "C"}
    result = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)  # noqa: S603
    return [*_functions(result.stdout)]


def _functions(listing: str) -> Iterator[Function]:
    for section in listing.split("\nDisassembly of section ")[1:]:
        for block in () if section.startswith(_STUBS) else section.split("\n\n")[1:]:
            label = _LABEL.match(block)
            lines = _LINE.findall(block)
            if label and lines:
                last = int(lines[-1][0], 16)
                while len(lines) > 1 and _PADDING.match(lines[-1][1]):
                    lines.pop()
                yield Function(int(label[1], 16), label[2], [line.rstrip() for _, line in lines], last)


def set_traps(file: Path, names: Collection[str]) -> None:
    """Overwrite the functions with these plain names, so that a process that executes one ends."""
    content = bytearray(file.read_bytes())
    elf = ELFFile(io.BytesIO(content))
    for function in disassembled(file):
        if function.plain in names or KERNEL + function.plain in names:
            size = function.last + 1 - function.address
            at = next(elf.address_offsets(function.address, size))
            content[at : at + size] = _TRAP * size
    file.unlink()  # other copies share its content
    file.write_bytes(content)


def without_folder(name: str) -> str:
    """Return a symbol without what depends on the folder."""
    return _FILE.sub(lambda match: f"12_GLOBAL__N_1{match[2][int(match[1]) - 12 :]}", name)


def plain(name: str) -> str:
    """Return a symbol without what depends on the folder, and on other functions."""
    return _NUMBER.sub("", without_folder(name))


def demangled(names: Sequence[str]) -> Sequence[str]:
    """Return plain symbols of C++ as in the source, each once; unchanged if `c++filt` is missing.

    The functions that CUDA generates to start kernels are left out: the kernels are listed.
    """
    command = ["c++filt", "--no-params", "--no-verbose"]
    with suppress(OSError, subprocess.CalledProcessError):
        result = subprocess.run(command, input="\n".join(names), check=True, capture_output=True, text=True)  # noqa: S603
        return [name for name in dict.fromkeys(result.stdout.splitlines()) if not name.startswith(_STARTS)]
    return names
