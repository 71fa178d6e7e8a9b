"""What a session prints: header, progress lines, tables and summary."""

import io
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pytest
from rich.markup import escape

from .. import environment, units
from ..errors import one_line
from ..measure import extra_info
from ..profile.hooks import profiling_of
from ..report import growth as wording
from ..report import speed_up, throughput
from ..report.console import Console
from ..report.lines import wrapped
from ..report.table import (
    SHORT_DIRECTION,
    TableRow,
    grouped,
    half_width,
    heading,
    notes,
    reading,
    remarks,
    tables,
    times,
)
from ..results import counter_baseline
from ..results.benchmark import part_of
from ..results.parts import NOT_TIMED
from ..workloads.spec import Spec
from . import writing
from .choice import choice_of
from .session import COUNTED, OUT_OF_MEMORY, run_of, spec_of

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


def header(config: pytest.Config) -> list[str]:
    """Return the lines about the machine, the libraries, the data, and which benchmarks run."""
    run = run_of(config)
    width = writing.width(config.pluginmanager.get_plugin("terminalreporter"))
    device = run.options.device
    here = environment.collect(gpu=run.options.gpu)
    processor = here.cpu
    if device == "cuda" and here.gpu:
        cache = "flushed between rounds" if run.options.flush_l2 else "kept from round to round"
        processor = f"{here.gpu.name}, L2 cache {cache}"
    policy = f"OMP_WAIT_POLICY={here.wait_policy or 'unset, so idle threads spin'}"
    libraries = ", ".join(f"{name} {version}" for name, version in here.libraries)
    threads = f"{here.threads} threads on {here.cores} cores"
    lines = [
        f"gnnbench: {device}, {processor}, {threads}, {policy}",
        f"python {here.python}, {libraries}",
        *run.notices,
    ]
    return [*(wrapped(line, width) for line in lines), *choice_of(config).lines()]


def record(item: pytest.Item, *, passed: bool) -> dict[str, Any] | None:
    """Return the results of a test for the summary; None if nothing was measured.

    These are plain data, because xdist's workers send them to the main process.
    """
    benchmark = item.funcargs.get("benchmark")  # type: ignore[attr-defined]
    ours = extra_info.part(benchmark.extra_info) if benchmark else {}
    counted, out_of_memory = item.stash.get(COUNTED, None), item.stash.get(OUT_OF_MEMORY, None)
    is_timed = benchmark and benchmark.stats and not benchmark.has_error
    if not (is_timed or counted or out_of_memory or (passed and ours)):
        return None
    spec, row = spec_of(item), None
    if "measurement" in ours:  # not with --gnn-dry-run
        row = TableRow.of(spec, part_of({"extra_info": benchmark.extra_info}))
    return {
        "spec": asdict(spec),
        "synthetic": ours["graph"]["synthetic"] if ours else False,
        "row": row,
        "seconds": row.seconds if row else _median(benchmark, ours),
        "instead": _instead(ours),
        "counted": counted,
        "out_of_memory": out_of_memory,
        "profiled": _kinds(item),
    }


def _median(benchmark: Any, ours: dict[str, Any]) -> float | None:
    """Return pytest-benchmark's time; None: the benchmark was not timed."""
    return None if ours.keys() & NOT_TIMED or not benchmark.stats else float(benchmark.stats.stats.median)


def _instead(ours: dict[str, Any]) -> str:
    """Return what was measured instead of time; empty: nothing was."""
    return (wording.sentence(ours["growth"]) or "does not grow") if "growth" in ours else ""


def _kinds(item: pytest.Item) -> str:
    profiling = profiling_of(item.config)
    saved = profiling and profiling.saved.get(item.nodeid)
    return ", ".join(saved.kinds) if saved else ""


def record_other(item: pytest.Item) -> dict[str, Any] | None:
    """Return the results of another suite's benchmark for the summary; None: gnnbench did not time it."""
    benchmark = item.funcargs.get("benchmark")  # type: ignore[attr-defined]
    measured = part_of({"extra_info": benchmark.extra_info}).measurement if benchmark else None
    if not measured:
        return None
    return {
        "seconds": times(measured)[0],
        "interval": half_width(*times(measured)),
        "remarks": remarks(measured),
    }


def summarize_others(reporter: Any, records: Mapping[str, dict[str, Any]]) -> None:
    """Write a line for each benchmark of another suite, and notes about them."""
    from ..measure import estimate

    reporter.ensure_newline()
    writing.say(reporter, f"time ({estimate.NAME}) with its {estimate.SHOWN_LEVEL:.0%} interval")
    policy = environment.collect(device="cpu").wait_policy
    if policy.upper() != "PASSIVE":
        writing.say(
            reporter,
            f"OMP_WAIT_POLICY is {policy or 'unset'}: idle OpenMP threads use CPU time and disturb "
            "timings; export OMP_WAIT_POLICY=PASSIVE",
        )
    for name, entry in records.items():
        time = f"{units.seconds(entry['seconds']):>9} {entry['interval']:>6} "
        reporter.write_line(wrapped(f"{time}{name}", writing.width(reporter), " " * len(time)))
    remarks = ((name, entry["remarks"]) for name, entry in records.items())
    for line in grouped(remarks, len(records)):
        writing.say(reporter, line)


class SessionProgress:
    """Prints a line for each benchmark: its number, its parameters and its result."""

    def __init__(self, reporter: Any, items: Sequence[pytest.Item]) -> None:
        self._reporter = reporter
        self._ours = {item.nodeid for item in items}
        runnable = [item for item in items if not item.get_closest_marker("skip")]
        self._specs = {item.nodeid: spec_of(item) for item in runnable}
        self._count = len(runnable)
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
            self._reporter.ensure_newline()
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
        if measured is None or not report.passed:
            xfail = hasattr(report, "wasxfail")
            result = ("XPASS" if report.passed else "XFAIL") if xfail else report.outcome.upper()
        elif measured["counted"]:
            counted = measured["counted"]
            result = f"{counted['operators']:5} operators {counted['host_reads']:3} synchronisations"
        elif measured["out_of_memory"]:
            result = measured["out_of_memory"]
        elif measured["profiled"] or measured["instead"]:
            result = measured["profiled"] or measured["instead"]
        elif measured["row"]:
            row = measured["row"]
            result = f"{units.seconds(row.seconds):>9} {row.interval:>6}"
        elif measured["seconds"] is None:
            result = "checked"
        else:
            result = f"{units.seconds(measured['seconds']):>9}"
        markup = {"red": report.failed, "yellow": report.skipped}
        if self._reporter.isatty:
            self._reporter.rewrite(self._line(spec, result), erase=True, **markup)
            self._reporter.write_line("")
        else:
            self._reporter.write_line(self._line(spec, result), **markup)

    def _line(self, spec: Spec, result: str) -> str:
        number = f"[{self._number:{len(str(self._count))}}/{self._count}]"
        direction = SHORT_DIRECTION[spec.direction]
        return f"{number} {spec.operation:{self._width}} {direction:7} {spec.platform:6} {result}"


def summarize(reporter: Any, records: Sequence[dict[str, Any]]) -> None:
    """Write the tables, and how many benchmarks were checked, timed and skipped."""
    rows = [entry["row"] for entry in records if entry["row"]]
    text = io.StringIO()
    width = reporter._tw.fullwidth  # noqa: SLF001
    console = Console(file=text, width=width, force_terminal=reporter.hasmarkup)
    for title, table in tables(rows).items():
        console.print(f"\n[bold]{escape(title)}[/bold]")
        console.print(table)
    threads = environment.collect(device="cpu").threads
    found = [*reading(rows), *notes(rows), *speed_up.lines(rows, threads), *throughput.lines(rows)]
    if len(found) > _NOTES and reporter.verbosity <= 0:
        found[_NOTES - 1 :] = [f"{len(found) - _NOTES + 1} more notes: -v shows them"]
    for note in found:
        text.write(f"{wrapped(note, writing.width(reporter))}\n")
    reporter.ensure_newline()
    reporter.write(text.getvalue())
    memory = [entry for entry in records if entry["out_of_memory"]]
    skipped = len(reporter.stats.get("skipped", ()))
    synthetic = sorted({entry["spec"]["dataset"] for entry in records if entry["synthetic"]})
    timed = sum(entry["seconds"] is not None for entry in records)
    lines = [
        f"{units.count(len(records), 'benchmark')} checked against the reference, {timed or 'none'} timed"
    ]
    if any(entry["counted"] for entry in records):
        lines = _counted(records, reporter.config)
    lines.extend(f"{Spec(**entry['spec']).id}: {entry['out_of_memory']}" for entry in memory)
    if skipped:
        lines.append(f"{units.count(skipped, 'parametrisation')} skipped; -rs shows the reasons")
    if synthetic:
        lines.append(f"synthetic data: {', '.join(synthetic)}")
    reporter.write_line("")
    for line in lines:
        writing.say(reporter, line)


def _counted(records: Sequence[dict[str, Any]], config: pytest.Config) -> list[str]:
    """Record the counters if `--gnn-counters=update` was given, and return the lines of the summary."""
    lines = [f"{units.count(len(records), 'benchmark')} counted, none timed"]
    for platform in dict.fromkeys(entry["spec"]["platform"] for entry in records):
        found = {
            Spec(**entry["spec"]).id: entry["counted"]
            for entry in records
            if entry["spec"]["platform"] == platform
        }
        path = counter_baseline.path_of(config.rootpath, platform)
        if config.getoption("gnn_counters") == "update":
            saved = counter_baseline.read(path)
            for name, counted in found.items():
                changed = counter_baseline.differences(
                    saved.get(name, {}), counted["counts"], counted["unsteady"]
                )
                if name in saved and changed:
                    lines.append(f"{name}: {', '.join(changed)}")
            counter_baseline.write(
                path, platform, {name: counted["counts"] for name, counted in found.items()}
            )
            lines.append(f"{len(found)} recorded in {path.relative_to(config.rootpath)}")
            continue
        ignored = {name: reason for name, counted in found.items() if (reason := counted["ignored"])}
        lines.extend(f"{name}: ignored: {reason}" for name, reason in ignored.items())
        found = {name: counted for name, counted in found.items() if name not in ignored}
        file = path.relative_to(config.rootpath)
        missing = sum(counted["changed"] is None for counted in found.values())
        differ = sum(bool(counted["changed"]) for counted in found.values())
        if same := len(found) - missing - differ:
            lines.append(f"{same} as in the baseline, {file}")
        if differ:
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
        shown = NOT_TIMED | {"measurement"}
        groups = [
            (name, [entry for entry in entries if not shown & extra_info.part(entry["extra_info"]).keys()])
            for name, entries in (yield)
        ]
        return [(name, entries) for name, entries in groups if entries]
