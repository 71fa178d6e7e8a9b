"""Take the fingerprint of a call, and compare two of them.

gnnbench takes two calls with equal fingerprints to run the same code on the same kind of input with the same
settings, and does not time them. docs/same-code.md lists what this assumes.
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
from .recording import Recording, watched_threads
from .values import Values, module_of

TIMES_AS_LONG = 50
"""The recording of a call may take this many times as long as the call, and a second more."""
_GENERATED_NAME = re.compile(r"\bc[a-z2-7]{50,}\b")
"""Names of torch.compile's files and kernels: hashes of their content and of the machine."""


METHOD = 4
"""How hashes are computed: increase it whenever unchanged code would get other hashes."""


@dataclass(frozen=True)
class Fingerprint:
    """What one call runs. Hashes have 16 hexadecimal digits."""

    code: str
    """Hash of all but the settings."""
    settings: str
    functions: Mapping[str, str]
    """Hash of each Python function that runs, by module and qualified name."""
    values: Mapping[str, str]
    """Hash of each global, attribute and captured value that these may read, by place."""
    libraries: Mapping[str, str]
    """Hash of each native library, by file name; `python` is the interpreter."""
    work: Mapping[str, str]
    """Hashes of what the functions do: `operators` with their arguments in order, `inputs`, the numbers of
    `calls` of Python functions, and the names of `C functions`."""
    set_to: Mapping[str, str]
    """The settings by name; environment variables begin with `$`, and have hashes as values."""
    method: int = 1
    """How hashes were computed: only those of METHOD can be compared."""

    def same_code(self, other: "Fingerprint") -> bool:
        """Tell whether both run the same code on the same kind of input with the same settings."""
        return (self.code, self.settings) == (other.code, other.settings)


class Watch:
    """Two recordings of one call.

    Values, arguments of operators, numbers of calls and C functions that differ between the recordings do
    not count: the call itself changes them.
    """

    def __init__(self, call: Call, now: Callable[[], float] = RealTime.seconds) -> None:
        """Take the call, and a clock that shows seconds; the caller runs the call, inside of `recording`."""
        self._call, self._now, self._most_seconds = call, now, math.inf
        self._contents = Contents(list(tensors(tuple(call))))
        self._recordings: list[Recording] = []
        self._values: list[Values] = []

    @contextmanager
    def timing(self) -> Iterator[None]:
        """Time the call, which the caller runs meanwhile: this time limits that of recordings."""
        start = self._now()
        yield
        self._most_seconds = TIMES_AS_LONG * (self._now() - start) + 1

    @contextmanager
    def recording(self) -> Iterator[Recording]:
        """Return a recording of what the caller runs meanwhile."""
        end = self._now() + self._most_seconds
        recording = Recording(self._contents, lambda: self._now() > end)
        with watched_threads(recording):
            yield recording
        self._recordings.append(recording)
        self._values.append(self._read(recording))

    def _read(self, recording: Recording) -> Values:
        """Return the values that the recorded functions may read."""
        cached: dict[int, FunctionType] = {}
        while True:
            scopes = [*recording.functions.values()]
            scopes += [(function.__code__, function.__globals__) for function in cached.values()]
            values = Values((code for code, _ in scopes), self._contents)
            values.look("function", self._call.function)
            for name, item in (*enumerate(self._call.args), *self._call.kwargs.items()):
                values.look(f"argument {name}", item)
            for code, scope in scopes:
                values.globals_of(code, scope, cached=id(code) in cached)
            for item in recording.objects.values():
                values.look(type(item).__qualname__, item)
            for key, captured in recording.captured.items():
                code, scope = recording.functions[key]
                for item in captured.values():
                    values.look(f"{module_of(code, scope)}.{code.co_qualname} captures", item)
            if values.too_many or values.cached.keys() <= cached.keys():
                recording.objects.clear()
                return values
            cached = values.cached

    @property
    def unseen(self) -> str | None:
        """Why there is no fingerprint; None if there is one."""
        unseen = next((recording.unseen for recording in self._recordings if recording.unseen), None)
        if any(recording.given_up for recording in self._recordings):
            return f"inspection given up: recording takes more than {TIMES_AS_LONG} times as long as the call"
        if self._contents.too_large:
            return f"inspection given up: integers of more than {self._contents.most_bytes >> 20:,} MiB"
        if any(values.too_many for values in self._values):
            return "inspection given up: the call may read too many objects"
        return f"thread {self.disturbed} ran meanwhile" if self.disturbed and not unseen else unseen

    @property
    def disturbed(self) -> str | None:
        """The name of another Python thread that ran meanwhile, if one did."""
        return next((recording.disturbed for recording in self._recordings if recording.disturbed), None)

    @property
    def codes(self) -> list[list[CodeType]]:
        """By recording, the code of the functions that ran."""
        return [[code for code, _ in recording.functions.values()] for recording in self._recordings]

    def fingerprint(self) -> Fingerprint | None:
        """Return the fingerprint. Returns None if a part of what runs cannot be seen."""
        if self.unseen:
            return None
        first, last = self._values[0], self._values[-1]
        values = {
            place: digest.combined(texts)
            for place, texts in last.texts.items()
            if first.texts.get(place) == texts
        }
        functions = self._functions()
        names = set.intersection(*(recording.c_functions for recording in self._recordings))
        work = {
            "operators": digest.short(*self._operators()),
            # Read last: a graph of DGL builds what a call needs in the first call.
            "inputs": digest.combined(map(self._contents.text, tensors(tuple(self._call)))),
            "calls": digest.combined(self._calls()),
            "C functions": digest.combined(f"{module}.{name}" for module, name in names),
        }
        packages = {name.partition(".")[0] for name in self._modules(functions)}
        parts = (functions, values, libraries(packages), work)
        set_to = settings({name for recording in self._recordings for name in recording.variables})
        return Fingerprint(
            digest.short(*(f"{name} {part[name]}" for part in parts for name in sorted(part))),
            digest.short(*(f"{name} {value}" for name, value in set_to.items())),
            *parts,
            set_to,
            METHOD,
        )

    def _functions(self) -> dict[str, str]:
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
        """Return the operators in order, without arguments that differ between the recordings."""
        first, last = self._recordings[0].operators, self._recordings[-1].operators
        others = last if len(last) == len(first) else [("", "")] * len(first)
        return [
            f"{name} {arguments}" if other == (name, arguments) else name
            for (name, arguments), other in zip(first, others, strict=True)
        ]

    def _calls(self) -> list[str]:
        """Return names and numbers of calls, of functions for which both recordings agree."""
        last = self._recordings[-1]
        return [
            f"{code.co_qualname} {last.calls[key]}"
            for key, (code, _) in last.functions.items()
            if all(recording.calls[key] == last.calls[key] for recording in self._recordings)
        ]

    def _modules(self, functions: Mapping[str, str]) -> set[str]:
        """Return the modules whose functions, C functions or types are used."""
        function = self._call.function
        while isinstance(function, partial):  # calls of C functions by a partial are not recorded
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
    """Return a function's name, and its code, default values and generated source as text."""
    text = f"{code_hash(code)} {defaults(code, scope)}"
    if _GENERATED_NAME.search(code.co_filename):
        source = _source(code.co_filename)
        return f"torch.compile:{code.co_name}", f"{text} {source}"
    return f"{module_of(code, scope)}:{code.co_qualname}", text


@cache
def _source(file: str) -> str:
    """Return a hash of a file that torch.compile wrote: the kernels are texts in it."""
    with suppress(OSError):
        # Without its comments, which number the compiled functions of the process.
        text = ast.unparse(ast.parse(Path(file).read_text(encoding="utf-8")))
        return digest.short(_GENERATED_NAME.sub("", digest.without_folders(text)))
    return ""
