"""Read the files of a page, check that they belong together, and make a view of them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..drive import result, runs
from ..drive.result import Result, Side
from ..ground import json_io, units
from ..ground.environment import Environment
from ..ground.errors import UsageError
from ..ground.files import distinct
from ..judge.comparison import Compared
from ..judge.verdict import Thresholds
from ..store import run_file
from ..store.benchmark import Benchmark
from ..store.left_out import by_file
from ..store.run_file import RunFile
from .names import labels_in, short_and_shared
from .view import BenchmarkView, View

_SHORT_COMMIT = 10
_ITSELF = Side("")
"""The newer side, where it is the file of the page."""
_REMEDY = "give a run file, or a result of gnnbench ab or compare"


def read(paths: Sequence[Path], thresholds: Thresholds) -> View:
    """Read the files of a page: the first is shown, and further ones are run files of its older side."""
    main, *others = found = list(map(_read, paths))
    distinct(paths)
    left_out = by_file((one.path, one.left_out) for one in found if isinstance(one, RunFile))
    base = [one for one in others if isinstance(one, RunFile)]
    if others and (len(base) < len(others) or isinstance(main, Result)):
        raise UsageError("a result cannot be compared with other files; give it alone")
    with json_io.refusing(main.path, "damaged", "save it again"):
        if isinstance(main, Result):
            return _of_result(main)
        judged = _against(main, base, thresholds) if base else _saved(main)
        return _of_run(main, base, judged, left_out)


def _read(path: Path) -> RunFile | Result:
    content = json_io.read(path, _REMEDY)
    kind = result.kind(content)
    if kind is None:
        json_io.refuse(path, "neither a run file nor a result", _REMEDY)
    if kind == "run":
        return run_file.parse(path, content)
    return result.parse(path, content)


def _of_result(found: Result) -> View:
    benchmarks, common = _benchmarks(found.rows)
    taken = [] if found.seconds is None else [("took", f"{found.seconds:,.0f} s")]
    if (busy := found.contention_share) is not None:
        taken.append(("CPU time of other programs", units.fraction(busy)))
    facts = (*taken, *environment_facts(found.environment))
    return View(found.command, found.path.name, common, benchmarks, found, facts, found.all_notes())


def _of_run(run: RunFile, base: Sequence[RunFile], judged: Result | None, left_out: Sequence[str]) -> View:
    benchmarks, common = _benchmarks(judged.rows if judged else (), run, base)
    taken = (("measured", run.datetime[:19].replace("T", " ")),) if run.datetime else ()
    facts = (*taken, *environment_facts(run.environment))
    notes = (*(judged.notes if judged else ()), *left_out)
    return View("report", run.path.name, common, benchmarks, judged, facts, notes, left_out)


def _benchmarks(
    rows: Sequence[Compared], run: RunFile | None = None, base: Sequence[RunFile] = ()
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
            tuple(one.benchmarks[name] for one in base if name in one.benchmarks),
            cut.get(name, ""),
        )
        for name in names
    )
    return found, common


def _against(run: RunFile, base: Sequence[RunFile], thresholds: Thresholds) -> Result:
    found = runs.result(base, [run], thresholds)
    return replace(found, head=_ITSELF, shard=str(run.shard) if run.shard else None)


def _saved(run: RunFile) -> Result | None:
    """Return the verdicts of `--benchmark-compare` in a run file. Returns None if it has none."""
    return replace(result.parse(run.path, run.part.compared), head=_ITSELF) if run.part.compared else None


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
