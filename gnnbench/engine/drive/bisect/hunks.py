"""The hunks of a commit, as a line: each candidate has one more of them than the one before it."""

import ast
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from ...ground import git
from ...process.variants import variant
from ...process.variants.commit import Commit
from ...process.variants.overlay import local_path
from .line import SHORT, Candidate, Cause, Line

_MOST = 100
"""Hunks of a commit that is divided."""
_HUNK = re.compile(r"^(?=@@ )", re.MULTILINE)
_PLACE = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)")


@dataclass(frozen=True)
class Hunk:
    """A hunk of one file, or a whole file that has none, such as one that is new, gone or binary."""

    file: str
    """Its path, from the top of the repository."""
    head: str
    """What stands in the diff above the file's hunks."""
    text: str

    @property
    def lines(self) -> list[int]:
        """The numbers of its changed lines in the new file."""
        place = _PLACE.match(self.text)
        number, found = int(place[1]) if place else 0, []
        for line in self.text.splitlines()[1:]:
            if not line.startswith(" "):
                found.append(number)
            number += not line.startswith(("-", "\\"))
        return found


def line(before: Candidate, cause: Cause, root: Path) -> Line | None:
    """Return the line of hunks within a commit.

    Of a file, the hunks are applied from its top, so that a hunk that others need comes first where it stands
    first. The commits are made without a branch: git removes them some time.

    Returns:
        None: the commit is a merge, is taken back, or has one hunk or very many.
    """
    if cause.parents != 1 or cause.undone:
        return None
    end = variant.parse(before.variant).of(Commit)[0]
    typed, old = end.folder, end.ref
    folder = git.top(root if typed is None else local_path(typed, root))
    hunks = list(_hunks(git.diff(folder, old, cause.name)))
    if not 1 < len(hunks) <= _MOST:
        return None
    hashes = []
    for count in range(1, len(hunks)):
        made = git.with_patch(
            folder, old, _patch(hunks[:count]), f"{count} of {len(hunks)} hunks of {cause.name}"
        )
        if made is None:
            return None  # a diff that git does not take back, as of a file that filters change
        hashes.append(made)
    candidates = [before]
    for number, (hunk, hash_) in enumerate(zip(hunks, [*hashes, cause.name], strict=True), 1):
        name = f"hunk {number} of {len(hunks)}"
        what = f"{_function(git.content(folder, cause.name, hunk.file), hunk.lines)}{hunk.file}"
        parts = [
            part.replace(old, hash_) if part.startswith("git:") else part
            for part in shlex.split(before.variant)
        ]
        candidates.append(
            Candidate(f"{name} of {cause.name[:SHORT]}", shlex.join(parts), Cause("hunk", name, what))
        )
    return Line("hunk", tuple(candidates))


def _hunks(diff: str) -> Iterator[Hunk]:
    for part in re.split(r"^(?=diff --git )", diff, flags=re.MULTILINE)[1:]:
        head, *texts = _HUNK.split(part)
        names = re.findall(r"^(?:\+\+\+ b|--- a)/(.*)$", head, re.MULTILINE)
        file = names[-1] if names else head.partition("\n")[0].rpartition(" b/")[2]
        is_whole = not texts or re.search(r"^(new|deleted) file", head, re.MULTILINE)
        for text in ["".join(texts)] if is_whole else texts:
            yield Hunk(file, head, text)


def _patch(hunks: Sequence[Hunk]) -> str:
    """Return the patch that applies hunks, which are in the order of the diff."""
    files = groupby(hunks, key=lambda one: one.head)
    return "".join(head + "".join(one.text for one in own) for head, own in files)


def _function(source: str, lines: Sequence[int]) -> str:
    """Return in which function the first of some lines is, `in softmax(), `; empty: in none, or no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return ""
    functions = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    for number in lines:
        around = [one for one in functions if one.lineno <= number <= (one.end_lineno or one.lineno)]
        if around:
            return f"in {max(around, key=lambda one: one.lineno).name}(), "
    return ""
