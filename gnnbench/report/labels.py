"""What a table calls benchmarks: operation, direction and platform, or the ids of another suite's tests."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, Self

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from ..workloads.spec import Spec
from . import lines
from .names import clean, spec_of
from .table import SHORT_DIRECTION, inputs, shared_place

_FEWEST = 10
"""Characters of a column of names, at least."""


class _Named(Protocol):
    @property
    def fullname(self) -> str: ...
    @property
    def spec(self) -> Spec | None: ...


@dataclass(frozen=True)
class Labels:
    """The names of benchmarks in one table."""

    columns: tuple[str, ...]
    cells: Mapping[str, tuple[str, ...]]
    """One per column, by the benchmark's fullname; as they are in the file, so possibly with escapes."""
    shared: str
    """Graph, width, types and device of all; if names are ids, the folder or file that all begin with."""

    @classmethod
    def of(cls, specs: Mapping[str, Spec | None]) -> Self:
        """Choose the columns: ids if a benchmark has no spec, or if two differ in their ids only.

        Args:
            specs: by fullname.
        """
        own = {name: spec for name, spec in specs.items() if spec}
        all_inputs = [inputs(spec) for spec in own.values()]
        varying = [len(set(values)) > 1 for values in zip(*all_inputs, strict=True)]
        cells = {
            name: (spec.operation, SHORT_DIRECTION[spec.direction], spec.platform, *_some(spec, varying))
            for name, spec in own.items()
        }
        if cells and len(set(cells.values())) == len(specs):
            columns = ("operation", "dir", "on", *(("input",) if any(varying) else ()))
            alike = (value for value, differs in zip(all_inputs[0], varying, strict=True) if not differs)
            return cls(columns, cells, " · ".join(alike))
        place = shared_place(list(specs))
        return cls(("benchmark",), {name: (name.removeprefix(place),) for name in specs}, place)

    def heading(self) -> Text:
        """Return what is above the table."""
        return Text(clean(self.shared), "bold")

    def table(self) -> Table:
        """Return a table with the columns of the names."""
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
        for column in self.columns:
            table.add_column(column, no_wrap=column in ("dir", "on"))
        return table

    def row(self, name: str) -> list["Folded"]:
        """Return the cells of a benchmark."""
        return [Folded(clean(label)) for label in self.cells[name]]


def _some(spec: Spec, varying: list[bool]) -> tuple[str, ...]:
    """Return what tells a benchmark's input from others', if anything does."""
    text = " · ".join(value for value, differs in zip(inputs(spec), varying, strict=True) if differs)
    return (text,) if text else ()


def groups(specs: Mapping[str, Spec | None]) -> list[Labels]:
    """Return the names of each table: one for each graph, width, types and device, and one for ids."""
    found: dict[tuple[str, ...], dict[str, Spec | None]] = {}
    for name, spec in specs.items():
        found.setdefault(inputs(spec) if spec else (), {})[name] = spec
    return [Labels.of(group) for group in found.values()]


def short(specs: Mapping[str, Spec | None]) -> dict[str, str]:
    """Return the name of each benchmark in a sentence, by fullname: `spmm_sum f+b pyg`."""
    own = {name: spec for name, spec in specs.items() if spec}
    others = {name: spec for name, spec in specs.items() if not spec}
    return {
        name: clean(" ".join(cells))
        for part in (own, others)
        for name, cells in Labels.of(part).cells.items()
    }


def specs_of(benchmarks: Iterable[_Named]) -> dict[str, Spec | None]:
    """Return the spec of each benchmark by fullname: the saved one, or that in its id."""
    return {one.fullname: one.spec or spec_of(one.fullname) for one in benchmarks}


class Folded:
    """A name in a cell, broken at its natural separators if the column is narrow."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines."""
        for line in lines.folded(self._name, options.max_width):
            yield Text(line, overflow="fold")

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the least and the largest width."""
        length = cell_len(self._name)
        return Measurement(min(length, _FEWEST), length)
