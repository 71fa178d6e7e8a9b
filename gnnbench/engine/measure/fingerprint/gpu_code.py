"""The kernels in a library: hashes of their code for GPUs, which the file has in containers (fatbin)."""

import io
import re
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection

from . import digest
from .disassembly import plain, without_folder

SECTION = ".nv_fatbin"
_CONTAINER, _ENTRY = struct.Struct("<4sHHQ"), struct.Struct("<HHIQ")
"""Headers of containers and of their entries: a number, and the sizes of the header and of what follows."""
_MAGIC = b"\x50\xed\x55\xba"
_TEXT = ".text."
_LOCAL = re.compile(r"L(?=\d)")
_LEFT_OUT = re.compile(
    r"\.((nv_)?debug|note|symtab|strtab|shstrtab|rel|nv\.(capmerc|merc|callgraph|rel\.action|info$))|$"
)
"""Sections that follow from the others."""
_ATTRIBUTES = ".nv.info"
_NUMBERS = re.compile(rb"\x04[\x0a\x0f].\0.{4}", re.DOTALL)
"""Attributes that have the number of a symbol, which depends on other kernels."""
_FUNCTION = re.compile(r"^(?=.*\.(?:entry|func)\b)", re.MULTILINE)
_ENTRY_POINT = re.compile(r"\.entry\s+([\w$]+)")
_UNSTABLE = re.compile(r"//.*|^\s*\.(?:loc|file)\b.*|(?<=\$L__BB)\d+|(?<=__local_depot)\d+", re.MULTILINE)
"""Of PTX: comments, line numbers, and numbers of functions."""


def kernel_name(symbol: str) -> str:
    """Return the name of the kernel that a function of the CPU starts, without the mark of local symbols."""
    return _LOCAL.sub("", plain(symbol))


def kernels(content: bytes) -> Mapping[str, str]:
    """Return the hash of each kernel in a section by name; constants and all else have an empty name.

    Code for several architectures counts together. Compressed code belongs to no kernel.
    """
    texts = defaultdict(list)
    for image in _images(content):
        parts = _of_elf(image) if image.startswith(b"\x7fELF") else _of_text(image)
        for name, text in parts:
            texts[kernel_name(name)].append(text)
    return {name: digest.combined(versions) for name, versions in texts.items()}


def _images(content: bytes) -> Iterator[bytes]:
    """Yield the entries of the containers, and as a whole what follows them."""
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
    """Yield the kernels of a file for one architecture, with their other sections, such as parameters."""
    elf = ELFFile(io.BytesIO(image))
    parts = [*elf.iter_sections()]
    symbols: Any = elf.get_section_by_name(".symtab")  # `sh_link` may name another
    kernels = {part.name.removeprefix(_TEXT) for part in parts if part.name.startswith(_TEXT)}
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
        yield kernel if kernel in kernels else "", text
        if kernel in targets:
            yield "", text


def _of_text(image: bytes) -> Iterator[tuple[str, str]]:
    """Yield the kernels of PTX; anything else as a whole."""
    image = image.rstrip(b"\0")
    if not image.isascii():
        yield "", digest.of_bytes(image)
        return
    for text in _FUNCTION.split(_UNSTABLE.sub("", without_folder(image.decode()))):
        name = _ENTRY_POINT.search(text)
        yield name[1] if name else "", digest.short(*filter(str.strip, text.splitlines()))
