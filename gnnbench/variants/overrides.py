"""Options of pytest and its plugins that gnnbench overrides in the processes that it starts."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

ALL = "--gnn-all"

ALONE: Mapping[str, Any] = {
    "numprocesses": None,
    "dist": "no",
    "tx": [],
    "usepdb": False,
    "benchmark_skip": False,
    "benchmark_compare": None,
    "gnn_affected_by": None,
}
"""The process runs the benchmarks itself and selects none of them, and no debugger waits for a user."""

SILENT: Mapping[str, Any] = {
    "no_cov": True,
    **dict.fromkeys(
        (
            *("benchmark_compare", "benchmark_compare_fail", "benchmark_save", "benchmark_autosave"),
            *("benchmark_histogram", "benchmark_cprofile"),
            *("xmlpath", "log_file", "report_log", "htmlpath", "basetemp", "pastebin"),
        )
    ),
}
"""The process compares and saves nothing: it would write to the same files as the others."""


def override(given: Namespace, options: Mapping[str, Any]) -> None:
    """Replace what the suite and the user gave, for the plugins that are installed."""
    for name, value in options.items():
        if hasattr(given, name):
            setattr(given, name, value)
