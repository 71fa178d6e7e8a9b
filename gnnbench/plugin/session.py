"""What a pytest session measures, found out when first asked: a part of the plugin."""

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
    """Options, with every data set found or replaced by its twin."""

    options: Options
    datasets: dict[str, DatasetName]
    """By id."""
    notices: tuple[str, ...]


COUNTED = pytest.StashKey[dict[str, Any]]()
"""On a test: what was counted instead of timed, as plain data."""
OUT_OF_MEMORY = pytest.StashKey[str]()
"""On a test: `OOM at N GiB`, its result."""
_RUN = pytest.StashKey[Run]()


def given(config: pytest.Config) -> dict[str, Any]:
    """Return the options as they were given, by the names of `Options.parse`."""
    names = [name.replace("-", "_") for name in options.HELP]
    return {name: config.getoption(f"gnn_{name}") for name in names}


def run_of(config: pytest.Config) -> Run:
    """Return what this session measures.

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
            "--benchmark-precision is for pytest-benchmark's own timing: give either it or "
            "--gnn-precision and --gnn-layouts"
        )
    datasets, notices = resolve(chosen.datasets, chosen.data_root, cache_folder(), real_only=chosen.real_only)
    run = Run(chosen, {name.id: name for name in datasets}, tuple(notices))
    return config.stash.setdefault(_RUN, run)


def asks_for(run: Run, spec: Mapping[str, Any] | None) -> bool:
    """Tell whether the options ask for a benchmark of that spec; None: of one that is not gnnbench's own."""
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
    """Return the folders and files that pytest was asked for, relative to rootdir."""
    folder, root = config.invocation_params.dir, config.rootpath
    return [
        Path(os.path.relpath(folder / argument, root)).as_posix()
        for argument in config.args
        if "::" not in argument
    ]


def is_ours(item: pytest.Item) -> bool:
    """Tell whether a test is one of the suite's own benchmarks."""
    return item.get_closest_marker(MARKER) is not None


def stop(mistake: str, config: pytest.Config) -> NoReturn:
    """End the session with one line that says what is wrong, and pytest's exit status for wrong usage.

    A worker of xdist cannot end it without a crash: there the test that met the error fails.
    """
    message = f"gnnbench: {mistake}"
    if hasattr(config, "workerinput"):
        pytest.fail(message, pytrace=False)
    pytest.exit(message, returncode=pytest.ExitCode.USAGE_ERROR)
