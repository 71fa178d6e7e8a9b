"""Charts drawn without a browser, as SVG and PNG; and what a browser needs to draw one."""

import functools
import hashlib
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from ..files import cache_folder, write_whole

_SVG = "http://www.w3.org/2000/svg"
_TAGS = {
    f"{{{_SVG}}}{name}" for name in ("svg", "g", "path", "line", "rect", "text", "tspan", "title", "desc")
}
_ATTRIBUTES = re.compile(r"[a-z][a-zA-Z0-9-]*", re.ASCII)
_HANDLER = re.compile(r"on|href|style|id$")
_NOISE = {"role", "class", "aria-roledescription", "aria-label", "aria-hidden", "pointer-events"}
"""Attributes that tell the inside of a chart to a machine: here a figure has one text for all of it."""
_SNIPPET = """
window.drawChart = (element, spec) => vegaEmbed(element, spec, {
  mode: "vega-lite", ast: true, renderer: "svg", actions: false, tooltip: false, defaultStyle: false,
});
"""


def svg(spec: Mapping[str, Any]) -> str:
    """Return a chart as the text of a file."""
    import vl_convert

    return vl_convert.vegalite_to_svg(dict(spec))


def framed(text: str, width: int, height: int, paper: str) -> str:
    """Return a chart in the middle of an area of a fixed size, as large as it can be there.

    Args:
        text: the chart's SVG.
        width: of the area, in pixels.
        height: of the area.
        paper: its colour.
    """
    root = ET.fromstring(text)  # noqa: S314 - what was drawn here; it has no entities
    inner = float(root.attrib["width"]), float(root.attrib["height"])
    scale = min(width / inner[0], height / inner[1])
    outer = width / scale, height / scale
    left, top = ((needs - has) / 2 for has, needs in zip(outer, inner, strict=True))
    root.attrib |= {
        "width": str(width),
        "height": str(height),
        "viewBox": f"{left} {top} {outer[0]} {outer[1]}",
    }
    area = {"x": str(left), "y": str(top), "width": str(outer[0]), "height": str(outer[1]), "fill": paper}
    root.insert(0, ET.Element(f"{{{_SVG}}}rect", area))
    ET.register_namespace("", _SVG)
    return ET.tostring(root, encoding="unicode")


def png(text: str) -> bytes:
    """Return an SVG as the bytes of a PNG file, 1.5 pixels to each of its own."""
    import vl_convert

    return vl_convert.svg_to_png(text, scale=1.5)


def inline_svg(spec: Mapping[str, Any], description: str) -> str:
    """Return a chart to stand in a page, without whatever could do more than draw.

    Names in it are strangers'. So it is read as XML and written again, and only shapes and text may be in it.

    Args:
        spec: the chart.
        description: what it says, for who does not see it.

    Raises:
        ValueError: there is something else in it.
    """
    root = ET.fromstring(svg(spec))  # noqa: S314 - what was drawn here; it has no entities
    for element in root.iter():
        if element.tag not in _TAGS:
            raise ValueError(f"a chart with a {element.tag}")
        for name in list(element.attrib):
            if name in _NOISE:
                del element.attrib[name]
            elif not _ATTRIBUTES.fullmatch(name) or _HANDLER.match(name):
                raise ValueError(f"a chart with an attribute {name}")
    _drop_empty(root)
    root.attrib |= {"role": "img", "aria-label": description}
    ET.register_namespace("", _SVG)
    return ET.tostring(root, encoding="unicode")


def prepare() -> None:
    """Begin to make what `library` returns beside this process, where it is not kept from an earlier page."""
    if not _kept().is_file():
        _bundling()


@functools.cache
def _bundling() -> subprocess.Popen[str]:
    """Start the process, which takes a second and a half."""
    code = "import sys, vl_convert; sys.stdout.write(vl_convert.javascript_bundle(sys.argv[1]))"
    return subprocess.Popen(  # noqa: S603 - of our own
        [sys.executable, "-P", "-X", "utf8", "-c", code, _SNIPPET], stdout=subprocess.PIPE, encoding="utf-8"
    )


@functools.cache
def library() -> str:
    """Return the script that lets a browser draw charts: `drawChart(element, spec)`.

    It is Vega-Lite's own, and evaluates expressions with Vega's interpreter, so that a page need not allow
    its scripts to make others.

    Raises:
        RuntimeError: it could not be made.
    """
    kept = _kept()
    try:
        text = kept.read_text("utf-8")
    except OSError:
        process = _bundling()
        _bundling.cache_clear()  # what it says can be read once
        text, _ = process.communicate()
        if process.returncode:
            raise RuntimeError("vl-convert made no script") from None
        with suppress(OSError):  # a page can be made without a cache
            write_whole(kept, text)
    if "drawChart" not in text or "</script" in text.lower() or "<!--" in text:
        raise RuntimeError(f"no script that can stand in a page: remove {kept}")
    return text


def _kept() -> Path:
    """Return where the script of this version of vl-convert is kept: it is the same for all pages."""
    digest = hashlib.sha256(_SNIPPET.encode()).hexdigest()[:8]
    return cache_folder() / "report" / f"vega-{version('vl-convert-python')}-{digest}.js"


def _drop_empty(element: ET.Element) -> None:
    """Take out groups and paths that draw nothing, of which Vega makes many."""
    for child in list(element):
        _drop_empty(child)
        invisible = child.get("display") == "none" or child.get("d") in ("", "M0,0h0v0h0Z")
        if invisible or (child.tag == f"{{{_SVG}}}g" and not len(child)):
            element.remove(child)
