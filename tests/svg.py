"""What can be read on a slide."""

from pathlib import Path
from xml.etree import ElementTree as ET

LEGIBLE = 24
"""Least height of letters, in pixels of a slide, to be read from the back of a room."""


def text(file: Path) -> str:
    return " ".join(ET.parse(file).getroot().itertext()).replace("\N{NO-BREAK SPACE}", " ")


def smallest(file: Path) -> float:
    """Return the least height of letters of a slide, in pixels."""
    root = ET.parse(file).getroot()
    chart = root.find("{*}svg")
    scale = float(chart.get("width")) / float(chart.get("viewBox").split()[2])
    return min(*_sizes(root.findall("{*}text")), *(scale * size for size in _sizes(chart.iter())))


def _sizes(elements):
    return [float(one.get("font-size").removesuffix("px")) for one in elements if one.get("font-size")]
