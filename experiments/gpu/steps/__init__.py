"""The steps, the most important first. Each module lists its units, runs one and makes the table."""

import importlib
from collections.abc import Mapping
from typing import Any, Protocol, cast

STEPS = (
    *("machine", "cuda_tests", "core", "clocks", "sessions", "identical", "planted", "pull_request"),
    "baseline",
)


class Step(Protocol):
    """The interface of a step's module; its docstring is the heading of its table."""

    def units(self, small: bool) -> dict[str, float]:
        """Return the units, and about how many seconds each takes on an H100."""

    def run(self, unit: str, plan: Any) -> Any:
        """Run a unit, and return its result, which can be saved as JSON."""

    def table(self, found: Mapping[str, Any]) -> str:
        """Return a Markdown table of the results of all units."""


def load(name: str) -> Step:
    """Import a step."""
    return cast("Step", importlib.import_module(f"steps.{name}"))


def rows(heading: str, cells: Any) -> str:
    """Return a table in Markdown."""
    titles = heading.split("|")
    lines = [titles, ["---"] * len(titles), *cells]
    return "\n".join(f"| {' | '.join(str(cell).strip() for cell in line)} |" for line in lines)
