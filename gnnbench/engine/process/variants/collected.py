"""What pytest collects, on one side or both: benchmarks, what their markers say, whose a fixture is."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from ...ground.errors import UsageError
from .child import SIDES

IN_PLACE, WHOLE_CALL, FIXED_INPUTS = "in_place", "whole_call", "fixed_inputs"
"""Markers by which the author of a test says how it is timed, and that its inputs must keep their values."""
CHECKED = "gnnbench_checked"
"""Attribute of pytest's options, set where an earlier process has compared a benchmark with its reference."""
SETTINGS = ("conftest.py", "pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini")
"""Files beside tests, and above them, that decide how pytest runs them."""
_NO_DEFAULT = "none of the selected benchmarks is a default one; give --gnn-all too, after --"
NOTHING: Mapping[str, Any] = {
    **dict.fromkeys(("names", "declared", "notes", "excluded", "places"), ()),
    "refused": {},
    "has_others": False,
    "rootdir": ".",
}
"""What a process says of a suite in which there is nothing."""


def declares(item: Any) -> bool:
    """Return whether a test requests the fixture `benchmark`."""
    return "benchmark" in getattr(item, "fixturenames", ())


def marked(item: Any, name: str) -> str | None:
    """Return the reason that a pytest item's marker gives. Returns None if it has no such marker."""
    marker = item.get_closest_marker(name)
    if marker is None:
        return None
    return " ".join(map(str, (*marker.args, *marker.kwargs.values()))) or f"marked {name}"


def foreign_fixture(item: Any) -> str:
    """Return whose fixture `benchmark` a test has, with what leaves it out; empty if pytest-benchmark's."""
    info = getattr(item, "_fixtureinfo", None)
    for fixture in reversed(info.name2fixturedefs.get("benchmark", ()) if info else ()):
        module, file = fixture.func.__module__, os.path.relpath(fixture.func.__code__.co_filename)
        if module.partition(".")[0] == "pytest_benchmark":
            return ""
        if "benchmark" not in fixture.argnames:
            plugins = item.config.pluginmanager.list_name_plugin()
            names = [name for name, plugin in plugins if getattr(plugin, "__name__", "") == module]
            remedy = "" if not names or names[0].endswith(".py") else f"; -p no:{names[0]} leaves it out"
            return f"its fixture `benchmark` comes from {file}{remedy}"
    return ""


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
            cause = "; ".join([*self._sides[SIDES[1]]["excluded"], *self._refusals()]) or "name them: -- PATH"
            raise UsageError(_NO_DEFAULT if self._has_others else f"pytest finds no benchmarks here; {cause}")
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
        sides = {}
        for side, collection in self._sides.items():
            if name not in collection["names"]:
                reasons = (
                    f": {file} cannot be collected: {reason}"
                    for file, reason in collection["refused"].items()
                    if name.startswith(file)
                )
                sides[side] = next(reasons, "")
        return sides

    def _refusals(self) -> Iterable[str]:
        for side, collection in self._sides.items():
            for file, reason in collection["refused"].items():
                yield f"{side}: {file} cannot be collected: {reason}"
