"""Comparisons as CSV: one row for each benchmark, with raw numbers and units in the names of columns."""

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from ..compare.along import Along
from ..compare.comparison import Comparison
from ..errors import printable
from .document import chosen
from .names import specs_of
from .verdicts import COLUMNS, named

_ALONG = (("ratio", "low", "high", "own_low", "own_high", "head_ns"), ("verdict", "reason", "notes"))
"""The columns of verdicts in a comparison along an axis, before and behind its own."""


def of_comparison(found: Comparison) -> str:
    """Write the verdicts of two sides; the fields of specs are columns."""
    specs = specs_of(found.rows)
    columns = chosen(COLUMNS, "csv", found.rows)
    return text(
        row_of(
            {"benchmark": row.fullname},
            {} if (spec := specs[row.fullname]) is None else asdict(spec),
            {column.title: column.of(row) for column in columns},
        )
        for row in found.rows
    )


def of_along(found: Along) -> str:
    """Write the rows of a comparison along an axis; the fields of benchmarks are columns."""
    first, last = (named("csv", *names) for names in _ALONG)
    return text(
        row_of(
            {"benchmark": row.pair.fullname, "base_benchmark": row.pair.base},
            {**row.pair.fields, found.field: row.pair.value, f"base_{found.field}": found.base},
            {
                **{column.title: column.of(row) for column in first},
                "base_ns": None if row.base_seconds is None else row.base_seconds * 1e9,
                "processes": row.judgement.head_processes,
                **{column.title: column.of(row) for column in last},
            },
        )
        for row in found.rows
    )


def row_of(names: Mapping[str, Any], fields: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row. A field whose name is that of another column has `param_` before it."""
    taken = names.keys() | values.keys()
    return {
        **names,
        **{f"param_{name}" if name in taken else name: value for name, value in fields.items()},
        **values,
    }


def text(rows: Iterable[Mapping[str, Any]]) -> str:
    """Write rows; the columns are those of all rows, and an empty cell is a missing value.

    Unprintable characters of names are replaced: some could not be written to a file.
    """
    found = list(rows)
    columns = dict.fromkeys(name for row in found for name in row)
    out = io.StringIO()
    writer = csv.DictWriter(out, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)
    return printable(out.getvalue())
