"""Comparisons as CSV: one row for each benchmark, with raw numbers and units in the names of columns."""

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from ..compare.along import Along
from ..compare.comparison import Comparison
from ..compare.verdict import Judgement
from ..errors import printable
from .labels import specs_of

_NUMBERS = ("ratio", "low", "high", "own_low", "own_high")


def of_comparison(found: Comparison) -> str:
    """Write the verdicts of two sides; the fields of specs are columns."""
    specs = specs_of(found.rows)
    return text(
        row_of(
            {"benchmark": row.fullname},
            {} if (spec := specs[row.fullname]) is None else asdict(spec),
            {
                **_ratios(row.judgement),
                "minimum_detectable_effect": row.judgement.minimum_detectable_effect,
                "head_ns": _nanoseconds(row.seconds),
                "base_processes": row.judgement.base_processes,
                "head_processes": row.judgement.head_processes,
                "verdict": row.judgement.verdict,
                "reason": row.judgement.reason,
                "notes": "; ".join(row.notes),
            },
        )
        for row in found.rows
    )


def of_along(found: Along) -> str:
    """Write the rows of a comparison along an axis; the fields of benchmarks are columns."""
    return text(
        row_of(
            {"benchmark": row.pair.fullname, "base_benchmark": row.pair.base},
            {**row.pair.fields, found.field: row.pair.value, f"base_{found.field}": found.base},
            {
                **_ratios(row.judgement),
                "head_ns": _nanoseconds(row.seconds),
                "base_ns": _nanoseconds(row.base_seconds),
                "processes": row.judgement.head_processes,
                "verdict": row.judgement.verdict,
                "reason": row.judgement.reason,
                "notes": "; ".join(row.notes),
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


def _ratios(found: Judgement) -> dict[str, float | None]:
    return {name: getattr(found, name) for name in _NUMBERS}


def _nanoseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e9
