"""Notes which files of the caller's tree, the project in which gnnbench was started, a process uses."""

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from ...ground.settings import FILES
from ..variants.collected import SETTINGS
from ..variants.import_roots import SIDE, SITE, Trees

_LOADS_LIBRARY = re.compile(
    r"\A\W*import (sys|torch)\n(.*\n.*import torch\b.*\n)?from ctypes import cdll\ncdll\.Load.*\n?\Z"
)
"""Code that only loads a library: torch.compile finds out in this way which instructions the CPU has."""
_ISOLATED = re.compile(r"-\w*[IE]")
"""Options that make Python ignore environment variables, such as those by which it imports a side's code."""


class CallersFiles:
    """Notes the files of the caller's tree that this process uses; there is one instance in a process.

    Of these files, `foreign` ones have a copy on this side, `data` are not code, `shared` ones are the
    suite's Python files, and `built` ones are libraries that may be built from sources of the other side.
    """

    def __init__(self, trees: Trees, package: str) -> None:
        self._trees, self._package = trees, package
        self._files: dict[str, set[str]] = {kind: set() for kind in ("foreign", "data", "shared", "built")}
        self._noted_paths: set[str] = set()
        """Paths of modules and libraries that were noted before."""
        self._other_python = ""
        """The command by which this benchmark started a Python that does not import the side's modules."""
        self._shared_other_python = ""
        """The same for the imports of the tests, and for fixtures that several benchmarks share."""

    def note(self, path: str) -> None:
        if path.startswith(self._package):
            return
        if path.endswith(".pyc"):
            try:
                path = importlib.util.source_from_cache(path)
            except ValueError:  # the file is next to its source
                path = path.removesuffix("c")
        file, is_foreign = self._trees.caller_path(path) or ("", False)
        if not file or os.path.basename(file) in {*SETTINGS[1:], *FILES}:
            return
        is_code = file.endswith(".py")
        if is_code and self._trees.side_path(file) is None:  # a file of the suite
            self._files["shared"].add(file)
        elif is_foreign or not is_code:
            self._files["foreign" if is_foreign else "data"].add(file)

    def note_process(
        self, program: Any, arguments: Any, folder: Any, variables: Any, *, is_shared: bool
    ) -> None:
        """Note the files in a new process's command, and the command of a Python without the side's code."""
        if not (self._trees.replaces_modules and isinstance(arguments, list | tuple)):
            return
        words = [os.fsdecode(word) for word in arguments if isinstance(word, str | bytes | os.PathLike)]
        for word in words:
            path = os.path.join(os.fsdecode(folder or "."), word)
            if os.path.isfile(path):
                self.note(os.path.abspath(path))
        name = os.fsdecode((program or words[0]) if words else "")
        if not os.path.basename(name).startswith("python") or _LOADS_LIBRARY.search(words[-1]):
            return
        is_other = os.path.realpath(shutil.which(name) or name) != os.path.realpath(sys.executable)
        is_isolated = any(map(_ISOLATED.match, takewhile(lambda word: word.startswith("-"), words[1:])))
        inherited = os.environ if variables is None else variables
        has_paths = SIDE in inherited and str(inherited.get("PYTHONPATH", "")).startswith(SITE)
        if is_other or is_isolated or not has_paths:
            command = " ".join(words[:2])
            if is_shared:
                self._shared_other_python = command
            self._other_python = command

    def take(self) -> dict[str, Any]:
        """Return the files noted so far or in use now, as JSON.

        `data` and `other_python` have only what was noted since the last call.
        """
        files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
        files |= mapped_files()
        for path in {file for file in files if isinstance(file, str)} - self._noted_paths:
            self._noted_paths.add(path)
            self.note(path)
            if not path.startswith(self._package) and (file := self._trees.unverified_build(path)):
                self._files["built"].add(file)
        for link in os.scandir("/proc/self/fd"):
            if os.path.islink(link):  # else it was the descriptor of the listing itself
                self.note(os.readlink(link))
        noted = {kind: sorted(paths) for kind, paths in self._files.items()}
        other_python = self._other_python or self._shared_other_python
        self._files["data"].clear()
        self._other_python = ""
        return {
            **noted,
            "tests": sorted(self._files["shared"] & self._trees.tests.collected),
            "withheld": sorted(self._trees.withheld),
            "borrowed": sorted(self._trees.borrowed),
            "other_python": other_python,
        }


def mapped_files() -> set[str]:
    """Return the files that are mapped into memory: libraries, and data, even if native code opened it."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:
        return {os.sep + line.rstrip("\n").partition(os.sep)[2] for line in lines if os.sep in line}


def why_incomparable(used: Mapping[str, Mapping[str, Any]], differing: Collection[str], build: str) -> str:
    """Return why the sides cannot be compared, or an empty text. `used`: the result of each side's `take`."""
    for side, files in used.items():
        if paths := [path for path in files["foreign"] if path in differing]:
            return f"{side}: the benchmark uses the working tree's {_short(paths)}; the sides differ in it"
        if paths := [*files["withheld"], *files["built"]]:
            remedy = "give --build CMD (pytest: --gnn-build), or path:DIR of a build"
            advice = f"{build!r} does not build it" if build else remedy
            return f"{side}: {_short(paths)} may be built from other files than this side's: {advice}"
        if command := files["other_python"]:
            return f"{side}: the benchmark starts a Python that does not import this side's code: {command}"
    return ""


def _short(paths: Sequence[str]) -> str:
    """Return the first path, relative to the working directory, and how many more there are."""
    path = os.path.relpath(paths[0])
    return f"{path} and {len(paths) - 1} more" if len(paths) > 1 else path


def data_read(usages: Iterable[Mapping[str, Any]], differing: Collection[str]) -> tuple[str, ...]:
    """Return the files that were read and differ between the sides, but are not Python code."""
    paths = {path for usage in usages if usage for path in usage["callers_files"]["data"]}
    return tuple(f"file {os.path.relpath(path)}" for path in sorted(paths.intersection(differing)))


def notes_on(used: Mapping[str, Mapping[str, Any]], differing: Collection[str], test: str) -> Iterator[str]:
    """Yield notes on files of the working tree that a side uses although its own version may differ."""
    test_file = os.sep + test.partition("::")[0]
    shared_paths = {path for files in used.values() for path in files["shared"]}
    test_paths = {path for files in used.values() for path in files["tests"]}
    for path in sorted(shared_paths.intersection(differing)):
        if path.endswith(test_file) or path not in test_paths:  # other test files do not matter
            yield f"both sides use the working tree's {os.path.relpath(path)}"
    for side, files in used.items():
        for path in files["borrowed"]:
            yield f"{side} uses the working tree's {os.path.relpath(path)}, which git ignores"
