"""The files of the caller's tree that a process used although its side has its own."""

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

_MAPPED, _OPENED = "/proc/self/maps", "/proc/self/fd"
_PYTHON = "python"
_ISOLATED = re.compile(r"-\w*[IE]")
"""Options with which Python ignores the variables that give it its side's imports."""


class Crossings:
    """Notes the files of the caller's tree that this process uses; a process has one instance."""

    def __init__(self, trees: Trees, package: str) -> None:
        self._trees, self._package = trees, package
        self._files: dict[str, set[str]] = {kind: set() for kind in ("foreign", "data", "shared", "built")}
        self._seen: set[str] = set()
        """Paths of modules and libraries that were noted."""
        self._unreached = ""

    def note(self, path: str) -> None:
        """Note a file that is opened or imported."""
        if path.startswith(self._package):
            return
        if path.endswith(".pyc"):
            try:
                path = importlib.util.source_from_cache(path)
            except ValueError:  # the file is next to its source
                path = path.removesuffix("c")
        file, is_foreign = self._trees.callers(path) or ("", False)
        if not file or os.path.basename(file) in {*SETTINGS[1:], *FILES}:
            return
        is_code = file.endswith(".py")
        if is_code and self._trees.moved(file) is None:  # of the suite
            self._files["shared"].add(file)
        elif is_foreign or not is_code:
            self._files["foreign" if is_foreign else "data"].add(file)

    def start(self, program: Any, arguments: Any, folder: Any, variables: Any) -> None:
        """Note a program that is started: a script, and a Python that does not get its side's imports."""
        if not (self._trees.is_elsewhere and isinstance(arguments, list | tuple)):
            return
        words = [os.fsdecode(word) for word in arguments if isinstance(word, str | bytes | os.PathLike)]
        for word in words:
            path = os.path.join(os.fsdecode(folder or "."), word)
            if os.path.isfile(path):
                self.note(os.path.abspath(path))
        name = os.fsdecode(program or words[0] if words else "")
        if not os.path.basename(name).startswith(_PYTHON):
            return
        is_other = os.path.realpath(shutil.which(name) or name) != os.path.realpath(sys.executable)
        is_alone = any(map(_ISOLATED.match, takewhile(lambda word: word.startswith("-"), words[1:])))
        inherited = os.environ if variables is None else variables
        lacks = inherited.get(SIDE) is None or not str(inherited.get("PYTHONPATH", "")).startswith(SITE)
        if is_other or lacks or is_alone:
            self._unreached = self._unreached or " ".join(words[:2])

    def take(self) -> dict[str, Any]:
        """Return what was noted so far, with the files that are imported, mapped or open now, as JSON.

        Data files are those noted since the last call.
        """
        files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
        with open(_MAPPED, encoding="utf-8", errors="surrogateescape") as lines:  # libraries
            files |= {os.sep + line.rstrip("\n").partition(os.sep)[2] for line in lines if os.sep in line}
        for path in {file for file in files if isinstance(file, str)} - self._seen:
            self._seen.add(path)
            self.note(path)
            if not path.startswith(self._package) and (file := self._trees.built(path)):
                self._files["built"].add(file)
        for link in os.scandir(_OPENED):
            if os.path.islink(link):  # else it was the descriptor of the listing itself
                self.note(os.readlink(link))
        crossed = {kind: sorted(paths) for kind, paths in self._files.items()}
        self._files["data"].clear()
        return {
            **crossed,
            "tests": sorted(self._files["shared"] & self._trees.tests.collected),
            "withheld": sorted(self._trees.withheld),
            "borrowed": sorted(self._trees.borrowed),
            "unreached": self._unreached,
        }


def why_incomparable(crossed: Mapping[str, Mapping[str, Any]], differing: Collection[str], build: str) -> str:
    """Return why the sides cannot be compared, in one line; empty if they can."""
    for side, files in crossed.items():
        if paths := [path for path in files["foreign"] if path in differing]:
            return f"{side}: it uses {_named(paths)} of the working tree, which differs between the sides"
        if paths := [*files["withheld"], *files["built"]]:
            remedy = "give --build CMD (pytest: --gnn-build), or path:DIR of a build"
            advice = f"{build} does not make it" if build else remedy
            return f"{side}: {_named(paths)} is not known to be built from this side's files: {advice}"
        if files["unreached"]:
            return f"{side}: not compared: the benchmark starts Python with other code: {files['unreached']}"
    return ""


def _named(paths: Sequence[str]) -> str:
    path = os.path.relpath(paths[0])
    return f"{path} and {len(paths) - 1} more" if len(paths) > 1 else path


def data_read(crossed: Iterable[Mapping[str, Any]], differing: Collection[str]) -> tuple[str, ...]:
    """Return the names of the files that were read, differ between the sides, and are no Python code."""
    paths = {path for files in crossed for path in files["data"]}
    return tuple(f"file {os.path.relpath(path)}" for path in sorted(paths.intersection(differing)))


def notes_on(
    crossed: Mapping[str, Mapping[str, Any]], differing: Collection[str], test: str
) -> Iterator[str]:
    """Yield a note on each file of the suite, or of a build, that both sides use although it may differ."""
    file = os.sep + test.partition("::")[0]
    shared_paths = {path for files in crossed.values() for path in files["shared"]}
    test_paths = {path for files in crossed.values() for path in files["tests"]}
    for path in sorted(shared_paths.intersection(differing)):
        if path.endswith(file) or path not in test_paths:
            yield f"both sides run today's {os.path.relpath(path)}"
    for side, files in crossed.items():
        for path in files["borrowed"]:
            yield f"{side} uses the working tree's {os.path.relpath(path)}, which git ignores"
