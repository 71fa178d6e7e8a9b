"""The benchmarked operations, platforms and graphs, and the check of their outputs."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

from ..engine.ground import codec
from ..engine.ground.labels import Labels
from ..engine.store.suite import Diagnosis, Suite
from .options import OPTIONS
from .spec import DIRECTIONS, Spec

if TYPE_CHECKING:
    from ..engine.store.parts import BenchmarkPart


class GraphKernels(Suite):
    """gnnbench's own benchmarks: kernels, layers, loaders and training of graph neural networks."""

    options = OPTIONS
    doctor_options = ("data",)
    losses = ("gnnbench.suite.training:loss",)
    layers = ("gnnbench.suite.platforms.torch:CSRConv.forward",)
    tests: Mapping[str, str] = MappingProxyType({"epoch": "benchmarks/test_epoch.py::test_epoch"})

    def labels(self, fields: Mapping[str, str | int]) -> Labels:
        """Return the labels of the spec with these fields."""
        spec = codec.decode(fields, Spec)
        if spec.direction not in DIRECTIONS:
            raise ValueError(f"unknown direction {spec.direction!r}")
        return spec.labels

    def labels_in(self, test_id: str) -> Labels | None:
        """Return the labels of the spec in a test id. None if it is another suite's test."""
        spec = Spec.in_id(test_id)
        return spec.labels if spec else None

    def plugin(self) -> ModuleType:
        """Return the pytest plugin, which makes a test for each operation, platform and graph."""
        from . import plugin

        return plugin

    def owns(self, item: Any) -> bool:
        """Return whether a test has the marker `operations`."""
        from .plugin import session

        return session.owns(item)

    def fault(self, root: Path, part: "BenchmarkPart", *, strict: bool) -> str | None:
        """Return a message if the counters differ from their baseline."""
        from . import counter_baseline

        return counter_baseline.fault(root, part, strict=strict)

    def remarks(self, labels: Iterable[Labels]) -> list[str]:
        """Return a line that names the synthetic graphs. Empty if there are none."""
        graphs = dict.fromkeys(label.inputs["dataset"] for label in labels)
        synthetic = [graph for graph in graphs if ":synthetic" in graph]
        return [f"synthetic data: {', '.join(synthetic)}"] if synthetic else []

    def commands(self) -> Mapping[str, ModuleType]:
        """Return the suite's commands: `gnnbench list`."""
        from . import listing

        return {"list": listing}

    def diagnoses(self, options: Mapping[str, Any]) -> Iterator[Diagnosis]:
        """Yield the diagnoses of the libraries and the folder of data sets."""
        from . import doctor

        return doctor.examine(options["data"])


SUITE = GraphKernels()

PUBLIC = {
    "": "platforms",
    "accuracy": "MismatchError",
    "annotations": "Case Edges Graph Tensor",
    "backward": "leaves with_backward",
    "case": "Case",
    "cells": "not_installed",
    "graphs.catalog": "DatasetName FAMILIES",
    "graphs.graph": "Graph",
    "graphs.load": "load",
    "kept_reference": "KeptReference",
    "libraries": "functional inputs on_torch torch utils",
    "operation": "Call Operation",
    "operations": "OPERATIONS",
    "operations.edge_list": "edges_of keys listed shuffled unchanged with_duplicates",
    "operations.scatter": "Destination offsets unsorted_index",
    "spec": "FORWARD_BACKWARD SHORT_DIRECTION Spec",
    "verify": "verify",
}
"""Names that applications may import, by module; `make lint` checks this. All other names may change."""
