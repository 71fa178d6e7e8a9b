"""The spec of a benchmark, which identifies it."""

from dataclasses import astuple, dataclass

FORWARD = "forward"
FORWARD_BACKWARD = "forward_backward"
BACKWARD = "backward"
STEP = "step"
TRAIN = "train"
"""A whole epoch: forward, loss, backward, step."""

AUTOCAST = "autocast"
"""Inputs are float32, and the call runs in torch.autocast to bfloat16."""
FLOATS = ("float32", "bfloat16", "float16", AUTOCAST, "float64")
INTEGERS = ("int64", "int32")

DIRECTIONS = (FORWARD, FORWARD_BACKWARD, BACKWARD, STEP, TRAIN)


@dataclass(frozen=True)
class Spec:
    """The parameters of one benchmark: its test id, and its key in baselines.

    Fields are strings and numbers, so that a spec does not need torch.
    """

    operation: str
    direction: str
    """One of DIRECTIONS."""
    platform: str
    dtype: str
    """Dtype of features and weights, with torch's name: `float32`; or AUTOCAST."""
    index_dtype: str
    """Dtype of the graph's indices: `int64` or `int32`."""
    dataset: str
    hidden: int
    """Feature width of the operation's input, or of the model's first hidden layer."""
    device: str
    """`cpu` or `cuda`."""

    @property
    def id(self) -> str:
        """The test id: the fields in order, joined by hyphens."""
        return "-".join(map(str, astuple(self)))
