"""Read the files of a page, check that they belong together, and make a view of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..drive import result
from ..drive import runs as comparison
from ..drive.gate import Terms, Verdict
from ..drive.result import Result, Side, of_runs
from ..ground import codec, json_io, units
from ..ground.environment import WHERE, Environment
from ..ground.errors import UsageError
from ..ground.files import distinct
from ..judge.comparison import Compared, Comparison
from ..judge.verdict import Thresholds
from ..store import run_file
from ..store.left_out import by_file
from ..store.run_file import RunFile
from . import causes
from .names import labels_in, titles
from .view import BenchmarkView, Verdicts, View

_SHORT_COMMIT = 10
_ITSELF = Side("")
"""The newer side, where it is the file of the page."""
_REMEDY = "give a run file, or a result of gnnbench ab or compare"


@dataclass(frozen=True)
class Sources:
    """The files of a page."""

    first: RunFile | Result
    base: tuple[RunFile, ...]
    """Runs of the older side; only if `first` is a run."""
    left_out: tuple[str, ...]
    """What is left out of the runs, a line for each reason."""


def read(paths: Sequence[Path]) -> Sources:
    """Read all files; the first is shown, further ones are its base."""
    found = list(map(_read, paths))
    left_out = by_file((one.path, one.left_out) for one in found if isinstance(one, RunFile))
    return Sources(found[0], _base(found) if len(found) > 1 else (), tuple(left_out))


def _read(path: Path) -> RunFile | Result:
    content = json_io.read(path, _REMEDY)
    kind = result.kind(content)
    if kind not in ("run", "ab", "compare"):
        reason = f"there is no page of {units.article(f'{kind} file')}" if kind else "unknown format"
        json_io.refuse(path, reason, _REMEDY)
    if kind == "run":
        return run_file.parse(path, content)
    return result.parse(path, content)


def _base(found: Sequence[RunFile | Result]) -> tuple[RunFile, ...]:
    """Return all files but the first, as runs of the same environment."""
    distinct([one.path for one in found])
    runs = []
    for one in found:
        if isinstance(one, Result):
            kind = units.article(f"{one.command} file")
            raise UsageError(f"{one.path}: {kind} cannot be compared with other files; give it alone")
        runs.append(one)
    comparison.check_alike(runs, WHERE, "not of the environment of", "give runs of one environment")
    return tuple(runs[1:])


def compose(sources: Sources, thresholds: Thresholds) -> View:
    """Return the view of files."""
    main = sources.first
    with json_io.refusing(main.path, "damaged", "save it again"):
        if isinstance(main, Result):
            return _of_result(main)
        judged = _against(main, sources.base, thresholds) if sources.base else _saved(main)
        return _of_run(main, sources.base, judged, sources.left_out)


def _of_result(found: Result) -> View:
    benchmarks, common = _benchmarks(found.rows)
    facts = environment_facts(found.environment)
    if (busy := found.contention_share) is not None:
        facts = (("CPU time of other programs", units.fraction(busy)), *facts)
    if found.environment is not None:
        facts = (("took", f"{found.seconds:,.0f} s"), *facts)
    notes = found.all_notes()
    if found.interrupted:
        text = "The comparison was interrupted: benchmarks without a verdict by then are undecided."
        notes = (text, *notes)
    judged = Verdicts(found, found.thresholds, tuple(causes.of_result(found)))
    return View(found.command, found.path.name, common, benchmarks, judged, facts=facts, notes=notes)


def _of_run(run: RunFile, base: Sequence[RunFile], judged: Verdicts | None, left_out: Sequence[str]) -> View:
    benchmarks, common = _benchmarks(judged.result.rows if judged else (), run, base)
    taken = (("measured", run.datetime[:19].replace("T", " ")),) if run.datetime else ()
    facts = (*taken, *environment_facts(run.environment))
    notes = (*(judged.result.notes if judged else ()), *left_out)
    return View("run", run.path.name, common, benchmarks, judged, facts=facts, notes=notes)


def _benchmarks(
    rows: Sequence[Compared], run: RunFile | None = None, base: Sequence[RunFile] = ()
) -> tuple[tuple[BenchmarkView, ...], str]:
    """Return the benchmarks of a run and those that have a verdict, and what all have in common."""
    timed = run.benchmarks if run else {}
    judged = {row.fullname: row for row in rows}
    cut = {one.fullname: str(one.error) for one in run.part.incomplete} if run else {}
    names = list(dict.fromkeys([*timed, *judged, *cut]))
    labels = {**labels_in(names), **{name: row.labels for name, row in timed.items() if row.labels}}
    titled, common = titles({name: labels[name] for name in names})
    found = tuple(
        BenchmarkView(
            name,
            *titled[name],
            labels[name],
            judged.get(name),
            timed.get(name),
            tuple(one.benchmarks[name] for one in base if name in one.benchmarks),
            cut.get(name, ""),
        )
        for name in names
    )
    return found, common


def _against(run: RunFile, base: Sequence[RunFile], thresholds: Thresholds) -> Verdicts:
    found = replace(
        of_runs(base, [run], thresholds), head=_ITSELF, shard=str(run.shard) if run.shard else None
    )
    return Verdicts(found, thresholds, tuple(causes.of_result(found)))


def _saved(run: RunFile) -> Verdicts | None:
    """Return the verdicts of `--benchmark-compare` that were saved with a run; None: there are none."""
    found = [saved for row in run.benchmarks.values() if (saved := row.part.comparison)]
    if not found:
        return None
    verdicts = [codec.decode(saved, Verdict) for saved in found]
    rows = [one.row for one in verdicts]
    compared = codec.decode(run.part.compared, Terms) if run.part.compared else None
    in_turns = {one.row.fullname for one in verdicts if one.in_turns}
    repeat = compared.turns[0].repeat if compared and compared.turns else None
    told = causes.told(rows, lambda names: repeat if in_turns.issuperset(names) else None, whole=False)
    records = sorted({one.against for one in verdicts if one.against})
    commits = tuple(dict.fromkeys(commit for one in verdicts for commit in one.base.commits))
    base = Side(f"record {', '.join(records)}" if records else "other runs", commits)
    thresholds = compared.thresholds if compared else None
    result = Result("compare", base, _ITSELF, Comparison(rows), thresholds or Thresholds(0.03))
    return Verdicts(result, thresholds, tuple(told))


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
