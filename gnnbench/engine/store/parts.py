"""gnnbench's parts of a run file, as they are saved: of the whole file, and of each benchmark."""

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
    """The graph of one of gnnbench's own benchmarks."""

    content_hash: str | None = None
    name: str = ""
    synthetic: bool = False
    nodes: Count = 0
    entries: Count = 0
    """Columns of `edge_index`: an undirected edge has two."""
    features: Count = 0
    classes: Count = 0


@dataclass(frozen=True)
class BenchmarkPart:
    """`extra_info["gnnbench"]` of a benchmark; one of another suite lacks spec, graph and limit."""

    version: int
    spec: Mapping[str, str | int] | None = None
    """The fields of its labels, see `suite.Suite.labels`."""
    graph: GraphPart | None = None
    definition_hash: str | None = None
    """Of the test and its reference, or its fixtures."""
    measurement: Measurement | None = None
    fingerprint: Fingerprint | None = None
    """What one call runs; in a record only the first file has it, and only if all processes agree."""
    no_fingerprint: str | None = None
    """Why it has no fingerprint. None if it has one, or the file does not say."""
    counters: Counters | None = None
    """What one call does. None if it was not counted."""
    compilation: Mapping[str, Count] | None = None
    """What torch.compile does in one whole call; elsewhere it is among the counters."""
    limit: Limit | None = None

    @property
    def memory(self) -> Mapping[str, int]:
        """What one call allocates, as among its counters; empty if it was not counted."""
        return self.counters.memory if self.counters else {}

    @property
    def graph_hash(self) -> str | None:
        """The hash of the graph's content. None if unknown, or there is no graph."""
        return self.graph.content_hash if self.graph else None

    @property
    def comparable_fingerprint(self) -> Fingerprint | None:
        """The fingerprint. None if there is none, or its hashes were computed in another way."""
        return self.fingerprint if self.fingerprint and self.fingerprint.method == METHOD else None


@dataclass(frozen=True)
class Interrupted:
    """A benchmark that was interrupted."""

    fullname: str
    error: str | None = None


@dataclass(frozen=True)
class RecordPart:
    """The baseline record that a file is part of."""

    process: Count
    processes: Count
    reason: str


@dataclass(frozen=True)
class RunPart:
    """`gnnbench` of a whole run file."""

    version: int
    environment: Environment | None = None
    sources: Sources | None = None
    """Where the code came from."""
    incomplete: tuple[Interrupted, ...] = ()
    settings: Mapping[str, Any] | None = None
    record: RecordPart | None = None
    shard: Annotated[str, Meta(pattern="^[1-9][0-9]*/[1-9][0-9]*$")] | None = None
    not_default: tuple[str, ...] = ()
    """Benchmarks that were left out because the user did not ask for more than the default ones."""
    compared: Mapping[str, Any] | None = None
    """The verdicts of `--benchmark-compare`, as `gnnbench compare` saves them."""
