"""What pytest collects, on one side or both: benchmarks, what their markers say, whose a fixture is."""

import os
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import CodeType
from typing import Any

from ...ground.errors import UsageError
from ...ground.settings import Settings
from .child import SIDES

IN_PLACE, WHOLE_CALL, FIXED_INPUTS = "in_place", "whole_call", "fixed_inputs"
"""Markers by which the author of a test says how it is timed, and that its inputs must keep their values."""
CHECKED = "gnnbench_checked"
"""Attribute of pytest's options, set where an earlier process has compared a benchmark with its reference."""
SETTINGS = ("conftest.py", "pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini")
"""Files beside tests, and above them, that decide how pytest runs them."""
_CHOOSING = tuple(
    f"--gnn-{name}" for name in ("dataset", "platform", "hidden", "dtype", "index-dtype", "real")
)
"""Options that decide which benchmarks there are."""
_USE = re.compile(rb"def \w+\([^)]*\bbenchmark\b")
_NO_DEFAULT = "none of the selected benchmarks is a default one; give --gnn-all too, after --"
NOTHING: Mapping[str, Any] = {
    **dict.fromkeys(("names", "declared", "notes", "excluded", "places"), ()),
    "refused": {},
    "has_others": False,
    "rootdir": ".",
}
"""What a process says of a suite in which there is nothing."""
_REMEDY = "correct its pattern, unless it is for another machine"


def declares(item: Any) -> bool:
    """Return whether a test requests the fixture `benchmark`."""
    return "benchmark" in getattr(item, "fixturenames", ())


def may_time(file: Path) -> bool:
    """Tell whether a file that is not collected may have benchmarks."""
    return not file.is_file() or _USE.search(file.read_bytes()) is not None


def marked(item: Any, name: str) -> str | None:
    """Return the reason that a pytest item's marker gives, or that it is marked; None: it is not."""
    marker = item.get_closest_marker(name)
    if marker is None:
        return None
    return " ".join(map(str, (*marker.args, *marker.kwargs.values()))) or f"marked {name}"


def foreign_fixture(item: Any) -> str:
    """Say whose fixture `benchmark` a test has, and how to get pytest-benchmark's; empty: it has that one."""
    known = getattr(item, "_fixtureinfo", None)
    for fixture in reversed(known.name2fixturedefs.get("benchmark", ()) if known else ()):
        module = fixture.func.__module__
        if module.partition(".")[0] == "pytest_benchmark":
            return ""
        if "benchmark" not in fixture.argnames:
            plugin, whose = _plugin(item.config, module), owner(item.config, module, fixture.func.__code__)
            name = plugin and item.config.pluginmanager.get_name(plugin[0])
            remedy = f"; -p no:{name} leaves it out" if plugin else ""
            return f"its fixture `benchmark` is that of {whose}{remedy}"
    return ""


def owner(config: Any, module: str, code: CodeType) -> str:
    """Return the installed distribution of a plugin, such as `pytest-cov`, or else the file."""
    plugin = _plugin(config, module)
    return str(plugin[1].metadata["name"]) if plugin else os.path.relpath(code.co_filename)


def _plugin(config: Any, module: str) -> tuple[Any, Any] | None:
    """Return the installed plugin that a module belongs to, and its distribution."""
    for plugin, distribution in config.pluginmanager.list_plugin_distinfo():
        name = getattr(plugin, "__name__", type(plugin).__module__)
        if name.partition(".")[0] == module.partition(".")[0]:
            return plugin, distribution
    return None


def whole_folders(config: Any) -> list[str] | None:
    """Return the folders, relative to rootdir, whose benchmarks the user asks for without an exception.

    None: the user selects some, by files, ids or options.
    """
    option, typed = config.option, map(str, config.invocation_params.args)
    selects = option.keyword or option.markexpr or option.deselect or option.ignore or option.ignore_glob
    named = [Path(config.invocation_params.dir, argument) for argument in config.args]
    if selects or getattr(option, "lf", False) or any(word.startswith(_CHOOSING) for word in typed):
        return None
    if not all(map(Path.is_dir, named)):
        return None
    return [Path(os.path.relpath(folder, config.rootpath)).as_posix() for folder in named]


def unmatched(settings: Settings, names: Collection[str], folders: Collection[str]) -> list[str]:
    """Return a line for each rule that applies and matches none of the benchmarks, as after a rename.

    `folders`: these, relative to rootdir. Rules whose pattern names another folder are left out.
    """
    return [
        f"{settings.place(rule)} ({rule.benchmarks}) matches no benchmark here: {_REMEDY}"
        for rule in settings.rules
        if any(_may_be_in(folder, rule.benchmarks) for folder in folders)
        and not any(map(rule.matches, names))
    ]


def _may_be_in(folder: str, pattern: str) -> bool:
    """Return whether a pattern may match ids in a folder; `.` has all."""
    start = re.split(r"[*?]", pattern)[0]
    return folder == "." or start.startswith(f"{folder}/") or f"{folder}/".startswith(start)


class Suite:
    """What both sides say of the tests that they have collected."""

    def __init__(self, older: Mapping[str, Any] = NOTHING, newer: Mapping[str, Any] = NOTHING) -> None:
        self._sides = dict(zip(SIDES, (older, newer), strict=True))
        self.names = tuple(dict.fromkeys((*newer["names"], *older["names"])))
        """The selected tests of either side; only running a test shows whether it is a benchmark."""
        self._has_others: bool = older["has_others"] or newer["has_others"]
        """Whether gnnbench has benchmarks that are not selected, as they are not default ones."""
        self.declared = frozenset(name for side in self._sides.values() for name in side["declared"])
        """The tests that request the fixture `benchmark` themselves; others may get it indirectly."""
        self.places: tuple[str, ...] = tuple(newer["places"])
        """The folders, files and ids among pytest's arguments, as the newer side reads them."""
        self.rootdir: str = newer["rootdir"]
        """The folder in which ids begin, relative to pytest's working directory."""

    @property
    def benchmarks(self) -> list[str]:
        """The tests that request `benchmark`, in the order of collection."""
        return [name for name in self.names if name in self.declared]

    def chosen(self) -> list[str]:
        """Return the benchmarks."""
        if not self.benchmarks:
            why = "; ".join([*self._sides[SIDES[1]]["excluded"], *self._refusals()]) or "name them: -- PATH"
            raise UsageError(_NO_DEFAULT if self._has_others else f"pytest finds no benchmarks here; {why}")
        return self.benchmarks

    def notes(self, *, all_named: bool = False) -> list[str]:
        """Return a line on each file that a side cannot collect, and each thing that pytest does otherwise.

        `all_named`: whether the benchmarks were named, so that no line says that only default ones run.
        """
        lines = [line for side in self._sides.values() for line in (*side["notes"], *side["excluded"])]
        more = "pytest's argument --gnn-all adds the others"
        choice = [f"of gnnbench's benchmarks, only the default ones: {more}"] if self._has_others else []
        return [*dict.fromkeys(lines), *self._refusals(), *([] if all_named else choice)]

    def missing(self, name: str) -> dict[str, str]:
        """Return the sides that have no test of a name, each with why its file cannot be collected, if so."""
        missing = {}
        for side, given in self._sides.items():
            if name not in given["names"]:
                reasons = (
                    f": {file} cannot be collected: {reason}"
                    for file, reason in given["refused"].items()
                    if name.startswith(file)
                )
                missing[side] = next(reasons, "")
        return missing

    def _refusals(self) -> Iterable[str]:
        for side, given in self._sides.items():
            for file, reason in given["refused"].items():
                yield f"{side}: {file} cannot be collected: {reason}"
