"""The suite's options and graphs in a session of pytest, and which tests are the suite's own."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import pytest

from ...engine.plugin.session import options_of, typed_values
from ..graphs.catalog import DatasetName, resolve
from ..operations import OPERATIONS
from ..options import SuiteOptions
from ..spec import Spec

MARKER = "operations"


@dataclass
class Run:
    """The suite's options in a session, and the graphs that it measures on."""

    device: str
    options: SuiteOptions
    datasets: dict[str, DatasetName] = field(default_factory=dict)
    """The graphs used so far, by id."""
    notices: list[str] = field(default_factory=list)
    """Lines about data sets that stand-ins replace."""
    _resolved: dict[tuple[str, ...], list[DatasetName]] = field(default_factory=dict)

    def graphs(self, of_operation: Sequence[str] = ()) -> list[DatasetName]:
        """Return the graphs of an operation; synthetic stand-ins replace unavailable data sets."""
        key = tuple(of_operation)
        if key not in self._resolved:
            requests, options = self.options.graphs(self.device, of_operation), self.options
            names, notices = resolve(requests, options.data_root, real_only=options.real_only)
            self._resolved[key] = names
            self.datasets.update({name.id: name for name in names})
            self.notices.extend(notice for notice in notices if notice not in self.notices)
        return self._resolved[key]

    def graphs_of(self, operation: str) -> list[DatasetName]:
        """Return the graphs of an operation of gnnbench or of the user's own."""
        built_in = OPERATIONS.get(operation)
        return self.graphs(built_in.graphs if built_in else ())


COUNTED = pytest.StashKey[dict[str, Any]]()
"""In a test's stash: its counters, as plain data."""
_RUN = pytest.StashKey[Run]()


def run_of(config: pytest.Config) -> Run:
    if cached := config.stash.get(_RUN, None):
        return cached
    options = SuiteOptions.parse(**typed_values(config))
    run = Run(options_of(config).device, options)
    if options.datasets:
        run.graphs()  # so a wrong name is reported before collection
    return config.stash.setdefault(_RUN, run)


def owns(item: pytest.Item) -> bool:
    """Return whether a test is a benchmark of the suite: its marker names operations."""
    return item.get_closest_marker(MARKER) is not None


def spec_of(item: pytest.Item) -> Spec:
    assert isinstance(item, pytest.Function)
    params: dict[str, Any] = {**item.callspec.params, "dataset": item.callspec.params["graph"]}
    return Spec(**{part.name: params[part.name] for part in fields(Spec)})
