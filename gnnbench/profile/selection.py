"""Which of a suite's benchmarks are profiled, and what they are called in a list."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

_TITLE = ("operation", "direction", "platform")
"""Parameters that a title has in any case."""


def named(items: Sequence[pytest.Item], name: str) -> list[pytest.Item]:
    """Return the benchmarks of the operation of a name; where there is none, of those that begin with it.

    An operation begins with `spmm` as a whole word: `spmm_sum` does, `spmms` does not. Of a test without the
    parameter `operation`, the name of its function without `test_` is the operation.
    """
    exact = [item for item in items if _operation(item) == name]
    return exact or [item for item in items if _operation(item).startswith(f"{name}_")]


def titles(items: Sequence[pytest.Item]) -> list[str]:
    """Return what each is called in a list: `conv forward pyg`, and what else tells it apart."""
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
