"""What a pytest session measures: its options, its data sets, and which tests are gnnbench's own."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

from .. import options
from ..errors import UsageError
from ..files import cache_folder
from ..options import Options
from ..workloads.graphs.catalog import DatasetName
from ..workloads.graphs.locate import resolve

MARKER = "operations"


@dataclass(frozen=True)
class Run:
    """The options and the data sets of a session."""

    options: Options
    datasets: dict[str, DatasetName]
    """By id. Unavailable data sets are replaced by synthetic stand-ins."""
    notices: tuple[str, ...]
    """Lines about replaced data sets."""


COUNTED = pytest.StashKey[dict[str, Any]]()
"""In a test's stash: its counters, as plain data."""
OUT_OF_MEMORY = pytest.StashKey[str]()
"""In a test's stash: its result, `OOM at N GiB`."""
_RUN = pytest.StashKey[Run]()


def given(config: pytest.Config) -> dict[str, Any]:
    """Return the values of gnnbench's options as they were typed, by the names of `Options.parse`."""
    names = [name.replace("-", "_") for name in options.HELP]
    return {name: config.getoption(f"gnn_{name}") for name in names}


def run_of(config: pytest.Config) -> Run:
    """Return what this session measures, found out on the first call.

    Raises:
        UsageError: an option cannot be used.
    """
    if found := config.stash.get(_RUN, None):
        return found
    chosen = Options.parse(**given(config))
    if config.getoption("benchmark_precision", None) is not None and (
        config.getoption("gnn_precision") or config.getoption("gnn_layouts")
    ):
        raise UsageError(
            "--benchmark-precision selects pytest-benchmark's timing; leave it out, or leave out "
            "--gnn-precision and --gnn-layouts"
        )
    datasets, notices = resolve(chosen.datasets, chosen.data_root, cache_folder(), real_only=chosen.real_only)
    run = Run(chosen, {name.id: name for name in datasets}, tuple(notices))
    return config.stash.setdefault(_RUN, run)


def asks_for(run: Run, spec: Mapping[str, Any] | None) -> bool:
    """Return whether the options select a benchmark with this spec; always true without a spec."""
    if spec is None:
        return True
    chosen = run.options
    return (
        spec["dataset"] in run.datasets
        and spec["platform"] in chosen.platforms
        and spec["dtype"] in chosen.dtypes
        and spec["index_dtype"] in chosen.index_dtypes
        and spec["device"] == chosen.device
        and spec["hidden"] in (chosen.hidden or (run.datasets[spec["dataset"]].hidden,))
    )


def places(config: pytest.Config) -> list[str]:
    """Return the folders and files among pytest's arguments, relative to rootdir."""
    folder, root = config.invocation_params.dir, config.rootpath
    return [
        Path(os.path.relpath(folder / argument, root)).as_posix()
        for argument in config.args
        if "::" not in argument
    ]


def is_ours(item: pytest.Item) -> bool:
    """Return whether a test is one of gnnbench's own benchmarks: it names its operations."""
    return item.get_closest_marker(MARKER) is not None


def stop(mistake: str, config: pytest.Config) -> NoReturn:
    """End the session with a one-line message and pytest's exit status for wrong usage.

    A worker of xdist would crash, so there only the current test fails.
    """
    message = f"gnnbench: {mistake}"
    if hasattr(config, "workerinput"):
        pytest.fail(message, pytrace=False)
    pytest.exit(message, returncode=pytest.ExitCode.USAGE_ERROR)
