"""Draw charts as SVG and PNG, without a browser."""

import re
from collections.abc import Callable, Mapping
from typing import Any
from xml.etree import ElementTree as ET

import vl_convert
from markupsafe import Markup

from .names import LONGEST, clean, cleaned
from .style import PAGE, PHONE, Style

_SVG = "http://www.w3.org/2000/svg"
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
    """Return a chart as SVG for a page; names in it may be anybody's: only shapes and text may be in it."""
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
