"""A pytest plugin that notes which benchmarks a session leaves out, and why."""

import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import filterfalse, islice
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from _pytest.skipping import evaluate_skip_marks

from ...ground import units
from . import outcome
from .collected import uses_benchmark

_MARKERS = ("benchmark", "codspeed_benchmark")
"""Markers with which pytest-codspeed times a whole test."""
_SELECTING = {"deselect_by_mark": ("-m", "markexpr"), "deselect_by_keyword": ("-k", "keyword")}
"""The option by which a function of pytest deselects tests: its flag, and its name in `config.option`."""
_GNNBENCH = (__name__.partition(".")[0], "gnnbench")
"""Both names of this package, see `child`. Its plugins themselves report what they deselect."""
_MOST_FILES = 1000
"""Largest number of files of an ignored folder that are searched for benchmarks."""
_MOST_PATHS = 3
_IGNORED = "left out by --ignore, --ignore-glob, norecursedirs or a conftest.py"
_USE = re.compile(rb"def \w+\([^)]*\bbenchmark\b")
"""The beginning of a function with the parameter `benchmark`."""


class _Empty(pytest.File):
    """Replaces what other plugins collect from a file that the command line names."""

    def collect(self) -> list[pytest.Item]:
        return []


class Excluded:
    """A pytest plugin that notes what is left out, and lets pytest collect only tests in Python."""

    def __init__(self) -> None:
        self.deselected: list[pytest.Item] = []
        """The benchmarks that an option or another plugin has deselected."""
        self.overriding: list[str] = []
        """Command-line arguments to override those options in settings files that deselect benchmarks."""
        self._numbers: Counter[str] = Counter()
        """Numbers of deselected benchmarks, by reason."""
        self.typed: set[str] = set()
        """Reasons that the user typed."""
        self._left_out: dict[Path, str] = {}
        """Reasons why files and folders are not collected, by path."""

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Note which benchmarks the function that calls this hook has deselected."""
        frame = sys._getframe(1)  # noqa: SLF001
        while _package(frame) == "pluggy" and frame.f_back:
            frame = frame.f_back
        benchmarks = list(filter(uses_benchmark, items))
        if benchmarks and _package(frame) not in _GNNBENCH:
            self.deselected += benchmarks
            self._numbers[self._selection(frame, benchmarks[0].config)] += len(benchmarks)

    def _selection(self, frame: FrameType, config: pytest.Config) -> str:
        """Return the option or function that deselects benchmarks, and how to override such an option."""
        function, file = frame.f_code.co_name, frame.f_code.co_filename
        if _package(frame) != "_pytest":
            return f"{function} of {os.path.relpath(file)}"
        flag, name = _SELECTING.get(function, ("--deselect", "deselect"))
        value = getattr(config.option, name)
        text = shlex.join([flag, *([value] if isinstance(value, str) else value)])
        if any(str(word).startswith(flag) for word in config.invocation_params.args):
            self.typed.add(text)
        if text in self.typed:
            return text
        undo = [flag, ""] if isinstance(value, str) else ["-o", "addopts="]
        self.overriding += [] if flag in self.overriding else undo
        return f"{text} ({shlex.join(undo)} undoes it)"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Path) -> Generator[None, bool | None, bool | None]:
        """Note the files and folders that pytest ignores."""
        if ignored := (yield):
            self._left_out[collection_path] = _IGNORED
        return ignored

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> Generator[None, list[Any], list[Any]]:
        """Remove what other plugins collect, and note Python files without tests."""
        nodes = yield
        modules = [node for node in nodes if isinstance(node, pytest.Module)]
        if not modules and file_path.suffix == ".py":
            patterns = " ".join(parent.config.getini("python_files"))
            self._left_out[file_path] = f"not collected, as python_files is {patterns}; give the path"
        if not modules and parent.session.isinitpath(file_path):  # without a node, pytest raises an error
            return [_Empty.from_parent(parent, path=file_path)]
        return modules

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note the files that skip all of their tests."""
        if report.skipped and isinstance(report.longrepr, tuple):
            self._left_out[Path(report.longrepr[0])] = outcome.line(report)

    def lines(self, items: Sequence[pytest.Item]) -> list[str]:
        """Return a line on each reason. If `items` has benchmarks, leave out reasons that users expect."""
        has_benchmarks = any(map(uses_benchmark, items))
        lines = [
            f"deselected by {reason}: {units.count(number, 'benchmark')}"
            for reason, number in self._numbers.items()
            if not (has_benchmarks and reason in self.typed)
        ]
        reasons: dict[str, list[str]] = {}
        for path, reason in self._left_out.items():
            if (reason.startswith("skipped") or not has_benchmarks) and _may_have(path):
                reasons.setdefault(reason, []).append(os.path.relpath(path))
        lines += [f"{reason}: {units.listed(paths, _MOST_PATHS)}" for reason, paths in reasons.items()]
        return [*lines, *_only_marked(items)]


def _only_marked(items: Iterable[pytest.Item]) -> list[str]:
    """Return a line on tests that are marked as benchmarks but do not request the fixture `benchmark`."""
    others = filterfalse(uses_benchmark, items)
    marked = [item for item in others if any(map(item.get_closest_marker, _MARKERS))]
    reason = "marked as benchmarks, but not timed, as they do not use the fixture `benchmark`"
    return [f"{reason}: {units.count(len(marked), 'test')}"] if marked else []


def skipped_by_marker(items: Iterable[pytest.Item]) -> Iterator[str]:
    """Yield the reasons for which markers would skip benchmarks."""
    for item in filter(uses_benchmark, items):
        with suppress(pytest.fail.Exception):  # invalid conditions of markers raise it
            if skip := evaluate_skip_marks(item):
                yield skip.reason


def _package(frame: FrameType) -> str:
    """Return the top-level package whose code runs in a frame."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _may_have(path: Path) -> bool:
    """Whether a file, or one of the files in a folder, may have benchmarks."""
    if path.name.startswith((".", "__pycache__", "conftest")) or (path / "pyvenv.cfg").exists():
        return False
    files = islice(path.rglob("*.py"), _MOST_FILES) if path.is_dir() else [path]
    return any(not file.is_file() or _USE.search(file.read_bytes()) for file in files)
