"""What a session prints: header, progress lines, tables and summary."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pytest

from .. import environment, json_io, units
from ..errors import one_line
from ..profile.hooks import profiling_of
from ..report import console
from ..report.document import Note
from ..report.lines import wrapped
from ..report.measured import half_width, remarks, times
from ..report.names import SHORT_DIRECTION, grouped, heading
from ..report.table import TableRow, document, notes, reading, scaling
from ..results import counter_baseline
from ..results.benchmark import part_of
from ..workloads.spec import Spec
from . import pace, writing
from .choice import choice_of
from .session import COUNTED, OUT_OF_MEMORY, arguments_without, is_ours, ours_of, run_of, seconds_of, spec_of

PROGRESS = "gnnbench-progress"
"""Name under which `SessionProgress` is registered."""

_NOTES = 5
"""Lines below the tables, at most; with `-v` all."""
_THEIR_TABLE: dict[str, object] = {
    "compare": [],
    "cprofile": None,
    "verbose": False,
    "sort": "min",
    "group_by": "group",
    "name": "normal",
}
"""Defaults of pytest-benchmark's options. With another value, its table is shown."""


def header(config: pytest.Config, items: Sequence[pytest.Item]) -> list[str]:
    """Return the lines about the machine, the libraries, the data, and which benchmarks run."""
    run = run_of(config)
    device = run.options.device
    here = environment.collect(gpu=run.options.gpu)
    processor = here.cpu
    if device == "cuda" and here.gpu:
        cache = "flushed between rounds" if run.options.flush_l2 else "kept from round to round"
        processor = f"{here.gpu.name}, L2 cache {cache}"
    policy = f"OMP_WAIT_POLICY={here.wait_policy or 'unset, so idle threads spin'}"
    libraries = ", ".join(f"{name} {version}" for name, version in here.libraries)
    machine = f"gnnbench: {device}, {processor}, {here.threads} threads on {here.cores} cores, {policy}"
    versions = f"python {here.python}, {libraries}"
    return [*writing.lines(config, machine, versions, *run.notices), *choice_of(config).lines(items)]


def record(item: pytest.Item, *, passed: bool) -> dict[str, Any] | None:
    """Return the results of a test for the summary; None if nothing was measured.

    These are plain data, because xdist's workers send them to the main process.
    """
    if not is_ours(item):
        return _record_other(item)
    benchmark = item.funcargs.get("benchmark")  # type: ignore[attr-defined]
    ours, seconds = ours_of(item), seconds_of(item)
    counted, out_of_memory = item.stash.get(COUNTED, None), item.stash.get(OUT_OF_MEMORY, None)
    is_timed = benchmark and benchmark.stats and not benchmark.has_error
    if not (is_timed or counted or out_of_memory or (passed and ours)):
        return None
    spec, row, result = spec_of(item), None, "checked" if seconds is None else f"{units.seconds(seconds):>9}"
    if "measurement" in ours:  # not with --gnn-dry-run
        row = TableRow.of(spec, part_of({"extra_info": benchmark.extra_info}))
        result += f" {row.interval.text:>6}"
    if (profiling := profiling_of(item.config)) and (saved := profiling.saved.get(item.nodeid)):
        result = ", ".join(saved.kinds)
    result = out_of_memory or result
    if counted:
        result = f"{counted['operators']:5} operators {counted['host_reads']:3} synchronisations"
    return {
        "spec": asdict(spec),
        "synthetic": ours["graph"]["synthetic"] if ours else False,
        "row": row,
        "seconds": seconds,
        "counted": counted,
        "out_of_memory": out_of_memory,
        "result": result,
    }


def _record_other(item: pytest.Item) -> dict[str, Any] | None:
    """Return the results of another suite's benchmark for the summary; None: gnnbench did not time it."""
    benchmark = item.funcargs.get("benchmark")  # type: ignore[attr-defined]
    measured = part_of({"extra_info": benchmark.extra_info}).measurement if benchmark else None
    if not measured:
        return None
    seconds = times(measured)
    time = f"{units.seconds(seconds[0]):>9} {half_width(*seconds).text:>6} "
    return {"spec": None, "time": time, "remarks": remarks(measured)}


def summarize(reporter: Any, found: Mapping[str, dict[str, Any]]) -> None:
    """Write the tables, and how many benchmarks were checked, timed and skipped."""
    others = {name: entry for name, entry in found.items() if not entry["spec"]}
    ours = [entry for entry in found.values() if entry["spec"]]
    if others:
        _summarize_others(reporter, others)
    # Only xdist's workers collected the tests, and their headers are not shown.
    if ours and reporter.config.getoption("numprocesses", None):
        for line in header(reporter.config, ()):
            reporter.write_line(line)
    if ours:
        _summarize_ours(reporter, ours)


def _summarize_others(reporter: Any, records: Mapping[str, dict[str, Any]]) -> None:
    """Write a line for each benchmark of another suite, and notes about them."""
    from ..measure import estimate

    headline = f"time ({estimate.NAME}) with its {estimate.SHOWN_LEVEL:.0%} interval"
    writing.say(reporter, "; ".join(filter(None, (headline, pace.disturbance()))))
    for name, entry in records.items():
        time = entry["time"]
        reporter.write_line(wrapped(f"{time}{name}", writing.width(reporter), " " * len(time)))
    found = ((name, entry["remarks"]) for name, entry in records.items())
    for line in grouped(found, len(records), _hint(reporter)):
        writing.say(reporter, line)


class SessionProgress:
    """Prints a line for each benchmark: its number, its parameters and its result."""

    def __init__(self, reporter: Any, items: Sequence[pytest.Item]) -> None:
        self._reporter = reporter
        self._ours = {item.nodeid for item in items}
        self._specs = {item.nodeid: spec_of(item) for item in items if not item.get_closest_marker("skip")}
        self._number = 0
        self._finished = False
        self._shown: set[str] = set()
        self._heading = ""
        self._width = max((len(spec.operation) for spec in self._specs.values()), default=0)
        reporter.showfspath = False

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Suppress pytest's letters between our lines, but not the words of its summary."""
        if report.nodeid not in self._ours or self._finished or hasattr(report, "wasxfail"):
            return None
        if report.when == "call" or not report.passed:
            return report.outcome if report.when == "call" or report.skipped else "error", "", ""
        return "", "", ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Restore pytest's reporting for its summary."""
        self._finished = True

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Write the heading of a new group; in a terminal, also show the running benchmark."""
        spec = self._specs.get(nodeid)
        if spec is None:
            return
        self._number += 1
        if heading(spec) != self._heading:
            self._heading = heading(spec)
            self._reporter.write_line(one_line(self._heading), bold=True)
        if self._reporter.isatty:
            self._reporter.rewrite(self._line(spec, "…"), erase=True)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the result of a benchmark that has ended."""
        spec = self._specs.get(report.nodeid)
        if spec is None or report.nodeid in self._shown or (report.passed and report.when != "call"):
            return
        self._shown.add(report.nodeid)
        measured = getattr(report, "gnnbench", None)
        if measured and report.passed:
            result = measured["result"]
        elif hasattr(report, "wasxfail"):
            result = "XPASS" if report.passed else "XFAIL"
        else:
            result = report.outcome.upper()
        markup = {"red": report.failed, "yellow": report.skipped}
        if self._reporter.isatty:
            self._reporter.rewrite(self._line(spec, result), erase=True, **markup)
            self._reporter.write_line("")
        else:
            self._reporter.write_line(self._line(spec, result), **markup)

    def _line(self, spec: Spec, result: str) -> str:
        count = str(len(self._specs))
        number = f"[{self._number:{len(count)}}/{count}]"
        direction = SHORT_DIRECTION[spec.direction]
        return f"{number} {spec.operation:{self._width}} {direction:7} {spec.platform:6} {result}"


def _summarize_ours(reporter: Any, records: Sequence[dict[str, Any]]) -> None:
    """Write the tables, a few notes, and how many benchmarks were checked, timed and skipped."""
    rows = [entry["row"] for entry in records if entry["row"]]
    threads = environment.collect(device="cpu").threads
    found = [
        *reading(rows, arguments_without(reporter.config)),
        *notes(rows, _hint(reporter)),
        *scaling(rows, threads),
    ]
    if len(found) > _NOTES and reporter.verbosity <= 0:
        found[_NOTES - 1 :] = [f"{len(found) - _NOTES + 1} more notes: -v shows them"]
    tables, colour = document(rows), reporter.hasmarkup
    reporter.ensure_newline()
    reporter.write(console.terminal([*tables, *map(Note, found)], writing.width(reporter), colour=colour))
    counted = [entry for entry in records if entry["counted"]]
    if counted:
        lines = _counted(counted, reporter.config)
    else:
        checked = f"{units.count(len(records), 'benchmark')} checked against the reference"
        timed = sum(entry["seconds"] is not None for entry in records)
        lines = [f"{checked}, {timed or 'none'} timed"]
    memory = [entry for entry in records if entry["out_of_memory"]]
    lines.extend(f"{Spec(**entry['spec']).id}: {entry['out_of_memory']}" for entry in memory)
    if skipped := len(reporter.stats.get("skipped", ())):
        lines.append(f"{units.count(skipped, 'parametrisation')} skipped; -rs shows the reasons")
    if synthetic := sorted({entry["spec"]["dataset"] for entry in records if entry["synthetic"]}):
        lines.append(f"synthetic data: {', '.join(synthetic)}")
    reporter.write_line("")
    for line in lines:
        writing.say(reporter, line)


def _hint(reporter: Any) -> str | None:
    """Return what follows the number of benchmarks in a note; None: the note names them."""
    return None if reporter.verbosity > 0 else " (-v names them)"


def _counted(records: Sequence[dict[str, Any]], config: pytest.Config) -> list[str]:
    """Record the counters if `--gnn-counters=update` was given, and return the lines of the summary."""
    lines = [f"{units.count(len(records), 'benchmark')} counted, none timed"]
    platforms: dict[str, dict[str, Any]] = {}
    for entry in records:
        spec = Spec(**entry["spec"])
        platforms.setdefault(spec.platform, {})[spec.id] = entry["counted"]
    for platform, found in platforms.items():
        path = counter_baseline.path_of(config.rootpath, platform)
        file = path.relative_to(config.rootpath)
        if config.getoption("gnn_counters") == "update":
            changed = {name: one["changed"] for name, one in found.items() if one["changed"]}
            lines.extend(f"{name}: {', '.join(changes)}" for name, changes in changed.items())
            counter_baseline.write(path, platform, {name: one["counts"] for name, one in found.items()})
            lines.append(f"{len(found)} recorded in {file}")
            continue
        ignored = {name: one["ignored"] for name, one in found.items() if one["ignored"]}
        lines.extend(f"{name}: ignored: {reason}" for name, reason in ignored.items())
        compared = [one["changed"] for name, one in found.items() if name not in ignored]
        missing, same = compared.count(None), compared.count([])
        if same:
            lines.append(f"{same} as in the baseline, {file}")
        if differ := len(compared) - missing - same:
            lines.append(f"{differ} not as in the baseline, {file}")
        if missing:
            lines.append(f"{missing} not compared: {counter_baseline.missing(config.rootpath, platform)}")
    lines.extend(
        f"nondeterministic counts, not compared: {Spec(**entry['spec']).id}: {', '.join(unsteady)}"
        for entry in records
        if (unsteady := entry["counted"]["unsteady"])
    )
    return lines


def shorten_their_table(config: pytest.Config) -> None:
    """Leave the benchmarks of gnnbench's tables out of pytest-benchmark's, unless an option asks for it."""
    asked = any(
        config.getoption(f"benchmark_{name}") not in (default, None) for name, default in _THEIR_TABLE.items()
    )
    # A project's addopts may set the columns, so only the command line counts.
    columns = any("--benchmark-columns" in argument for argument in config.invocation_params.args)
    if not asked and not columns:
        config.pluginmanager.register(_TheirTable(), "gnnbench-their-table")


class _TheirTable:
    """Leaves benchmarks out of pytest-benchmark's table, but not out of pictures: their wrapper is inside."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_benchmark_group_stats(self) -> Generator[None, Any, Any]:
        """Keep the benchmarks that gnnbench does not show."""
        groups = [
            (name, [one for one in entries if "measurement" not in json_io.own_part(one["extra_info"])])
            for name, entries in (yield)
        ]
        return [(name, entries) for name, entries in groups if entries]
