"""The spec of a benchmark, which identifies it. This module does not import torch."""

import re
from dataclasses import asdict, astuple, dataclass
from typing import Self

from ..engine.ground.labels import Labels

FORWARD = "forward"
FORWARD_BACKWARD = "forward_backward"
BACKWARD = "backward"
STEP = "step"
"""A step of an optimiser: only its output is compared, no gradient."""
TRAIN = "train"
"""A whole epoch: forward, loss, backward, step."""

AUTOCAST = "autocast"
"""Inputs are float32, and the call runs in torch.autocast to bfloat16."""
FLOATS = ("float32", "bfloat16", "float16", AUTOCAST, "float64")
INTEGERS = ("int64", "int32")

DIRECTIONS = (FORWARD, FORWARD_BACKWARD, BACKWARD, STEP, TRAIN)
SHORT_DIRECTION = {FORWARD: "fwd", FORWARD_BACKWARD: "f+b", BACKWARD: "bwd", STEP: "step", TRAIN: "train"}
_ID = re.compile(
    rf"\[([\w.]+)-({'|'.join(DIRECTIONS)})-(\w+)-(\w+)-(int\d+)-([^\[\]]+)-(\d{{1,9}})-(cpu|cuda)\]$",
    re.ASCII,
)


@dataclass(frozen=True)
class Spec:
    """The parameters of one benchmark, which make up its test id and its key in baselines."""

    operation: str
    direction: str
    platform: str
    dtype: str
    """Dtype of features and weights: torch's name, such as `float32`, or AUTOCAST."""
    index_dtype: str
    """Dtype of the graph's indices: `int64` or `int32`."""
    dataset: str
    hidden: int
    """Feature width of the operation's input, or of the model's first hidden layer."""
    device: str

    @property
    def id(self) -> str:
        """The test id: the fields in order, joined by hyphens."""
        return "-".join(map(str, astuple(self)))

    @classmethod
    def in_id(cls, test_id: str) -> Self | None:
        match = _ID.search(test_id)
        if not match:
            return None
        operation, direction, platform, dtype, index_dtype, dataset, hidden, device = match.groups()
        return cls(operation, direction, platform, dtype, index_dtype, dataset, int(hidden), device)

    @property
    def labels(self) -> Labels:
        """How tables, pages and charts name the benchmark."""
        return Labels(
            {name: str(value) for name, value in asdict(self).items()},
            self.operation,
            SHORT_DIRECTION[self.direction],
            self.platform,
            {
                "dataset": self.dataset,
                "hidden": f"hidden {self.hidden}",
                "dtype": self.dtype,
                "index_dtype": self.index_dtype,
                "device": self.device,
            },
        )
