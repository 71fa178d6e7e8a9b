"""Selects the benchmarks to profile, and makes their titles for a list."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

_TITLE = ("operation", "direction", "platform")
"""Parameters that every title has."""


def named(items: Sequence[pytest.Item], name: str) -> list[pytest.Item]:
    """Return the benchmarks of an operation; if there is none, those whose operation begins with these words.

    `spmm` matches `spmm_sum` but not `spmms`. If a test has no parameter `operation`, its function's name
    without `test_` is the operation.
    """
    exact = [item for item in items if _operation(item) == name]
    return exact or [item for item in items if _operation(item).startswith(f"{name}_")]


def titles(items: Sequence[pytest.Item]) -> list[str]:
    """Return a title for each benchmark: `conv forward pyg`, and the parameters that differ."""
    names = dict.fromkeys(name for item in items for name in _parameters(item) if name not in _TITLE)
    several = [name for name in names if len({str(_parameters(item).get(name)) for item in items}) > 1]
    return [_title(item, (*_TITLE, *several)) for item in items]


def _title(item: pytest.Item, names: Sequence[str]) -> str:
    parameters = _parameters(item)
    if "operation" not in parameters:
        return item.name
    values = [parameters.get(name) for name in names]
    return " ".join(str(value) for value in values if isinstance(value, str | int | float))


def _operation(item: pytest.Item) -> str:
    function = getattr(item, "originalname", item.name)
    return str(_parameters(item).get("operation", function.removeprefix("test_")))


def _parameters(item: pytest.Item) -> Mapping[str, Any]:
    return getattr(getattr(item, "callspec", None), "params", {})
