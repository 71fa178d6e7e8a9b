"""What is run: the identity of a benchmark."""

from dataclasses import astuple, dataclass

FORWARD = "forward"
FORWARD_BACKWARD = "forward_backward"
BACKWARD = "backward"
STEP = "step"
TRAIN = "train"
"""One whole epoch: forward, loss, backward, step."""

FLOATS = ("float32", "bfloat16", "float64")
INTEGERS = ("int64", "int32")

DIRECTIONS = (FORWARD, FORWARD_BACKWARD, BACKWARD, STEP, TRAIN)


@dataclass(frozen=True)
class Spec:
    """One benchmark: test id, baseline key and grouping.

    Fields are plain strings and numbers, so that a spec can be made before torch is imported.
    """

    operation: str
    direction: str
    """One of DIRECTIONS."""
    platform: str
    dtype: str
    """Of features and weights, as torch names it: `float32`."""
    index_dtype: str
    """Of the graph's structure: `int64` or `int32`."""
    dataset: str
    hidden: int
    """Feature width of the operation's input; of the model, the width of its first hidden layer."""
    device: str
    """`cpu` or `cuda`."""

    @property
    def id(self) -> str:
        """The test id: the fields in order, joined by hyphens."""
        return "-".join(map(str, astuple(self)))
