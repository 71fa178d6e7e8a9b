"""The ids of graphs: a published data set, its synthetic stand-in, a random graph, or a file.

pytest imports this module during collection, so it imports nothing heavy.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...errors import UsageError, unknown_name
from ...files import user_path
from .published import DATASETS, Dataset

__all__ = ["DATASETS", "FORMS", "Dataset", "DatasetName"]

ATTRIBUTES_WIDTH = 128
"""Number of synthetic features for a graph without features: `rmat:` and `.mtx`."""
ATTRIBUTES_CLASSES = 16
"""Number of synthetic classes for a graph without labels."""
RMAT_EDGE_FACTOR = 16
"""Edges drawn per node (Graph500)."""
_RMAT_SCALES = range(4, 31)


FORMS = "NAME, NAME:synthetic, NAME:synthetic@FRACTION, rmat:SCALE, or the path of a .mtx file"
"""The forms that `DatasetName.parse` accepts, for help texts."""


@dataclass(frozen=True)
class DatasetName:
    """The name of a graph: a published data set, its synthetic stand-in, a random graph, or a file.

    Exactly one of `published`, `scale` and `path` is set.
    """

    id: str
    """The id in test ids; for a path, the file's name."""
    published: Dataset | None = None
    synthetic: bool = False
    """Whether structure, features and labels are all synthetic."""
    fraction: float = 1.0
    """Fraction of the published nodes and edges, in (0, 1]; below 1 for stand-ins only."""
    scale: int | None = None
    """An R-MAT graph has 2**scale nodes."""
    path: Path | None = None
    """A Matrix Market file."""

    @classmethod
    def parse(cls, text: str) -> "DatasetName":
        """Read an id in one of the `FORMS`.

        Raises:
            UsageError: the name is unknown, the fraction or scale is out of range, or the file does not
                exist.
        """
        if text.endswith(".mtx"):
            path = user_path(text)
            if not path.is_file():
                raise UsageError(f"{text}: there is no such file; give the path of a Matrix Market file")
            return cls(path.name, path=path)
        name, colon, variant = text.partition(":")
        if name == "rmat":
            return cls._parse_rmat(text, variant)
        if name not in DATASETS:
            raise unknown_name("dataset", text, [*DATASETS, "rmat:14"])
        if not colon:
            return cls(name, DATASETS[name])
        kind, at, number = variant.partition("@")
        if kind != "synthetic":
            raise UsageError(
                f"dataset '{text}': only 'synthetic' or 'synthetic@FRACTION' may follow the colon, "
                f"such as {name}:synthetic or {name}:synthetic@0.1"
            )
        fraction = _fraction(text, number) if at else 1.0
        suffix = f"@{fraction!r}" if fraction < 1 else ""
        twin = cls(f"{name}:synthetic{suffix}", DATASETS[name], synthetic=True, fraction=fraction)
        if twin.pairs > twin.nodes * (twin.nodes - 1) // 4 or min(twin.split) < 1:
            raise UsageError(
                f"dataset '{text}': {twin.nodes} nodes are too few for {twin.pairs} edges and a split; "
                "give a larger fraction"
            )
        return twin

    @classmethod
    def _parse_rmat(cls, text: str, scale: str) -> "DatasetName":
        if not (scale.isascii() and scale.isdecimal() and int(scale) in _RMAT_SCALES):
            raise UsageError(
                f"dataset '{text}': the scale must be a whole number from {_RMAT_SCALES[0]} to "
                f"{_RMAT_SCALES[-1]}, such as rmat:14 for 2**14 nodes"
            )
        return cls(f"rmat:{int(scale)}", synthetic=True, scale=int(scale))

    @property
    def twin(self) -> "DatasetName":
        """The synthetic stand-in of a published data set."""
        return DatasetName.parse(f"{self.id}:synthetic")

    @property
    def hidden(self) -> int:
        """Default width of features in benchmarks."""
        return self.published.hidden if self.published else ATTRIBUTES_WIDTH

    @property
    def nodes(self) -> int:
        """The number of nodes; not defined for a file."""
        if self.published:
            return round(self.published.nodes * self.fraction)
        assert self.scale is not None
        return 1 << self.scale

    @property
    def pairs(self) -> int:
        """The number of undirected edges; an upper bound for an R-MAT graph, which draws some twice."""
        if self.published:
            return round(self.published.pairs * self.fraction)
        return RMAT_EDGE_FACTOR * self.nodes

    @cached_property
    def split(self) -> tuple[int, int, int]:
        """Numbers of a stand-in's nodes to train, validate and test on."""
        assert self.published is not None
        train, val, test = (int(size * self.fraction) for size in self.published.split)
        return train, val, test

    @property
    def features(self) -> int:
        """The number of features per node."""
        return self.published.features if self.published else ATTRIBUTES_WIDTH

    @property
    def classes(self) -> int:
        """Classes, or tasks."""
        return self.published.classes if self.published else ATTRIBUTES_CLASSES


def _fraction(text: str, number: str) -> float:
    try:
        fraction = float(number)
    except ValueError:
        fraction = 0.0
    if not 0 < fraction <= 1:  # also refuses nan
        raise UsageError(
            f"dataset '{text}': the fraction '{number}' must be above 0 and at most 1, such as @0.1"
        )
    return fraction
