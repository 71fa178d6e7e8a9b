"""The kinds of saved files, and the commands that read them."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gnnbench import environment
from gnnbench.cli import main
from gnnbench.compare import runs
from gnnbench.compare.verdict import Thresholds
from gnnbench.errors import one_line
from gnnbench.measure.counter_changes import changed
from gnnbench.plugin import records
from gnnbench.report import console, verdicts
from gnnbench.results import accepted, base, run_file
from gnnbench.results.accepted import FILE as ACCEPTED
from gnnbench.results.baseline import FOLDER, RecordStore
from gnnbench.variants import rebuild
from gnnbench.workloads import counter_baseline
from tests.fuzz import files
from tests.fuzz.files import FILE, OTHER
from tests.run_files import ENVIRONMENT

PAGE = "page.html"
_PAGE = ("-o", PAGE)
_JSON = ("--json", "output.json")

Command = tuple[str, ...] | Callable[[], int]
"""The words of a command, or a function that reads a file as pytest or a longer command does."""


@dataclass(frozen=True)
class Kind:
    """A kind of saved files."""

    make: Callable[[], None]
    """Writes files to the current folder."""
    files: tuple[str, ...]
    """Patterns of those of which one is changed."""
    commands: Sequence[Command]
    statuses: frozenset[int] = frozenset((0, 2))
    """Exit codes that are documented."""


def _as_benchmark_compare() -> int:
    """Read the records as `pytest --benchmark-compare` does."""
    store = RecordStore(Path.cwd() / FOLDER)
    head = run_file.read(Path(OTHER))
    known = store.find(ENVIRONMENT)
    if not known:
        _, fields = store.nearest(ENVIRONMENT) or ("", ())
        print(one_line(runs.describe_fields(fields)))  # noqa: T201
        return 3
    found = base.choose(known, head.benchmarks, ["benchmarks"])
    compared = runs.compare(found.runs, [head], Thresholds(0.03))
    sys.stdout.write(console.terminal(verdicts.document(compared), 100, colour=False))
    for record in set(found.records.values()):
        run = next(run for run in found.runs if run.path in record.files)
        lines = [*rebuild.differences(run.sources, head.sources), rebuild.variant(run.sources, head.sources)]
        for line in (records.described(record, run, "1 benchmark"), *lines):
            print(one_line(line))  # noqa: T201
    return 0


def _as_gate_of_counters() -> int:
    """Read a baseline of counters as pytest does, and add to it."""
    counts = {"operators": {"aten::mm": 3}, "copies": {}}
    for recorded in counter_baseline.read(Path(FILE)).values():
        print(one_line(" ".join(map(str, changed(recorded, counts, ())))))  # noqa: T201
    kinds = ("operators", "copies", "copied_bytes", "library_calls", "python_calls")
    one = {kind: {} for kind in kinds}
    counter_baseline.write(Path(FILE), "torch", {"one": one})
    assert counter_baseline.read(Path(FILE))["one"] == one
    return 0


def _with_accepted() -> int:
    """Compare where slowdowns are accepted, and accept one more."""
    ACCEPTED.parent.mkdir(exist_ok=True)
    ACCEPTED.write_text(files.as_toml(Path(FILE).read_text(errors="surrogatepass")), errors="surrogatepass")
    status = main.main(["compare", "a.json", "--", "b.json"])
    found = accepted.read(ACCEPTED)
    accepted.write(found, found.entries[:1], {one.number for one in found.entries[1:]})
    assert len(accepted.read(ACCEPTED).entries) == 2 * bool(found.entries)
    return status


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
    "shard": Kind(files.shards, (FILE,), [("merge", FILE, OTHER, "-o", "whole.json")]),
    "record": Kind(
        files.records,
        (f"{FOLDER}/*/*/*.json",),
        (
            ("baseline", "list"),
            ("baseline", "show", "--environment", environment.name(ENVIRONMENT)),
            _as_benchmark_compare,
        ),
        _VERDICTS,
    ),
    "ab": Kind(files.results_of_ab, (FILE,), _OF_RESULTS),
    "compare": Kind(files.results_of_compare, (FILE,), _OF_RESULTS),
    "compare --by": Kind(
        files.results_of_compare_by, (FILE,), (*_OF_RESULTS, ("compare", "--by", "n", FILE))
    ),
    "accepted slowdowns": Kind(files.accepted_slowdowns, (FILE,), (_with_accepted,), _VERDICTS),
    "bisection": Kind(files.results_of_bisect, (FILE,), _OF_RESULTS),
    "watch": Kind(
        files.states_of_watch,
        ("state/*.json", "state/steps/*.json"),
        (("watch", "--state", "state", "--page", PAGE),),
    ),
    "regret": Kind(
        files.regrets,
        (FILE,),
        (
            ("regret", "--from", FILE),
            ("regret", "--from", FILE, "--against", OTHER),
            ("regret", "--from", OTHER, "--against", FILE),
        ),
        frozenset((0, 2, 3)),
    ),
    "counters": Kind(files.counters, (FILE,), (_as_gate_of_counters,)),
}
