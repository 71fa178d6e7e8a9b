"""PyG on edge_index, where it calls pyg-lib: the same graphs and layers."""

from .pyg import MODEL_CACHED, TRANSPOSED_WEIGHT, convolution, entries, layer, values  # noqa: F401 - see `load`
from .torch import edges, structure  # noqa: F401 - operations name it
