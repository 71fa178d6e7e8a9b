"""The code in a native library: the CPU's functions, disassembled by `objdump`, and kernels for GPUs.

Kernels are in containers (fatbin). They are hashed, but not disassembled.
"""

import io
import os
import re
import struct
import subprocess
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection

from . import digest

MACHINE, _TRAP = "EM_X86_64", b"\xcc"
"""ELF's name of the processor, and the processor's instruction `int3`, which ends the process."""
_LABEL = re.compile(r"([0-9a-f]+) <(.+)>:\n")
_LINE = re.compile(r"^ *([0-9a-f]+):\t(.*)$", re.MULTILINE)
_PADDING = re.compile(r"(data16 |cs )*(nop\w?|xchg +%ax,%ax|int3)\b")
_STUBS = ".plt"
"""Prefix of the names of sections with stubs that call other libraries."""
_HASH = re.compile(r"(?<=17h)[0-9a-f]{16}(?=E)|(?<=anon)\.[0-9a-f]{32}\.\d+|\.llvm\.\d+")
"""Parts of Rust's symbols that depend on the folder and on other code."""
_NAMESPACE = re.compile(r"(\d+)_GLOBAL__N__(\w*)")
"""nvcc's name of an anonymous namespace, with its length and the file; gcc's is `12_GLOBAL__N_1`."""
_NUMBER = re.compile(r"\.\d+|@@Base")
"""Parts of symbols that depend on the order of functions, or on the symbol table."""
_STUB = "__device_stub_"
"""Prefix of the names of functions that nvcc generates to start kernels."""
KERNEL = "kernel "
"""Prefix that is added to the name of a function that starts a kernel on a GPU."""
_UNLIKELY = ".cold"
"""Suffix of the symbol for the part of a function that the compiler expects to run rarely."""

GPU_SECTION = ".nv_fatbin"
_CONTAINER, _ENTRY = struct.Struct("<4sHHQ"), struct.Struct("<HHIQ")
"""Headers of a container and of an entry in it; the last two fields are the sizes of header and content."""
_MAGIC = b"\x50\xed\x55\xba"
_TEXT = ".text."
_LOCAL = re.compile(r"L(?=\d)")
_LEFT_OUT = re.compile(
    r"\.((nv_)?debug|note|symtab|strtab|shstrtab|rel|nv\.(capmerc|merc|callgraph|rel\.action|info$))|$"
)
"""Sections without code, and sections that the linker derives from code."""
_ATTRIBUTES = ".nv.info"
_NUMBERS = re.compile(rb"\x04[\x0a\x0f].\0.{4}", re.DOTALL)
"""Attributes with the index of a symbol, which depends on other kernels."""
_FUNCTION = re.compile(r"^(?=.*\.(?:entry|func)\b)", re.MULTILINE)
_ENTRY_POINT = re.compile(r"\.entry\s+([\w$]+)")
_UNSTABLE = re.compile(r"//.*|^\s*\.(?:loc|file)\b.*|(?<=\$L__BB)\d+|(?<=__local_depot)\d+", re.MULTILINE)
"""Parts of PTX that are not hashed: comments, line numbers, and numbers of functions."""


@dataclass(frozen=True)
class Function:
    """A function, or a named table in the code."""

    address: int
    name: str
    lines: Sequence[str]
    """Its instructions, without the padding before the next function."""
    last: int
    """Address of its last instruction, including the padding."""

    @property
    def plain(self) -> str:
        """The symbol without the parts that depend on the build."""
        return plain(self.name).removesuffix(_UNLIKELY)


def disassemble(file: Path) -> Iterator[Function]:
    """Yield the functions of a file, except the stubs that call other libraries."""
    command = ["objdump", "-d", "-w", "--no-show-raw-insn", str(file)]
    environment = {**os.environ, "LC_ALL": "C"}
    result = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)  # noqa: S603
    for section in result.stdout.split("\nDisassembly of section ")[1:]:
        if section.startswith(_STUBS):
            continue
        for block in section.split("\n\n")[1:]:
            label = _LABEL.match(block)
            lines = _LINE.findall(block)
            if label and lines:
                last = int(lines[-1][0], 16)
                while len(lines) > 1 and _PADDING.match(lines[-1][1]):
                    lines.pop()
                yield Function(int(label[1], 16), label[2], [line.rstrip() for _, line in lines], last)


def set_traps(file: Path, names: Collection[str]) -> None:
    """Overwrite functions, given by plain name, with traps. A process that executes a trap ends."""
    content = bytearray(file.read_bytes())
    elf = ELFFile(io.BytesIO(content))
    for function in disassemble(file):
        if function.plain in names or KERNEL + function.plain in names:
            size = function.last + 1 - function.address
            offset = next(elf.address_offsets(function.address, size))
            content[offset : offset + size] = _TRAP * size
    file.unlink()  # it may be a hard link
    file.write_bytes(content)


def without_folder(name: str) -> str:
    """Return a symbol without the parts that depend on the folder of the build."""
    name = _NAMESPACE.sub(lambda match: f"12_GLOBAL__N_1{match[2][int(match[1]) - 12 :]}", name)
    return _HASH.sub("", name)


def plain(name: str) -> str:
    """Return a symbol without the parts that depend on the folder of the build or on other functions."""
    return _NUMBER.sub("", without_folder(name))


def demangled(names: Sequence[str]) -> Sequence[str]:
    """Return the source-level names of plain symbols of C++ and Rust; without `c++filt`, the symbols.

    Functions that nvcc generates to start kernels are left out, because the kernels themselves are listed.
    """
    text = "\n".join(names).replace("17hE", "17h0123456789abcdefE")  # c++filt expects a hash
    command = ["c++filt", "--no-params", "--no-verbose"]
    with suppress(OSError, subprocess.CalledProcessError):
        result = subprocess.run(command, input=text, check=True, capture_output=True, text=True)  # noqa: S603
        return [name for name in dict.fromkeys(result.stdout.splitlines()) if not name.startswith(_STUB)]
    return names


def kernel_name(symbol: str) -> str:
    """Return the name of the kernel that a CPU function starts, without the mark of local symbols (`L`)."""
    return _LOCAL.sub("", plain(symbol))


def kernels(content: bytes) -> Mapping[str, str]:
    """Return a hash of each kernel in the content of GPU_SECTION, and one of the rest under an empty name.

    The hash of a kernel includes its code for all architectures. Compressed code is part of the rest.
    """
    texts = defaultdict(list)
    for image in _images(content):
        parts = _of_elf(image) if image.startswith(b"\x7fELF") else _of_text(image)
        for name, text in parts:
            texts[kernel_name(name)].append(text)
    return {name: digest.combined(versions) for name, versions in texts.items()}


def _images(content: bytes) -> Iterator[bytes]:
    """Yield the entries of the containers, and then the bytes after the last container, if there are any."""
    at = end = 0
    while at < len(content):
        if at < end:
            _, _, header, size = _ENTRY.unpack_from(content, at)
            yield content[at + header : at + header + size]
            at += header + size
        elif content.startswith(_MAGIC, at):
            _, _, header, size = _CONTAINER.unpack_from(content, at)
            at += header
            end = at + size
        else:
            yield content[at:]
            return


def _of_elf(image: bytes) -> Iterator[tuple[str, str]]:
    """Yield a kernel's name, or an empty one, and a hash for each part of an ELF file; see `kernels`."""
    elf = ELFFile(io.BytesIO(image))
    parts = [*elf.iter_sections()]
    symbols: Any = elf.get_section_by_name(".symtab")  # relocations may link to another table
    kernel_names = {part.name.removeprefix(_TEXT) for part in parts if part.name.startswith(_TEXT)}
    sections = {number: part for number, part in enumerate(parts) if not _LEFT_OUT.match(part.name)}
    relocations = defaultdict[int, list[str]](list)
    targets = set()
    for table in parts:
        if isinstance(table, RelocationSection) and table["sh_info"] in sections:
            for item in table.iter_relocations():
                symbol = symbols.get_symbol(item["r_info_sym"])
                name = symbol.name or parts[symbol["st_shndx"]].name
                targets.add(name)
                place = f"{item['r_offset']} {item['r_info_type']} {item.entry.get('r_addend')}"
                relocations[table["sh_info"]].append(f"{plain(name)} {place}")
    for number, part in sections.items():
        kernel, content = part.name.rpartition(".")[2], part.data()
        if part.name.startswith(_ATTRIBUTES):
            content = _NUMBERS.sub(b"", content)
        text = digest.short(plain(part.name), digest.of_bytes(content), *relocations[number])
        yield kernel if kernel in kernel_names else "", text
        if kernel in targets:
            yield "", text


def _of_text(image: bytes) -> Iterator[tuple[str, str]]:
    """Yield a kernel's name, or an empty one, and a hash for each function in PTX or for other content."""
    image = image.rstrip(b"\0")
    if not image.isascii():
        yield "", digest.of_bytes(image)
        return
    for text in _FUNCTION.split(_UNSTABLE.sub("", without_folder(image.decode()))):
        name = _ENTRY_POINT.search(text)
        yield name[1] if name else "", digest.short(*filter(str.strip, text.splitlines()))
