"""Styles of charts: on a wide or narrow page, with its light or dark colours, and on a slide."""

from dataclasses import dataclass, replace

VERDICT_SHAPES = {
    "slower": "triangle-right",
    "faster": "triangle-left",
    "same": "circle",
    "undecided": "diamond",
    "incomparable": "cross",
    "accepted": "square",
    "ignored": "triangle-up",
}
"""Verdicts differ in shape as well as in colour."""


@dataclass(frozen=True)
class Style:
    """Colours in CSS syntax, sizes in pixels."""

    ink: str
    muted: str
    line: str
    paper: str
    band: str
    mark: str
    verdicts: tuple[str, ...]
    """Colours, in the order of VERDICT_SHAPES."""
    font_size: int
    whole: int
    """Width of a chart, names and values included."""
    row: int
    """Least height of a row."""
    least_height: int
    """Least height of a chart with rows."""
    most_rows: int
    label_width: int
    """Largest width of the names on the left."""
    ticks: int
    margins: tuple[float, float]
    page: bool
    narrow: bool = False
    """Whether names are above the marks, because there is no room next to the marks."""

    @property
    def symbol(self) -> int:
        """Area of a symbol."""
        return round(0.55 * self.font_size**2)

    @property
    def letter(self) -> float:
        """Average width of a letter in a wide browser font."""
        return 0.6 * self.font_size

    @property
    def line_height(self) -> float:
        """Height of a line of text."""
        return 1.2 * self.font_size


PAGE = Style(
    ink="var(--ink)",
    muted="var(--muted)",
    line="var(--line)",
    paper="var(--paper)",
    band="var(--band)",
    mark="var(--mark)",
    verdicts=tuple(f"var(--{name})" for name in VERDICT_SHAPES),
    font_size=14,
    whole=1250,
    row=24,
    least_height=60,
    most_rows=60,
    label_width=400,
    ticks=8,
    margins=(5, 10),
    page=True,
)
PHONE = replace(PAGE, font_size=12, whole=350, row=20, ticks=5, margins=(6, 6), narrow=True)
SLIDE = Style(
    ink="#111111",
    muted="#555555",
    line="#dddddd",
    paper="#ffffff",
    band="#e3e3e3",
    mark="#111111",
    verdicts=("#9a3000", "#0d5296", "#3c5145", "#6b5000", "#555555", "#5b2a86", "#6b6b6b"),
    font_size=24,
    whole=1130,
    row=42,
    least_height=300,
    most_rows=11,
    label_width=540,
    ticks=6,
    margins=(5, 60),
    page=False,
)
