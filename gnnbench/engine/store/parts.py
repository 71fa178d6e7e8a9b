"""What gnnbench adds to a run file of pytest-benchmark: a part for the file, and one for each benchmark."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta

from ..ground.codec import Count
from ..ground.environment import Environment
from ..ground.labels import Limit
from ..measure.counter_changes import Counters
from ..measure.fingerprint.fingerprint import METHOD, Fingerprint
from ..measure.measurement import Measurement
from ..measure.sources import Sources

FORMAT_VERSION = 1


@dataclass(frozen=True)
class GraphPart:
    """The graph that a benchmark of gnnbench's own suite uses."""

    content_hash: str | None = None
    name: str = ""
    synthetic: bool = False
    nodes: Count = 0
    entries: Count = 0
    """Number of columns of `edge_index`. An undirected edge has two of them."""
    features: Count = 0
    classes: Count = 0


@dataclass(frozen=True)
class BenchmarkPart:
    """`extra_info["gnnbench"]` of a benchmark; benchmarks of other suites lack spec, graph and limit."""

    version: int
    spec: Mapping[str, str | int] | None = None
    """The fields of the benchmark's labels, see `suite.Suite.labels`."""
    graph: GraphPart | None = None
    definition_hash: str | None = None
    """Hash of the test, and of its reference (in gnnbench's own suite) or of its fixtures."""
    measurement: Measurement | None = None
    fingerprint: Fingerprint | None = None
    """The code that a call runs. In a record, only the first file has it, and only if all processes agree."""
    no_fingerprint: str | None = None
    """Why there is no fingerprint. None if there is one, or if the reason is unknown."""
    counters: Counters | None = None
    """The work of one call. None if it was not counted."""
    compilation: Mapping[str, Count] | None = None
    """The work of torch.compile in one whole call. None if the counters include it."""
    limit: Limit | None = None

    @property
    def memory(self) -> Mapping[str, int]:
        """The memory of one call, from its counters. Empty if it was not counted."""
        return self.counters.memory if self.counters else {}

    @property
    def graph_hash(self) -> str | None:
        """The hash of the graph's content. None if it is unknown, or if there is no graph."""
        return self.graph.content_hash if self.graph else None

    @property
    def comparable_fingerprint(self) -> Fingerprint | None:
        """The fingerprint. None if there is none, or if another version of gnnbench computed its hashes."""
        return self.fingerprint if self.fingerprint and self.fingerprint.method == METHOD else None


@dataclass(frozen=True)
class Interrupted:
    """A benchmark that was interrupted."""

    fullname: str
    error: str | None = None


@dataclass(frozen=True)
class RecordPart:
    """Which process of a baseline record a file is from, and why the record was made."""

    process: Count
    processes: Count
    reason: str


@dataclass(frozen=True)
class RunPart:
    """The value of the key `gnnbench` of a run file."""

    version: int
    environment: Environment | None = None
    sources: Sources | None = None
    """Where the code came from."""
    incomplete: tuple[Interrupted, ...] = ()
    settings: Mapping[str, Any] | None = None
    record: RecordPart | None = None
    shard: Annotated[str, Meta(pattern="^[1-9][0-9]*/[1-9][0-9]*$")] | None = None
    not_default: tuple[str, ...] = ()
    """Benchmarks that did not run because no option selected them."""
    compared: Mapping[str, Any] | None = None
    """The verdicts of `--benchmark-compare`, as `gnnbench compare` saves them."""
