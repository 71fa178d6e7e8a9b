"""Read the file of a page, and make a view of it."""

from collections.abc import Sequence
from pathlib import Path

from ..drive import result
from ..drive.gate import Terms, Verdict
from ..drive.result import Result, Side
from ..ground import codec, json_io, units
from ..ground.environment import Environment
from ..judge.comparison import Compared, Comparison
from ..store import run_file
from ..store.benchmark import Benchmark
from ..store.run_file import RunFile
from .names import labels_in, short_and_shared
from .view import BenchmarkView, View

_SHORT_COMMIT = 10
_REMEDY = "give a run file, or a result of gnnbench ab or compare"


def read(path: Path) -> View:
    """Read the file of a page: a run file or a result."""
    content = json_io.read(path, _REMEDY)
    kind = result.kind(content)
    if kind is None:
        json_io.refuse(path, "neither a run file nor a result", _REMEDY)
    found = run_file.parse(path, content) if kind == "run" else result.parse(path, content)
    with json_io.refusing(path, "damaged", "save it again"):
        return _of_run(found) if isinstance(found, RunFile) else _of_result(found)


def _of_result(found: Result) -> View:
    benchmarks, common = _benchmarks(found.rows)
    taken = [] if found.seconds is None else [("took", f"{found.seconds:,.0f} s")]
    if (busy := found.contention_share) is not None:
        taken.append(("CPU time of other programs", units.fraction(busy)))
    facts = (*taken, *environment_facts(found.environment))
    return View(found.command, found.path.name, common, benchmarks, found, facts, found.all_notes())


def _of_run(run: RunFile) -> View:
    judged = _saved(run)
    benchmarks, common = _benchmarks(judged.rows if judged else (), run)
    taken = (("measured", run.datetime[:19].replace("T", " ")),) if run.datetime else ()
    facts = (*taken, *environment_facts(run.environment))
    notes = (*(judged.notes if judged else ()), *run.left_out)
    return View("report", run.path.name, common, benchmarks, judged, facts, notes, run.left_out)


def _benchmarks(
    rows: Sequence[Compared], run: RunFile | None = None
) -> tuple[tuple[BenchmarkView, ...], str]:
    """Return the benchmarks of a run and those that have a verdict, and what all have in common."""
    timed = run.benchmarks if run else {}
    judged = {row.fullname: row for row in rows}
    cut = {one.fullname: str(one.error) for one in run.part.incomplete} if run else {}
    names = list(dict.fromkeys([*timed, *judged, *cut]))
    labels = {**labels_in(names), **{name: row.labels for name, row in timed.items() if row.labels}}
    short, common = short_and_shared({name: labels[name] for name in names})
    found = tuple(
        BenchmarkView(
            name,
            short[name],
            labels[name],
            judged.get(name),
            timed.get(name) or Benchmark(name, ()),
            cut.get(name, ""),
        )
        for name in names
    )
    return found, common


def _saved(run: RunFile) -> Result | None:
    """Return the verdicts of `--benchmark-compare` in a run file. Returns None if it has none."""
    saved = filter(None, (row.part.comparison for row in run.benchmarks.values()))
    found = [codec.decode(verdict, Verdict) for verdict in saved]
    if not found:
        return None
    terms = codec.decode(run.part.compared, Terms)
    records = sorted({one.against for one in found if one.against})
    commits = tuple(dict.fromkeys(commit for one in found for commit in one.base.commits))
    base = Side(f"record {', '.join(records)}" if records else "other runs", commits)
    return Result(
        "compare",
        base,
        Side(""),  # it is the file of the page
        Comparison([one.row for one in found]),
        terms.thresholds,
        shard=str(run.shard) if run.shard else None,
        repeat=terms.turns[0].repeat if terms.turns else None,
    )


def environment_facts(environment: Environment | None) -> tuple[tuple[str, str], ...]:
    """Return name and value of each known field."""
    if not environment:
        return ()
    changed = ", with uncommitted changes" if environment.dirty else ""
    facts = {
        "processor": environment.cpu,
        "threads": environment.threads,
        "GPU": environment.gpu and environment.gpu.name,
        "system": environment.system,
        "Python": environment.python,
        "libraries": " · ".join(map(" ".join, environment.libraries)),
        "commit": environment.commit and f"{environment.commit[:_SHORT_COMMIT]}{changed}",
    }
    return tuple((name, str(value)) for name, value in facts.items() if value)
