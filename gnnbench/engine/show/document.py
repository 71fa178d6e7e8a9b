"""A document is a list of tables, headings and notes. A `Writer` turns it into escaped text."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from ..ground import units
from ..ground.labels import Labels
from ..judge.memory import MemoryChange
from .lines import Note
from .names import Names, names_by_table

_Text = Literal["name", "text", "verdict", "shown"]
_Number = Literal["number", "time", "ratio", "interval", "effect", "fraction", "size", "count", "memory"]
Kind = _Text | _Number
_LARGEST_EFFECT = 10.0
"""A minimum detectable effect above this fraction is shown as `over 1000%`."""


@dataclass(frozen=True)
class Shown:
    """What a cell shows."""

    text: str
    sort: float | None = None
    """The sort key on a page. None to sort by the text."""
    style: str = ""
    """A verdict or another word that sets the colour. Empty for plain text."""


def _ratio(pair: tuple[float, bool | None]) -> Shown:
    value, changed = pair
    return Shown(units.ratio(value, changed=changed), value)


def _memory(memory: MemoryChange) -> Shown:
    """Return the cell with the change of the memory that the head needs. Empty if it did not change."""
    if not memory.changed:
        return Shown("")
    more = memory.head_bytes - memory.base_bytes
    style = "ignored" if memory.excused else "slower" if memory.is_more else "faster"
    return Shown(f"{'+' if memory.is_more else '-'}{units.size(abs(more))}", more, style)


def effect(value: float) -> str:
    """Return a minimum detectable effect as text, such as `4.1%` or `over 1000%`."""
    return units.fraction(value) if value <= _LARGEST_EFFECT else f"over {units.fraction(_LARGEST_EFFECT)}"


_KINDS: Mapping[Kind, Callable[[Any], Shown]] = {
    "time": lambda seconds: Shown(units.seconds(seconds), seconds),
    "ratio": _ratio,
    "interval": lambda bounds: Shown(units.interval(*bounds), bounds[0]),
    "verdict": lambda word: Shown(word, None, word),
    "effect": lambda value: Shown(effect(value), value),
    "fraction": lambda value: Shown(units.fraction(value), value),
    "size": lambda count: Shown(units.size(count), count),
    "count": lambda number: Shown(str(number), number),
    "memory": _memory,
}
"""How values of each kind are shown. The value of a `ratio` is a pair: the ratio, and whether its interval
excludes 1 (None without an interval). The value of an `interval` is the pair of its bounds."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    title: str
    kind: Kind = "name"
    of: Callable[[Any], Any] = lambda row: row
    """Returns the value for a row, or None for an empty cell."""
    once: bool = False
    """Whether a terminal leaves the cell empty if all columns with `once` repeat the row above."""
    aside: bool = False
    """Whether a narrow page leaves the column out."""
    meaning: str = ""
    """What the column shows, for a legend. Empty if its title says it."""

    @property
    def is_number(self) -> bool:
        """Whether the column is aligned right."""
        return self.kind in get_args(_Number)

    def shown(self, value: Any) -> Shown:
        """Return what the cell shows for a value; names and texts are not cleaned yet."""
        if value is None or value == "":
            return Shown("")
        if isinstance(value, Shown):
            return value
        return _KINDS.get(self.kind, lambda text: Shown(str(text)))(value)


@dataclass(frozen=True)
class Table:
    """A table. The value of an empty cell is None."""

    heading: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]

    @classmethod
    def of(cls, heading: str, columns: Sequence[Column], rows: Iterable[Any]) -> Self:
        """Make a table in which each column computes its values from the rows."""
        return cls(heading, columns, [tuple(column.of(row) for column in columns) for row in rows])


@dataclass(frozen=True)
class Heading:
    """A heading above the blocks that follow."""

    text: str


Document = Sequence[Table | Heading | Note]


def filled(columns: Iterable[Column], rows: Collection[Any]) -> list[Column]:
    """Return the columns that have a value in at least one row."""
    return [column for column in columns if any(column.shown(column.of(row)).text for row in rows)]


def table(names: Names, columns: Sequence[Column], data: Mapping[str, Any]) -> Table:
    """Return a table of benchmarks: names, and the columns that have values. `data`: rows by fullname."""
    visible = filled(columns, data.values())
    rows = [(*names.cells[name], *(column.of(row) for column in visible)) for name, row in data.items()]
    return Table(names.shared, (*map(Column, names.columns), *visible), rows)


def tables(
    labels: Mapping[str, Labels | None], columns: Sequence[Column], data: Mapping[str, Any]
) -> list[Table]:
    """Return a table for each combination of inputs, and one for the benchmarks without labels."""
    return [
        table(names, columns, {name: data[name] for name in names.cells}) for names in names_by_table(labels)
    ]
