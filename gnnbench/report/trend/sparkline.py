"""A series as one line of characters."""

import numpy as np
from numpy.typing import NDArray

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII = "_.-:=+*#"
"""Heights for encodings without blocks."""


def draw(values: NDArray[np.float64], width: int, least: float, heights: str) -> str:
    """Draw a series from its lowest to its highest value.

    Args:
        values: [n].
        width: most characters; with more runs, each shows the median of several.
        least: least range of the full height, so that noise looks flat.
        heights: characters, the lowest first.
    """
    parts = [float(np.median(part)) for part in np.array_split(values, min(width, len(values)))]
    middle, span = (min(parts) + max(parts)) / 2, max(max(parts) - min(parts), least)
    lowest = middle - span / 2
    steps = (int((part - lowest) / span * len(heights)) for part in parts)
    return "".join(heights[min(max(step, 0), len(heights) - 1)] for step in steps)
