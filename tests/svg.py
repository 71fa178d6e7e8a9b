"""What can be read on a slide."""

from pathlib import Path
from xml.etree import ElementTree as ET

LEGIBLE = 24
"""Least height of letters in a chart, in pixels of a slide, to be read from the back of a room."""
CAPTION = 20
"""Least height of letters around the chart."""


def text(file: Path) -> str:
    return " ".join(ET.parse(file).getroot().itertext()).replace("\N{NO-BREAK SPACE}", " ")


def smallest(file: Path) -> float:
    """Return the least height of letters in the chart of a slide, in pixels; those around it are checked."""
    root = ET.parse(file).getroot()
    assert min(_sizes(root.findall("{*}text"))) >= CAPTION
    chart = root.find("{*}svg")
    scale = float(chart.get("width")) / float(chart.get("viewBox").split()[2])
    return min(_sizes(chart.iter())) * scale


def _sizes(elements):
    return [float(one.get("font-size").removesuffix("px")) for one in elements if one.get("font-size")]
