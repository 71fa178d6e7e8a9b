"""The benchmarks that pytest leaves out of a session, and why; it runs in pytest's process."""

import os
import shlex
import sys
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from _pytest.pathlib import fnmatch_ex
from _pytest.skipping import evaluate_skip_marks

from ...ground import units
from . import outcome
from .collected import declares, may_time, owner

_MARKERS = ("benchmark", "codspeed_benchmark")
"""With which pytest-codspeed times a whole test."""
_SELECTING = {"deselect_by_mark": ("-m", "markexpr"), "deselect_by_keyword": ("-k", "keyword")}
"""By function of pytest: the option that it obeys, and its name in a configuration."""
_GNNBENCH = (__name__.partition(".")[0], "gnnbench")
"""The package under both of its names; its plugins say themselves what they deselect."""
_MOST_FILES = 1000
"""Files of an ignored folder that are searched for benchmarks."""
_NAMED = 3


class _Empty(pytest.File):
    """Stands for a named file without tests of Python, such as one with doctests."""

    def collect(self) -> list[pytest.Item]:
        return []


class Excluded:
    """A pytest plugin that notes what is left out, and lets pytest collect only Python's tests."""

    def __init__(self) -> None:
        self.deselected: list[pytest.Item] = []
        """The benchmarks that an option or another plugin deselects."""
        self.overriding: list[str] = []
        """Words of the command line that undo what settings deselect."""
        self._by_gnnbench: list[pytest.Item] = []
        self._numbers: Counter[str] = Counter()
        self._typed: set[str] = set()
        self._skipped: dict[Path, str] = {}
        self._ignored: dict[Path, str] = {}

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Note who deselects tests: the function that calls this hook."""
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001
        while frame and _package(frame) == "pluggy":
            frame = frame.f_back
        if not items or not frame:
            return
        if _package(frame) in _GNNBENCH:
            self._by_gnnbench += items
        elif benchmarks := [item for item in items if declares(item)]:
            self.deselected += benchmarks
            self._numbers[self._selection(frame, items[0].config)] += len(benchmarks)

    def _selection(self, frame: FrameType, config: pytest.Config) -> str:
        """Return what deselects, with what undoes it."""
        function = frame.f_code.co_name
        if _package(frame) != "_pytest":
            return f"{function} of {owner(config, frame.f_globals['__name__'], frame.f_code)}"
        flag, name = _SELECTING.get(function, ("--deselect", "deselect"))
        value = getattr(config.option, name)
        text = shlex.join([flag, *([value] if isinstance(value, str) else value)])
        if _has(config.invocation_params.args, flag):
            self._typed.add(text)
            return text
        undo = [flag, ""] if isinstance(value, str) else ["-o", "addopts="]
        self.overriding += [] if flag in self.overriding else undo
        return f"{text} ({_giver(config, flag)}, which {shlex.join(undo)} overrides)"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_ignore_collect(
        self, collection_path: Path, config: pytest.Config
    ) -> Generator[None, bool | None, bool | None]:
        """Note what pytest ignores."""
        ignored = yield
        if ignored:
            self._ignored[collection_path] = f"ignored by {_ignoring(collection_path, config)}"
        return ignored

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> Generator[None, list[Any], list[Any]]:
        """Leave out what other plugins make of a file, such as doctests, and note files without tests."""
        made = yield
        modules = [
            node for node in made if isinstance(node, pytest.Module) and not isinstance(node, DoctestModule)
        ]
        if not modules and file_path.suffix == ".py":
            patterns = " ".join(parent.config.getini("python_files"))
            self._ignored[file_path] = f"not collected, as python_files is {patterns}; name the file"
        if not modules and parent.session.isinitpath(file_path):  # pytest would refuse its name
            return [_Empty.from_parent(parent, path=file_path)]
        return modules

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note the files that skip themselves."""
        if report.skipped and isinstance(report.longrepr, tuple):
            self._skipped[Path(report.longrepr[0])] = outcome.line(report)

    def lines(self, items: Sequence[pytest.Item]) -> list[str]:
        """Return a line on each reason; where there are benchmarks, not on what the command line excludes."""
        has_benchmarks = any(map(declares, items))
        lines = [
            f"deselected by {reason}: {units.count(number, 'benchmark')}"
            for reason, number in self._numbers.items()
            if not (has_benchmarks and reason in self._typed)
        ]
        files = self._skipped if has_benchmarks else self._skipped | self._ignored
        reasons: dict[str, list[str]] = {}
        for path, reason in files.items():
            if _may_have(path):
                reasons.setdefault(reason, []).append(os.path.relpath(path))
        lines += [f"{reason}: {units.listed(paths, _NAMED)}" for reason, paths in reasons.items()]
        return [*lines, *only_marked([*items, *self._by_gnnbench])]


def only_marked(items: Iterable[pytest.Item]) -> list[str]:
    """Return a line on the tests that are marked as benchmarks, and are none for gnnbench."""
    marked = [item for item in items if not declares(item) and any(map(item.get_closest_marker, _MARKERS))]
    why = "marked as benchmarks, but without the fixture `benchmark`, and so not timed"
    return [f"{why}: {units.count(len(marked), 'test')}"] if marked else []


def skipped_by_marker(items: Iterable[pytest.Item]) -> Iterator[str]:
    """Yield why benchmarks would be skipped."""
    for item in filter(declares, items):
        with suppress(pytest.fail.Exception):  # a condition that raises
            if skip := evaluate_skip_marks(item):
                yield skip.reason


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _giver(config: pytest.Config, flag: str) -> str:
    """Return what gives an option that the command line does not have."""
    places = {
        "PYTEST_ADDOPTS": os.environ.get("PYTEST_ADDOPTS", "").split(),
        f"addopts in {config.inipath and os.path.relpath(config.inipath)}": config.getini("addopts"),
    }
    return next((place for place, words in places.items() if _has(words, flag)), "a plugin or conftest.py")


def _has(words: Iterable[object], flag: str) -> bool:
    return any(str(word).startswith(flag) for word in words)


def _ignoring(path: Path, config: pytest.Config) -> str:
    option, folder = config.option, config.invocation_params.dir
    if any(path == folder / name for name in option.ignore or ()):
        return "--ignore"
    if any(fnmatch(str(path), str(folder / pattern)) for pattern in option.ignore_glob or ()):
        return "--ignore-glob"
    if path.is_dir() and any(fnmatch_ex(pattern, path) for pattern in config.getini("norecursedirs")):
        return "norecursedirs"
    return "a conftest.py (collect_ignore, collect_ignore_glob or a hook)"


def _may_have(path: Path) -> bool:
    """Tell whether a file, or one of a folder, may have benchmarks; not those of installed packages."""
    if path.name.startswith((".", "__pycache__", "conftest")) or (path / "pyvenv.cfg").exists():
        return False
    files = islice(path.rglob("*.py"), _MOST_FILES) if path.is_dir() else [path]
    return any(map(may_time, files))
