"""Fingerprints of calls: hashes of the code that a call runs, the values that it reads, and its settings.

Base and head are not timed if their fingerprints are equal: they run the same code on the same kind of input
with the same settings. docs/same-code.md lists the assumptions.
"""

import ast
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from ...ground.cpu import RealTime
from ...ground.parts import tensors
from ..clock import Call
from . import digest
from .bytecode import code_hash, defaults
from .digest import Contents
from .libraries import libraries, settings
from .recording import Recording, thread_runs
from .values import Values, module_of

TIMES_AS_LONG = 50
"""A recorded call may take this many times as long as the call itself, plus one second."""
_GENERATED_NAME = re.compile(r"\bc[a-z2-7]{50,}\b")
"""Names that torch.compile gives to files and kernels: hashes of their content and of the machine."""
METHOD = 5
"""Version of the hashes: increase it if unchanged code would get other hashes."""


@dataclass(frozen=True)
class Fingerprint:
    """Hashes of the code, values and settings of one call. Each has 16 hexadecimal digits."""

    code: str
    """Hash of everything except the settings."""
    settings: str
    """Hash of the settings."""
    functions: Mapping[str, str]
    """Hash of each Python function that runs, by module and qualified name."""
    values: Mapping[str, str]
    """Hash of each global, attribute and captured value that functions may read, by place; see values.py."""
    libraries: Mapping[str, str]
    """Hash of each native library, by file name; `python` is the interpreter."""
    work: Mapping[str, str]
    """Hashes of four lists: `operators` in order with their arguments, `inputs`, the numbers of `calls` of
    Python functions, and the names of `C functions`."""
    set_to: Mapping[str, str]
    """The settings by name. Environment variables begin with `$`, and their values are hashes."""
    method: int = 1
    """Version of the hashes; only hashes of the version METHOD can be compared."""

    def same_code(self, other: "Fingerprint") -> bool:
        """Return whether both calls run the same code on the same kind of input with the same settings."""
        return (self.code, self.settings) == (other.code, other.settings)


class Recordings:
    """Two recordings of one call. Values that differ between them are left out: the call changes them."""

    def __init__(self, call: Call, now: Callable[[], float] = RealTime.seconds) -> None:
        """`now` returns seconds. The caller runs the call twice, each time in the context of `record`."""
        self._call, self._now, self._most_seconds = call, now, math.inf
        self._contents = Contents(list(tensors(tuple(call))))
        self._recordings: list[Recording] = []
        self._values: list[Values] = []

    @contextmanager
    def time_call(self) -> Iterator[None]:
        """Return a context that times a call without recording it, to set the time limit of recordings."""
        start = self._now()
        yield
        self._most_seconds = TIMES_AS_LONG * (self._now() - start) + 1

    @contextmanager
    def record(self) -> Iterator[Recording]:
        """Return a context that yields a recording. The caller makes the call in this context."""
        end = self._now() + self._most_seconds
        recording = Recording(self._contents, lambda: self._now() > end)
        before = thread_runs()
        yield recording
        after = thread_runs()
        for thread in before | after:  # the code of other threads is not recorded
            if not after.get(thread) or after[thread] != before.get(thread):
                recording.other_thread = thread.name
        self._recordings.append(recording)
        self._values.append(self._read(recording))

    def _read(self, recording: Recording) -> Values:
        """Return the values that the recorded functions, and functions with cached results, may read."""
        cached: dict[int, FunctionType] = {}
        while True:  # until no further functions with cached results are found
            scopes = [*recording.functions.values()]
            scopes += [(function.__code__, function.__globals__) for function in cached.values()]
            values = Values((code for code, _ in scopes), self._contents)
            values.add("function", self._call.function)
            for name, item in (*enumerate(self._call.args), *self._call.kwargs.items()):
                values.add(f"argument {name}", item)
            for code, scope in scopes:
                values.add_globals(code, scope, cached=id(code) in cached)
            for item in recording.objects.values():
                values.add(type(item).__qualname__, item)
            for key, captured in recording.captured.items():
                code, scope = recording.functions[key]
                for item in captured.values():
                    values.add(f"{module_of(code, scope)}.{code.co_qualname} captures", item)
            if values.too_many or values.cached.keys() <= cached.keys():
                recording.objects.clear()
                return values
            cached = values.cached

    @property
    def unseen(self) -> str | None:
        """Why there is no fingerprint. None if there is one."""
        unseen = next((recording.unseen for recording in self._recordings if recording.unseen), None)
        if any(recording.timed_out for recording in self._recordings):
            return f"inspection given up: recording takes more than {TIMES_AS_LONG} times as long as the call"
        if self._contents.too_large:
            return f"inspection given up: integer tensors exceed {self._contents.most_bytes >> 20:,} MiB"
        if any(values.too_many for values in self._values):
            return "inspection given up: the call may read too many objects"
        return unseen or (f"thread {self.other_thread} ran meanwhile" if self.other_thread else None)

    @property
    def other_thread(self) -> str | None:
        """The name of another Python thread that ran during a recording. None if none ran."""
        names = (recording.other_thread for recording in self._recordings)
        return next(filter(None, names), None)

    @property
    def codes(self) -> list[list[CodeType]]:
        """Code of the functions that ran in each recording."""
        return [[code for code, _ in recording.functions.values()] for recording in self._recordings]

    def fingerprint(self) -> Fingerprint | None:
        """Return the fingerprint. Returns None if `unseen` says why there is none."""
        if self.unseen:
            return None
        first, last = self._values[0], self._values[-1]
        values = {
            place: digest.combined(texts)
            for place, texts in last.texts.items()
            if first.texts.get(place) == texts
        }
        functions = self._functions()
        c_functions = set.intersection(*(recording.c_functions for recording in self._recordings))
        work = {
            "operators": digest.short(*self._operators()),
            # Read after the calls, because the first call on a graph of DGL adds data to it.
            "inputs": digest.combined(map(self._contents.text, tensors(tuple(self._call)))),
            "calls": digest.combined(self._calls()),
            "C functions": digest.combined(f"{module}.{name}" for module, name in c_functions),
        }
        packages = {name.partition(".")[0] for name in self._modules(functions)}
        parts = {"functions": functions, "values": values, "libraries": libraries(packages), "work": work}
        set_to = settings({name for recording in self._recordings for name in recording.variables})
        return Fingerprint(
            code=digest.short(*(f"{name} {part[name]}" for part in parts.values() for name in sorted(part))),
            settings=digest.short(*(f"{name} {value}" for name, value in set_to.items())),
            **parts,
            set_to=set_to,
            method=METHOD,
        )

    def _functions(self) -> dict[str, str]:
        """Return hashes of the functions that ran, and of those whose cached results the call may use."""
        cached = (function for values in self._values for function in values.cached.values())
        texts = defaultdict[str, set[str]](set)
        for code, scope in (
            *(entry for recording in self._recordings for entry in recording.functions.values()),
            *((function.__code__, function.__globals__) for function in cached),
        ):
            name, text = _function(code, scope)
            texts[name].add(text)
        return {name: digest.combined(versions) for name, versions in texts.items()}

    def _operators(self) -> list[str]:
        """Return the operators in order, without the arguments that differ between the recordings."""
        first, last = self._recordings[0].operators, self._recordings[-1].operators
        others = last if len(last) == len(first) else [("", "")] * len(first)
        return [
            f"{name} {arguments}" if other == (name, arguments) else name
            for (name, arguments), other in zip(first, others, strict=True)
        ]

    def _calls(self) -> list[str]:
        """Return name and number of calls of each function that ran equally often in both recordings."""
        last = self._recordings[-1]
        return [
            f"{code.co_qualname} {last.calls[key]}"
            for key, (code, _) in last.functions.items()
            if all(recording.calls[key] == last.calls[key] for recording in self._recordings)
        ]

    def _modules(self, functions: Mapping[str, str]) -> set[str]:
        """Return the modules of the functions, C functions and types that the call uses."""
        function = self._call.function
        while isinstance(function, partial):  # a C function that a partial calls is not recorded
            function = function.func
        modules = {name.partition(":")[0] for name in functions} | {
            str(getattr(function, "__module__", None))
        }
        for values in self._values:
            modules |= {str(kind.__module__) for kind in values.types}
        for recording in self._recordings:
            modules |= {str(kind.__module__) for kind in recording.types} | recording.namespaces
            modules |= {module for module, _ in recording.c_functions}
        return modules


def _function(code: CodeType, scope: Mapping[str, Any]) -> tuple[str, str]:
    """Return a function's name, and a text of the hashes of its code, defaults and generated source."""
    text = f"{code_hash(code)} {defaults(code, scope)}"
    if _GENERATED_NAME.search(code.co_filename):
        source = _source(code.co_filename)
        return f"torch.compile:{code.co_name}", f"{text} {source}"
    return f"{module_of(code, scope)}:{code.co_qualname}", text


@cache
def _source(file: str) -> str:
    """Return a hash of a source file that torch.compile wrote. The file contains kernels as strings."""
    with suppress(OSError):
        # Parsing removes the comments: they have numbers that depend on what else was compiled.
        text = ast.unparse(ast.parse(Path(file).read_text(encoding="utf-8")))
        return digest.short(_GENERATED_NAME.sub("", digest.without_folders(text)))
    return ""
