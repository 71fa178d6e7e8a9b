"""Hashes of the functions and constants of a native library. Builds of the same code have the same hashes.

The code is disassembled. Each address in it is replaced by the name of the function, or by the content of the
constant, at this address. Positions of functions, build ids, timestamps, debugging information and the folder
of the build do not affect the hashes.
"""

import re
import subprocess
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from . import digest
from .disassembly import (
    GPU_SECTION,
    KERNEL,
    MACHINE,
    Function,
    disassemble,
    kernel_name,
    kernels,
    plain,
    without_folder,
)

VERSION = 6
"""Version of the hashes. It is a part of the keys of their cache."""
CONSTANTS = "constants"
"""The name under which variables and constants that belong to no function are hashed."""
_MOST_BYTES = 1 << 26
"""Larger files are not disassembled."""
_WRITABLE, _ALLOCATED, _EXECUTABLE, _TLS = 1, 2, 4, 0x400
"""Flags of ELF sections."""
_WORD, _JUMP, _METHOD, _LOCATION = 8, 4, 32, 24
"""Sizes of a pointer, an entry in a jump table, an entry in a method table, and a location in Rust source."""
_EMPTY = digest.short(digest.of_bytes(b""))
"""Hash of data that is all zeros."""
_RELATIVE = re.compile(r"-?(?:0x)?[0-9a-f]+(\(%[re]ip\).*?) *# ([0-9a-f]+)(?: <.*>)?$")
_TARGET = re.compile(r"\b([0-9a-f]+) <([^>+]+)(?:\+0x([0-9a-f]+))?>")
_FOLDERS = re.compile(rb"((?<=/builds/)[0-9a-f]{24}|(?<=/pip-build-env-)\w{8}|(?<=/tmp/tmp)\w{8})(?=/)")
"""Random parts of the names of folders in which libraries are built."""
_OF_COMPILER = re.compile(
    r"_init|_fini|frame_dummy|(de)?register_tm_clones|__do_global_dtors_aux"
    r"|_ZL24__sti____cudaRegisterAllv|_ZL26__nv_cudaEntityRegisterCallbackPPv"
)
"""Functions that compilers add to each library; they run when the library is loaded or unloaded."""
_NOT_DATA = re.compile(r"\.(plt|got|rela|note|eh_frame|gcc_except|gnu\.hash|gnu\.version|hash|dyn)")
"""Sections without data: the linker derives them, or they are hashed with the functions."""
_HANDLERS = ".gcc_except_table"
"""The section with the tables of exception handlers."""
_TEXT, _RUST = re.compile(rb"[\t\n\r -~]*"), b".rs"


def functions(file: Path) -> Mapping[str, str]:
    """Return a hash of each function, and one of CONSTANTS; empty if the file cannot be disassembled."""
    with suppress(OSError, ELFError, subprocess.CalledProcessError), file.open("rb") as opened:
        elf = ELFFile(opened)
        if elf["e_machine"] == MACHINE and file.stat().st_size <= _MOST_BYTES:
            return _Library(elf, [*disassemble(file)]).hashes()
    return {}


def differing(base: Mapping[str, str], head: Mapping[str, str]) -> list[str]:
    """Return names with different hashes: kernels, functions, CONSTANTS; of each kind, shared names first."""
    names = [name for name in {**head, **base} if base.get(name) != head.get(name)]
    both = base.keys() & head.keys()
    return sorted(names, key=lambda name: (name == CONSTANTS, not name.startswith(KERNEL), name not in both))


class _Symbols:
    """The symbols of one kind in a file: functions (`STT_FUNC`) or variables (`STT_OBJECT`)."""

    def __init__(self, tables: Sequence[Any], kind: str) -> None:
        entries = (entry for table in tables for entry in table.iter_symbols())
        symbols = [entry for entry in entries if entry["st_info"]["type"] == kind]
        defined = {symbol["st_value"]: symbol for symbol in symbols if symbol["st_shndx"] != "SHN_UNDEF"}
        self.addresses = sorted(defined)
        self.ends = [address + defined[address]["st_size"] for address in self.addresses]
        self._names = [defined[address].name for address in self.addresses]
        self.names = {entry.name for entry in symbols}
        """Names of all symbols, including symbols that other libraries define."""

    def before(self, address: int) -> tuple[int, int, str]:
        """Return start, end and name of the last symbol at or before an address. The name may be empty."""
        at = bisect_right(self.addresses, address) - 1
        return (self.addresses[at], self.ends[at], self._names[at]) if at >= 0 else (address, address, "")


class _Library:
    """The sections, symbols and code of a file."""

    def __init__(self, elf: ELFFile, code: Sequence[Function]) -> None:
        allocated = [section for section in elf.iter_sections() if section["sh_flags"] & _ALLOCATED]
        filled = [section for section in allocated if section["sh_type"] != "SHT_NOBITS"]
        # An uninitialised thread-local section (.tbss) has the addresses of the section after it.
        self._sections = [each for each in allocated if each in filled or not each["sh_flags"] & _TLS]
        tables: list[Any] = [elf.get_section_by_name(name) for name in (".symtab", ".dynsym")]
        self._tables = [table for table in tables if table]
        self._functions = _Symbols(self._tables, "STT_FUNC")
        self._variables = _Symbols(self._tables, "STT_OBJECT")
        self._describe = cache(self._describe_uncached)
        self._memory = bytearray(max(section["sh_addr"] + section["sh_size"] for section in filled))
        self._kernels: Mapping[str, str] = {}
        for section in filled:
            if section.name == GPU_SECTION:
                self._kernels = kernels(section.data())
            else:
                self._memory[section["sh_addr"] : section["sh_addr"] + section["sh_size"]] = section.data()
        self._pointers = dict(self._relocations())
        self._code = [function for function in code if not _OF_COMPILER.fullmatch(function.name)]
        self._shared = Counter(plain(function.name) for function in self._code)
        relative = (_RELATIVE.search(line) for function in code for line in function.lines)
        self._operands = {int(match[2], 16) for match in relative if match}
        addends = {addend for name, _, addend in self._pointers.values() if not name}
        self._referenced, self._pointed_to = self._operands | addends, sorted(addends)
        self._exported = {symbol["st_value"] for symbol in self._tables[-1].iter_symbols()}
        starts = (*self._referenced, *self._variables.addresses, *self._variables.ends)
        self._starts = sorted({*starts, *(section["sh_addr"] for section in self._sections)})
        # Hashes tell functions of the same name apart; descriptions without them must not stay cached.
        self._bodies: dict[int, str] = {}
        self._bodies = {each.address: digest.short(*map(self._instruction, each.lines)) for each in code}
        self._describe = cache(self._describe_uncached)
        self._handlers = _handlers(elf, [function.address for function in code])

    def hashes(self) -> dict[str, str]:
        """Return a hash of each function, and one of CONSTANTS."""
        functions = {*map(plain, self._functions.names)}
        launched = {kernel_name(name) for name in functions if name}
        bodies, tables = defaultdict(list), set()
        for table, name, text in self._methods():
            tables.add(table)
            bodies[name].append(text)
        constants = [*self._data(tables)]
        for function in self._code:
            handlers = (self._handler(*span) for span in self._handlers[function.address])
            kernel = self._kernel(function.plain)
            text = digest.short(*map(self._instruction, function.lines), *handlers, kernel)
            bodies[(KERNEL if kernel else "") + function.plain].append(text)
            if function.plain not in functions:  # a table in the code
                constants.append(text)
        constants += (text for name, text in self._kernels.items() if name not in launched)
        hashes = {name: digest.combined(texts) for name, texts in bodies.items()}
        return {**hashes, CONSTANTS: digest.combined(constants)}

    def _kernel(self, name: str) -> str:
        """Return the hash of the kernel that a function starts; empty if it starts none."""
        return self._kernels.get(kernel_name(name), "")

    def _methods(self) -> Iterator[tuple[int, str, str]]:
        """Yield table address, function and content of each entry in tables of methods (`PyMethodDef`).

        A table that an instruction refers to is left out, because code may search it.
        """
        names = {function.plain for function in self._code}
        for start, end in zip(self._variables.addresses, self._variables.ends, strict=True):
            entries = range(start, end - _METHOD, _METHOD)
            functions = [self._method(at) for at in entries]
            is_table = start not in self._operands and names.issuperset(functions) and functions
            if is_table and (end - start) % _METHOD == 0 and self._content(end - _METHOD, end) == _EMPTY:
                for at, name in zip(entries, functions, strict=True):
                    yield start, name, self._content(at, at + _METHOD)

    def _method(self, address: int) -> str:
        """Return the function in the method table entry at an address; empty if there is no such entry."""
        pointers = [self._pointers.get(address + number * _WORD) for number in range(_METHOD // _WORD)]
        if not pointers[0] or not pointers[1] or pointers[2]:
            return ""
        name, _, addend = pointers[1]
        start, _, local = self._functions.before(addend)
        return plain(name or (local if start == addend else ""))

    def _data(self, tables: Collection[int]) -> Iterator[str]:
        """Describe each variable and constant that is not zero, not of a function, and not in `tables`."""
        for section in self._sections:
            if not (section["sh_flags"] & _EXECUTABLE or _NOT_DATA.match(section.name)):
                at, end = section["sh_addr"], section["sh_addr"] + section["sh_size"]
                while at < end:
                    writable, following = section["sh_flags"] & _WRITABLE, self._end(at)
                    content = self._content(at, following)
                    belongs = (at in tables or self._is_private(at)) if writable else at in self._referenced
                    start, _, name = self._variables.before(at)
                    if not belongs and content != _EMPTY:
                        label = self._describe(at) if writable else plain(name) if start == at else ""
                        yield f"{section.name} {label} {content}"
                    at = following

    def _is_private(self, address: int) -> bool:
        """Return whether an address is in a variable that is not exported, and to which no pointer refers."""
        start, end, _ = self._variables.before(address)
        at = bisect_left(self._pointed_to, start)
        is_pointed = at < len(self._pointed_to) and self._pointed_to[at] < end
        return address < end and not is_pointed and start not in self._exported

    def _relocations(self) -> Iterator[tuple[int, tuple[str, int, int]]]:
        """Yield each address to which the loader writes, with symbol (empty if none), kind and addend."""
        for section in self._sections:
            if section["sh_type"] in ("SHT_RELR", "SHT_REL"):
                raise ELFError("the file has other relocations")
            if section["sh_type"] == "SHT_RELA":
                for entry in section.iter_relocations():  # type: ignore[attr-defined]
                    name = self._tables[-1].get_symbol(entry["r_info_sym"]).name
                    yield entry["r_offset"], (name, entry["r_info_type"], entry["r_addend"])

    def _function(self, address: int, name: str) -> str:
        """Return a function's name, with a hash of its code if other functions have the same name."""
        name = plain(name)
        return f"{name} {self._bodies.get(address)}" if self._shared[name] > 1 else name

    def _instruction(self, line: str) -> str:
        """Return an instruction with descriptions in place of addresses."""
        line = _RELATIVE.sub(lambda match: match[1] + self._describe(int(match[2], 16)), line)
        return _TARGET.sub(self._target, line)

    def _target(self, match: re.Match[str]) -> str:
        distance = int(match[3] or "0", 16)
        return f"{self._function(int(match[1], 16) - distance, match[2])}+{distance}"

    def _describe_uncached(self, address: int, deep: bool = True) -> str:
        """Describe the code or data at an address; if `deep`, also the targets of pointers in the data."""
        section = self._section(address)
        if section is None:
            return str(address)
        if section.name.startswith(".got"):
            return self._pointer(address, deep=deep)
        if section["sh_flags"] & _EXECUTABLE:
            start, _, name = self._functions.before(address)
            return f"{self._function(start, name)}+{address - start} {self._kernel(name)}"
        start, end, name = self._variables.before(address)
        if section["sh_flags"] & _WRITABLE:
            # Variables with the same content are still different variables.
            content = self._content(start, end) if self._is_private(address) else ""
            name, start = (without_folder(name), start) if address < end else ("", section["sh_addr"])
            return f"{section.name} {name}+{address - start} {content}"
        if address >= end:
            start, end, name = address, self._end(address), ""
        return f"{section.name} {plain(name)}+{address - start} {self._content(start, end, deep)}"

    def _pointer(self, address: int, *, deep: bool) -> str:
        name, kind, addend = self._pointers.get(address, ("", 0, 0))
        if name:
            return f"{kind} {plain(name)}+{addend} {self._kernel(name)}"
        section = self._section(addend)
        is_described = deep or (section is not None and section["sh_flags"] & _EXECUTABLE)
        return f"{kind} {self._describe(addend, False) if is_described else ''}"

    def _section(self, address: int) -> Any:
        """Return the section that contains an address. Returns None if there is none."""
        sections = self._sections
        return next((each for each in sections if 0 <= address - each["sh_addr"] < each["sh_size"]), None)

    def _end(self, address: int) -> int:
        """Return where the constant at an address ends: at the next constant, or at the section's end."""
        section, at = self._section(address), bisect_right(self._starts, address)
        return int(min([section["sh_addr"] + section["sh_size"], *self._starts[at : at + 1]]))

    def _content(self, start: int, end: int, deep: bool = True) -> str:
        """Return a hash of the bytes from `start` to `end`, and of pointers that the loader writes there."""
        is_writable = self._section(start)["sh_flags"] & _WRITABLE
        content = self._memory[start:end]
        ending = _TEXT.match(self._memory, end)
        if ending and not is_writable and _TEXT.fullmatch(content):
            content += ending[0]  # linkers merge a string with the end of a longer one
        pointers = []
        aligned_start = -(-start // _WORD) * _WORD
        for address in range(aligned_start, end, _WORD) if is_writable else ():
            if address in self._pointers:
                size = _LOCATION if self._is_rust_location(address) else _WORD
                content[address - start : address - start + size] = bytes(size)
                pointers.append(f"{address - start} {self._pointer(address, deep=deep)}")
        # How many zeros follow a constant depends on the alignment of the next one.
        text = _FOLDERS.sub(b"", bytes(content)).rstrip(b"\0")
        jumps = [] if is_writable else self._jumps(start, text)
        return digest.short(*jumps) if jumps else digest.short(digest.of_bytes(text), *pointers)

    def _is_rust_location(self, address: int) -> bool:
        """Return whether an address holds a location in Rust source: path, length of path, line, column."""
        length = self._memory[address + _WORD : address + 2 * _WORD]
        column = self._memory[address + 20 : address + _LOCATION]
        end = self._pointers[address][2] + int.from_bytes(length, "little")
        return any(column) and self._memory[end - len(_RUST) : end] == _RUST

    def _handler(self, start: int, end: int) -> str:
        """Return a hash of a table of exception handlers, with types in place of the distances to types."""
        table = self._memory[start:end]
        types = []
        for at in range(-start % _JUMP, len(table), _JUMP):
            target = start + at + int.from_bytes(table[at : at + _JUMP], "little", signed=True)
            if target in self._pointers:
                table[at : at + _JUMP] = bytes(_JUMP)
                types.append(self._pointer(target, deep=True))
        return digest.short(digest.of_bytes(table.rstrip(b"\0")), *types)

    def _jumps(self, start: int, content: bytes) -> list[str]:
        """Return the targets of a jump table (distances from its start). Other bytes have no targets."""
        entries = (content[at : at + _JUMP] for at in range(0, len(content), _JUMP))
        distances = (int.from_bytes(entry, "little", signed=True) for entry in entries)
        targets = []
        for distance in distances:
            section = self._section(start + distance)
            if section is None or not section["sh_flags"] & _EXECUTABLE:
                return []
            targets.append(self._describe(start + distance))
        return targets


def _handlers(elf: ELFFile, starts: Sequence[int]) -> Mapping[int, list[tuple[int, int]]]:
    """Return start and end of each table of exception handlers, by the address of its function."""
    tables = defaultdict[int, list[tuple[int, int]]](list)
    section = elf.get_section_by_name(_HANDLERS)
    if section:
        entries: Sequence[Any] = elf.get_dwarf_info(follow_links=False).EH_CFI_entries()
        frames = {frame.lsda_pointer: frame for frame in entries if getattr(frame, "lsda_pointer", None)}
        ends = [*sorted(frames)[1:], section["sh_addr"] + section["sh_size"]]
        for at, end in zip(sorted(frames), ends, strict=True):
            function = starts[bisect_right(starts, frames[at]["initial_location"]) - 1]
            tables[function].append((at, end))
    return tables
