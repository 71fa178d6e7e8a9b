"""What can be read on a slide."""

from pathlib import Path
from xml.etree import ElementTree as ET

LEGIBLE = 24
"""Least height of letters, in pixels of a slide of 1280 x 720, to be read from the back of a room."""


def text(file: Path) -> str:
    return " ".join(ET.parse(file).getroot().itertext()).replace("\N{NO-BREAK SPACE}", " ")


def smallest(file: Path) -> float:
    """Return the least height of letters of a slide, in pixels."""
    root = ET.parse(file).getroot()
    width, height = (float(root.get(name)) for name in ("width", "height"))
    scale = min(1280 / width, 720 / height, 1.0)
    sizes = [float(one.get("font-size").removesuffix("px")) for one in root.iter() if one.get("font-size")]
    return scale * min(sizes)
