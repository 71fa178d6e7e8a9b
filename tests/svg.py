"""What can be read on a slide."""

from pathlib import Path
from xml.etree import ElementTree as ET

LEGIBLE = 24
"""Least height of letters on a screen of 1920 x 1080 pixels, to be read from the back of a room."""


def text(file: Path) -> str:
    return " ".join(ET.parse(file).getroot().itertext()).replace("\N{NO-BREAK SPACE}", " ")


def smallest(file: Path) -> float:
    """Return the least height of letters, in pixels at a width of 1920."""
    root = ET.parse(file).getroot()
    scale = 1920 / float(root.get("viewBox").split()[2])
    return min(float(one.get("font-size")[:-2]) for one in root.iter() if one.get("font-size")) * scale
