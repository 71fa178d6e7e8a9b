"""The kinds of saved files whose texts a comment or a page shows, and the commands that read them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.fuzz import files
from tests.fuzz.files import FILE, OTHER

PAGE = "page.html"
_PAGE = ("-o", PAGE)
_JSON = ("--json", "output.json")

Command = tuple[str, ...]
"""The words of a command."""


@dataclass(frozen=True)
class Kind:
    make: Callable[[], None]
    """Writes files to the current folder."""
    files: tuple[str, ...]
    """Patterns of those of which one is changed."""
    commands: Sequence[Command]
    statuses: frozenset[int] = frozenset((0, 2))
    """Exit codes that are documented."""


_OF_RUNS = (
    ("compare", FILE, "--", OTHER),
    ("compare", OTHER, *_JSON, "--", FILE),
    ("compare", OTHER, "--format", "markdown", "--", FILE),
    ("compare", "--by", "platform", FILE, *_JSON),
    ("compare", "--by", "n=1", FILE, "--format", "markdown"),
    ("compare", "--by", "dataset", FILE, OTHER, "--format", "json"),
    ("accept", FILE, "--reason", "fuzz"),
    ("report", FILE, *_PAGE),
    ("report", OTHER, FILE, *_PAGE),
)
_OF_RESULTS = (
    *(("comment", FILE), ("comment", FILE, OTHER, "--title", "title"), ("merge", FILE, "-o", "whole.json")),
    *(("report", FILE, *_PAGE), ("compare", FILE, "--", FILE)),
    *(("accept", FILE, "--reason", "fuzz"), ("accept", FILE, "test_a.py::slower", "--reason", "fuzz")),
)
_VERDICTS = frozenset((0, 1, 2, 3))

KINDS = {
    "run": Kind(files.runs, (FILE,), _OF_RUNS, _VERDICTS),
    "run of pytest-benchmark": Kind(files.plain_runs, (FILE,), _OF_RUNS, _VERDICTS),
    "ab": Kind(files.results_of_ab, (FILE,), _OF_RESULTS),
    "compare": Kind(files.results_of_compare, (FILE,), _OF_RESULTS),
    "watch": Kind(
        files.states_of_watch,
        ("state/*.json", "state/steps/*.json"),
        (("watch", "--state", "state", "--page", PAGE),),
    ),
}
