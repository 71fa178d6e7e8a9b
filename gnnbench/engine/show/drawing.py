"""Draw charts as SVG and PNG, without a browser."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

import vl_convert
from markupsafe import Markup

from .names import LONGEST, clean, cleaned
from .style import PAGE, PHONE, Style

_SVG = "http://www.w3.org/2000/svg"
LINE = 1.3
"""Height of a line, in font sizes."""
_LARGEST = 1.3
"""A small chart is enlarged by this at most."""
_TAGS = {
    f"{{{_SVG}}}{name}" for name in ("svg", "g", "path", "line", "rect", "text", "tspan", "title", "desc")
}
_ATTRIBUTES = re.compile(r"[a-z][a-zA-Z0-9-]*", re.ASCII)
_HANDLER = re.compile(r"on|href|style|id$")
_NOISE = {"role", "class", "aria-roledescription", "aria-label", "aria-hidden", "pointer-events"}
"""Attributes for screen readers that are removed: each figure has one description instead."""


def svg(spec: Mapping[str, Any] | str) -> str:
    """Return a Vega-Lite chart as the text of an SVG file, with its texts cleaned; SVG stays as it is."""
    if isinstance(spec, str):
        return spec
    return vl_convert.vegalite_to_svg(cleaned(spec))


@dataclass(frozen=True)
class Line:
    """A line of text on a slide."""

    text: str
    colour: str
    size: int
    weight: str = "normal"


def scale_of(chart: str, width: float, height: float) -> float:
    """Return by how much a chart can be enlarged to fit into an area."""
    root = ET.fromstring(chart)  # noqa: S314 - drawn by us, without entities
    return min(width / float(root.attrib["width"]), height / float(root.attrib["height"]))


def framed(
    chart: str, above: Sequence[Line], below: Sequence[Line], area: tuple[int, int, int], paper: str
) -> str:
    """Return an SVG of a fixed size: lines of text, a chart as large as it fits, and more lines."""
    width, height, margin = area
    ET.register_namespace("", _SVG)
    size = {"width": str(width), "height": str(height), "viewBox": f"0 0 {width} {height}"}
    root = ET.Element(f"{{{_SVG}}}svg", size)
    ET.SubElement(root, f"{{{_SVG}}}rect", {"width": str(width), "height": str(height), "fill": paper})
    top = _written(root, above, margin, float(margin)) + margin / 2
    bottom = height - margin - LINE * sum(line.size for line in below)
    _written(root, below, margin, bottom)
    inner = ET.fromstring(chart)  # noqa: S314 - drawn by us, without entities
    scale = min(scale_of(chart, width - 2 * margin, bottom - margin / 2 - top), _LARGEST)
    placed = {"width": scale * float(inner.attrib["width"]), "height": scale * float(inner.attrib["height"])}
    inner.attrib |= {"x": str(margin), "y": str(top)} | {name: str(value) for name, value in placed.items()}
    root.append(inner)
    return ET.tostring(root, encoding="unicode")


def _written(root: ET.Element, lines: Sequence[Line], left: int, top: float) -> float:
    """Write lines below each other; return where the last one ends."""
    for line in lines:
        top += LINE * line.size
        look = {"font-family": "sans-serif", "font-size": f"{line.size}px", "font-weight": line.weight}
        place = {"x": str(left), "y": str(top - 0.3 * line.size), "fill": line.colour}
        ET.SubElement(root, f"{{{_SVG}}}text", look | place).text = clean(line.text, LONGEST)
    return top


def png(text: str) -> bytes:
    """Return an SVG as the bytes of a PNG file, scaled by 1.5."""
    return vl_convert.svg_to_png(text, scale=1.5)


def for_page(draw: Callable[[Style], Mapping[str, Any] | str], description: str) -> Markup:
    """Return the markup of a chart in two widths; the style sheet shows the one that fits the window."""
    charts = (
        f'<div class="{name}">{inline_svg(draw(style), description)}</div>'
        for name, style in (("wide", PAGE), ("narrow", PHONE))
    )
    return Markup("".join(charts))  # noqa: S704 - shapes and text


def inline_svg(spec: Mapping[str, Any] | str, description: str) -> str:
    """Return a chart as SVG for a page, checked to contain shapes and text only.

    The chart contains names from files of unknown origin. So it is parsed as XML and written again.

    Raises:
        ValueError: it contains another element or attribute.
    """
    root = ET.fromstring(svg(spec))  # noqa: S314 - drawn by us, without entities
    for element in root.iter():
        if element.tag not in _TAGS:
            raise ValueError(f"a chart contains the element {element.tag}")
        for name in list(element.attrib):
            if name in _NOISE:
                del element.attrib[name]
            elif not _ATTRIBUTES.fullmatch(name) or _HANDLER.match(name):
                raise ValueError(f"a chart contains the attribute {name}")
    root.attrib |= {"role": "img", "aria-label": clean(description, LONGEST)}
    ET.register_namespace("", _SVG)
    return ET.tostring(root, encoding="unicode")
