"""Makes a slide of a chart: in large type, with one message, readable in black and white."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree as ET

from ..drive.result import SHORT_COMMIT, Result
from ..ground import files
from . import charts
from .charts import SLIDE
from .names import LONGEST, break_name, clean
from .pictures import Picture

_LARGE, _SMALL = 34, 24
"""Font sizes of the title, and of caption and footer."""
_WIDTH_OF_LETTER = 0.52
"""Average width of a letter in the title, in font sizes."""
_MARGIN = 40
_LINE = 1.3
"""Height of a line, in font sizes."""
_SVG = "http://www.w3.org/2000/svg"
_NAMELESS = ("processor", "GPU", "system", "libraries")
"""Facts that are understood without their names."""
_LONGEST_FOOTER = 92
"""Maximum length of the last line, in characters."""
_WIDTH, _HEIGHT = 1280, 720


def save(picture: Picture, last: str, path: Path) -> tuple[Path, Path]:
    """Write a slide with a chart and the last line `last`, as SVG and as PNG. Return the files' paths."""
    text = slide(picture, last)
    svg, png = (path.with_name(f"{path.name}.{kind}") for kind in ("svg", "png"))
    files.save(svg, f"{text}\n")
    files.save(png, charts.png(text))
    return svg, png


def footer(facts: Iterable[tuple[str, str]], result: Result | None = None) -> str:
    """Return the last line of a slide: both sides of a comparison, machine and versions."""
    values = dict(facts)
    sides = []
    if result:
        commit = values.pop("commit", "")
        head = result.head.title or commit[:SHORT_COMMIT] or "this run"
        sides = [f"{result.base.title} → {head}"]
    return " · ".join(
        (*sides, *(value if name in _NAMELESS else f"{name} {value}" for name, value in values.items()))
    )


def slide(picture: Picture, last: str) -> str:
    """Return an SVG with message and caption, a chart of as many rows as fit, and the last line."""
    title = _lines(picture.message, SLIDE.ink, _LARGE, weight="bold")
    text = clean(last, _LONGEST_FOOTER)
    uncut_facts = text.rpartition(" · ")[0] if text.endswith("…") else ""
    footer_lines = _lines(uncut_facts or text, SLIDE.muted, _SMALL)[:1]
    for most in range(SLIDE.most_rows, 2, -1):  # at least three rows
        style = replace(SLIDE, most_rows=most)
        header_lines = [*title, *_lines(picture.caption(style), SLIDE.muted, _SMALL)]
        chart = ET.fromstring(charts.svg(picture.draw(style)))  # noqa: S314 - written by vl-convert
        width, height = (float(chart.attrib[name]) for name in ("width", "height"))
        free_height = _HEIGHT - 2.5 * _MARGIN - _height([*header_lines, *footer_lines])
        scale = min((_WIDTH - 2 * _MARGIN) / width, free_height / height)
        if scale >= 1 or picture.rows < most:
            break
    ET.register_namespace("", _SVG)
    size = {"width": str(_WIDTH), "height": str(_HEIGHT)}
    root = ET.Element(f"{{{_SVG}}}svg", {**size, "viewBox": f"0 0 {_WIDTH} {_HEIGHT}"})
    ET.SubElement(root, f"{{{_SVG}}}rect", {**size, "fill": SLIDE.paper})
    _write(root, header_lines, _MARGIN)
    _write(root, footer_lines, _HEIGHT - _MARGIN - _height(footer_lines))
    scale = min(scale, 1.3)  # a small chart is not enlarged further
    chart.attrib |= {"x": str(_MARGIN), "y": str(1.5 * _MARGIN + _height(header_lines))}
    chart.attrib |= {"width": str(scale * width), "height": str(scale * height)}
    root.append(chart)
    return ET.tostring(root, encoding="unicode")


@dataclass(frozen=True)
class _Line:
    """A line of text on a slide."""

    text: str
    colour: str
    size: int
    weight: str = "normal"


def _height(lines: Sequence[_Line]) -> float:
    """Return the height of lines in pixels."""
    return _LINE * sum(line.size for line in lines)


def _write(root: ET.Element, lines: Sequence[_Line], top: float) -> None:
    """Add lines of text to an SVG, one below the other. `top`: the upper edge of the first line."""
    for line in lines:
        top += _LINE * line.size
        font = {"font-family": "sans-serif", "font-size": f"{line.size}px", "font-weight": line.weight}
        position = {"x": str(_MARGIN), "y": str(top - 0.3 * line.size), "fill": line.colour}
        ET.SubElement(root, f"{{{_SVG}}}text", font | position).text = clean(line.text, LONGEST)


def _lines(text: str, colour: str, size: int, weight: str = "normal") -> list[_Line]:
    letters = int((_WIDTH - 2 * _MARGIN) / (_WIDTH_OF_LETTER * size))
    return [_Line(line, colour, size, weight) for line in break_name(text, letters)] if text else []
