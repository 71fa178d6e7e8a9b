"""Writes a result of `ab` or `compare` in Markdown, as a comment on a pull request."""

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..drive.result import Result
from ..ground import units
from ..judge.comparison import Compared
from . import causes, document, verdicts, wording
from .causes import BENCHMARKS, Explained
from .markdown_text import code, prose, table
from .names import LONGEST, Names, labels_of, merge_notes

MOST_CHARACTERS = 65_536
"""GitHub's limit for a comment."""
_FEW = 20
"""If there are more rows than this, those of unchanged benchmarks are folded."""
_COLUMNS = sorted(verdicts.COLUMNS, key=lambda column: column.kind != "verdict")
"""The verdict comes first: a comment is often narrow."""


def write(result: Result, title: str = "", details_url: str = "", most: int = MOST_CHARACTERS) -> str:
    """Return the comment on a result in at most `most` characters. One line says how much is left out."""
    comment = _Comment(result, title, details_url)
    numbers = range(max(len(comment.rows), len(comment.folded_notes)) + 1)
    # In UTF-16 code units, the largest of the lengths that GitHub may count.
    fitting = bisect(numbers, most, key=lambda number: len(comment.render(number).encode("utf-16-le")) // 2)
    return comment.render(max(fitting - 1, 0))


@dataclass(frozen=True)
class _Comment:
    """The parts of a comment, which `render` puts together."""

    result: Result
    title: str
    details_url: str

    @cached_property
    def causes(self) -> list[Explained]:
        return causes.of_result(self.result)

    @cached_property
    def rows(self) -> list[Compared]:
        """The benchmarks that do not run the same code, changed ones first."""
        return causes.ranked((row for row in self.result.rows if not row.judgement.same_code), self.causes)

    @cached_property
    def names(self) -> Names:
        return Names.of(labels_of(self.rows))

    @cached_property
    def folded_notes(self) -> list[str]:
        """The notes in the folded part, on unchanged benchmarks and on the result, as list items."""
        result = self.result
        by_row = [
            (_name(self.names, row), [prose(note) for note in verdicts.benchmark_notes(row, self.causes)])
            for row in self.rows
            if not wording.is_changed(row)  # notes on changed benchmarks are below the table
        ]
        pooling = wording.pooling_note((row.judgement for row in result.rows), "benchmark")
        return [f"- {line}" for line in (*merge_notes(by_row), *map(prose, (*pooling, *result.all_notes())))]

    @cached_property
    def legend(self) -> list[str]:
        """The meaning of each column, as list items."""
        lines = wording.legend(document.filled(_COLUMNS, self.rows), self.result)
        return [f"- {prose(line)}" for line in lines]

    def render(self, most: int) -> str:
        """Return the comment with at most `most` rows and `most` notes, with blank lines between blocks."""
        result, rows, url = self.result, self.rows, self.details_url
        first_rows = rows[:most]
        changed = [row for row in first_rows if wording.is_changed(row)]
        visible = first_rows if len(rows) <= _FEW else changed
        folded = first_rows[len(visible) :]  # changed rows come first in `first_rows`
        explained = self.causes[:most]
        reasons = [line for cause in explained for line in _cause(cause, self.names)]
        changed_notes = [(row, verdicts.benchmark_notes(row, explained)) for row in changed]
        reasons += [
            f"- {_name(self.names, row)}: {'; '.join(map(prose, notes))}"
            for row, notes in changed_notes
            if notes
        ]
        shared = f": {code(self.names.shared)}" if self.names.shared else ""
        omissions = {"benchmark": len(rows) - len(first_rows), "note": len(self.folded_notes) - most}
        left_out = " and ".join(units.count(number, noun) for noun, number in omissions.items() if number > 0)
        file = code(result.path.name) if result.path.name else ""
        where = f"[the full report]({url})" if url else file
        summary = f"{units.count(len(folded), 'more benchmark')}, notes" if folded else "Notes"
        headline = wording.headline(result.rows, busy=result.is_busy)
        others = f"; {headline.others}" if headline.others else ""
        blocks = [
            [f"**{headline.main}**{others}{f' · {prose(self.title)}' if self.title else ''}"],
            [f"{prose(result.base.title)} → {prose(result.head.title)}{_machine(result)}{shared}"],
            _table(visible, self.names),
            reasons,
            [f"Left out for length: {left_out}{where and f'; see {where}'}."] if left_out else [],
            ["<details>", f"<summary>{summary} and how to read this</summary>"],
            _table(folded, self.names),
            [*self.folded_notes[:most], *self.legend],
            ["</details>"],
            [f"[Full report]({url})"] if url else [],
        ]
        return "\n\n".join("\n".join(lines) for lines in blocks if lines) + "\n"


def _machine(result: Result) -> str:
    """Return the name of the GPU, or else of the processor, as in `, on AMD EPYC`."""
    machine = result.environment
    name = machine and (machine.gpu.name if machine.gpu else machine.cpu)
    return f", on {code(name)}" if name else ""


def _cause(explained: Explained, names: Names) -> list[str]:
    """Return the lines on a cause: its sentence and benchmarks, then its commands, except very long ones."""
    benchmarks = units.listed([_name(names, row) for row in explained.cause.rows], BENCHMARKS)
    commands = (
        f"  - {note.text}: {code(note.command, most=LONGEST)}"
        for note in explained.commands
        if len(note.command) <= LONGEST
    )
    return [f"- {explained.sentence(code)}: {benchmarks}", *commands]


def _table(rows: Sequence[Compared], names: Names) -> list[str]:
    by_name = {row.fullname: row for row in rows}
    return table(document.table(names, _COLUMNS, by_name)) if by_name else []


def _name(names: Names, row: Compared) -> str:
    return code(" ".join(names.cells[row.fullname]))
