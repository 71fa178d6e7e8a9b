"""The functions of a native library, disassembled by `objdump`."""

import io
import os
import re
import subprocess
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

MACHINE, _TRAP = "EM_X86_64", b"\xcc"
"""The processor, and its instruction that ends a process."""
_LABEL = re.compile(r"([0-9a-f]+) <(.+)>:$")
_LINE = re.compile(r" *([0-9a-f]+):\t(.*)$")
_PADDING = re.compile(r"(data16 |cs )*(nop\w?|xchg +%ax,%ax|int3)\b")
_STUBS = "Disassembly of section .plt"
HASH = re.compile(r"(?<=17h)[0-9a-f]{16}(?=E)")
"""Part of Rust's symbols that depends on the folder."""
_NUMBER = re.compile(r"\.(llvm\.)?\d+|@@Base")
"""Part of symbols that depends on the order of functions, or on the symbol table."""
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
        """Its name without what depends on other functions."""
        return plain(self.name).removesuffix(_UNLIKELY)


def disassembled(file: Path) -> list[Function]:
    """Return the functions of a file, but for the stubs that call other libraries."""
    command = ["objdump", "-d", "-w", "--no-show-raw-insn", str(file)]
    given = {**os.environ, "LC_ALL": "C"}
    answer = subprocess.run(command, check=True, capture_output=True, text=True, env=given)  # noqa: S603
    return [*_functions(answer.stdout)]


def _functions(listing: str) -> Iterator[Function]:
    address, name, lines, last, is_stub = 0, "", list[str](), 0, False
    for line in (*listing.splitlines(), _STUBS):
        if instruction := _LINE.match(line):
            last = int(instruction[1], 16)
            lines.append(instruction[2].rstrip())
            continue
        label = _LABEL.match(line)
        if not (label or line.startswith("Disassembly")):
            continue
        while len(lines) > 1 and _PADDING.match(lines[-1]):
            lines.pop()
        if lines and not is_stub:
            yield Function(address, name, lines, last)
        lines = []
        if label:
            address, name = int(label[1], 16), label[2]
        else:
            is_stub = line.startswith(_STUBS)


def set_traps(file: Path, names: Collection[str]) -> None:
    """Write a library again, so that the process ends where it executes functions with these plain names."""
    content = bytearray(file.read_bytes())
    elf = ELFFile(io.BytesIO(content))
    for each in disassembled(file):
        if each.plain in names:
            size = each.last + 1 - each.address
            at = next(elf.address_offsets(each.address, size))
            content[at : at + size] = _TRAP * size
    file.unlink()  # other copies share its content
    file.write_bytes(content)


def plain(name: str) -> str:
    """Return a symbol without what depends on the folder, and on other functions."""
    return _NUMBER.sub("", HASH.sub("", name))
