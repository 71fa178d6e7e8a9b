"""The steps, the most important first. Each module lists its units, runs one and makes the table."""

import importlib
from collections.abc import Mapping
from typing import Any, Protocol, cast

STEPS = (
    *("machine", "cuda_tests", "core", "clocks", "sessions", "identical", "planted", "pull_request"),
    *("seeds", "baseline", "counters"),
)


class Step(Protocol):
    """What each module has; its docstring is the heading of its table."""

    def units(self, small: bool) -> dict[str, float]:
        """Return the seconds that each unit will take, on one H100 or so."""

    def run(self, unit: str, plan: Any) -> Any:
        """Run a unit, and return what JSON can hold."""

    def table(self, found: Mapping[str, Any]) -> str:
        """Lay out in Markdown what units found."""


def load(name: str) -> Step:
    """Import a step."""
    return cast("Step", importlib.import_module(f"steps.{name}"))


def rows(heading: str, cells: Any) -> str:
    """Return a table in Markdown."""
    titles = heading.split("|")
    lines = [titles, ["---"] * len(titles), *cells]
    return "\n".join(f"| {' | '.join(str(cell).strip() for cell in line)} |" for line in lines)
