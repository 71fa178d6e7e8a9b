"""The benchmarks that pytest collects on both sides, their markers, and their fixture `benchmark`."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from ...ground.errors import UsageError
from .child import SIDES

IN_PLACE, WHOLE_CALL, FIXED_INPUTS = "in_place", "whole_call", "fixed_inputs"
"""Markers of tests: the first two change how a test is timed, the third keeps the values of its inputs."""
CHECKED = "gnnbench_checked"
"""Attribute of pytest's options: whether an earlier process has compared a benchmark with its reference."""
SETTINGS = (
    *("conftest.py", "pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"),
    *("pyproject.toml", "setup.cfg", "tox.ini"),
)
"""Files next to tests, and in the folders above, that decide how pytest runs them."""
_NO_DEFAULT = "none of the selected benchmarks runs by default; add --gnn-all after --"
NOTHING: Mapping[str, Any] = {
    **dict.fromkeys(("names", "declared", "notes", "excluded", "places"), ()),
    "refused": {},
    "has_others": False,
    "rootdir": ".",
}
"""The answer of a process that collects nothing."""


def uses_benchmark(item: Any) -> bool:
    """Whether a test requests the fixture `benchmark`."""
    return "benchmark" in getattr(item, "fixturenames", ())


def marked(item: Any, name: str) -> str | None:
    """Return the arguments of a test's marker `name`, as text. Returns None if it has no such marker."""
    marker = item.get_closest_marker(name)
    if marker is None:
        return None
    return " ".join(map(str, (*marker.args, *marker.kwargs.values()))) or f"marked {name}"


def foreign_fixture(item: Any) -> str:
    """Return a line on a test if its fixture `benchmark` is not pytest-benchmark's, or else an empty text."""
    info = getattr(item, "_fixtureinfo", None)
    for fixture in reversed(info.name2fixturedefs.get("benchmark", ()) if info else ()):
        module, file = fixture.func.__module__, fixture.func.__code__.co_filename
        if module.partition(".")[0] == "pytest_benchmark":
            return ""
        if "benchmark" not in fixture.argnames:
            plugins = item.config.pluginmanager.list_name_plugin()
            names = [name for name, plugin in plugins if getattr(plugin, "__name__", "") == module]
            remedy = "" if not names or names[0].endswith(".py") else f"; -p no:{names[0]} disables it"
            place = os.path.relpath(file, item.config.invocation_params.dir)
            return f"its fixture `benchmark` comes from {place}{remedy}"
    return ""


class Suite:
    """The tests that both sides have collected."""

    def __init__(self, base: Mapping[str, Any] = NOTHING, head: Mapping[str, Any] = NOTHING) -> None:
        self._sides = dict(zip(SIDES, (base, head), strict=True))
        self.names = tuple(dict.fromkeys((*head["names"], *base["names"])))
        """The selected tests of both sides, including tests that are no benchmarks."""
        self._has_others: bool = base["has_others"] or head["has_others"]
        """Whether gnnbench's own suite has benchmarks that run only with --gnn-all."""
        self.declared = frozenset(name for side in self._sides.values() for name in side["declared"])
        """The tests that request the fixture `benchmark`; others may get it with `getfixturevalue`."""
        self.places: tuple[str, ...] = tuple(head["places"])
        """The folders, files and test ids among pytest's arguments, as the head reads them."""
        self.rootdir: str = head["rootdir"]
        """pytest's rootdir, in which test ids begin, relative to the working directory."""

    @property
    def benchmarks(self) -> list[str]:
        """The tests that request `benchmark`, in the order of collection."""
        return [name for name in self.names if name in self.declared]

    def chosen(self) -> list[str]:
        """Return the benchmarks, or raise a UsageError if there are none."""
        if not self.benchmarks:
            cause = "; ".join([*self._sides[SIDES[1]]["excluded"], *self._refusals()]) or "name them: -- PATH"
            raise UsageError(_NO_DEFAULT if self._has_others else f"pytest finds no benchmarks here; {cause}")
        return self.benchmarks

    def notes(self, *, all_named: bool = False) -> list[str]:
        """Return lines on overridden options, and on tests and files that were left out.

        `all_named`: whether the user named all benchmarks, so that no line says that only default ones run.
        """
        lines = [line for side in self._sides.values() for line in (*side["notes"], *side["excluded"])]
        more = "--gnn-all after -- adds the others"
        choice = [f"of gnnbench's benchmarks, only the default ones run: {more}"] if self._has_others else []
        return [*dict.fromkeys(lines), *self._refusals(), *([] if all_named else choice)]

    def missing(self, name: str) -> dict[str, str]:
        """Return the sides that lack a test, each with the error of collecting its file, or an empty text."""
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
