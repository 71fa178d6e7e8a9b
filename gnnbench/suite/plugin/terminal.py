"""What a session prints about the suite: header, tables and summary."""

from collections.abc import Sequence
from typing import Any

import pytest

from ...engine.ground import environment, units
from ...engine.plugin.session import OUT_OF_MEMORY, arguments_without, benchmark_part, options_of, seconds_of
from ...engine.plugin.terminal import say
from ...engine.show import console
from ...engine.show.lines import Note, wrapped
from ...engine.store.run_file import part_of
from .. import counter_baseline
from ..table import document, interval, notes, reading
from .choice import choice_of
from .session import COUNTED, run_of, spec_of


def header(config: pytest.Config, items: Sequence[pytest.Item]) -> list[str]:
    """Return the lines about the machine, the libraries, the data, and which benchmarks run."""
    run, options = run_of(config), options_of(config)
    device = options.device
    host = environment.collect()
    processor = host.cpu
    if device == "cuda" and host.gpu:
        cache = "flushed between rounds" if options.flush_l2 else "kept from round to round"
        processor = f"{host.gpu.name}, L2 cache {cache}"
    policy = f"OMP_WAIT_POLICY={host.wait_policy or 'unset, so idle threads spin'}"
    libraries = ", ".join(f"{name} {version}" for name, version in host.libraries)
    machine = f"gnnbench: {device}, {processor}, {host.threads} threads on {host.cores} cores, {policy}"
    versions = f"python {host.python}, {libraries}"
    return [*map(wrapped, (machine, versions, *run.notices)), *choice_of(config).lines(items)]


def record(item: pytest.Item, *, passed: bool) -> dict[str, Any] | None:
    """Return a test's data for the summary, plain values under xdist. None if nothing was measured."""
    benchmark = item.funcargs.get("benchmark")  # type: ignore[attr-defined]
    part, seconds = benchmark_part(item), seconds_of(item)
    counts, out_of_memory = item.stash.get(COUNTED, None), item.stash.get(OUT_OF_MEMORY, None)
    is_timed = benchmark and benchmark.stats and not benchmark.has_error
    if not (is_timed or counts or out_of_memory or (passed and part)):
        return None
    spec, row = spec_of(item), None
    result = "checked" if seconds is None else f"{units.seconds(seconds):>9}"
    if "measurement" in part:
        row = spec, part_of(benchmark.extra_info)
        result += f" {interval(row).text:>6}"
    result = out_of_memory or result
    if counts:
        result = f"{counts['operators']:5} operators {counts['host_reads']:3} synchronisations"
    return {
        "id": spec.id,
        "platform": spec.platform,
        "dataset": spec.dataset,
        "synthetic": part["graph"]["synthetic"] if part else False,
        "row": row,
        "seconds": seconds,
        "counted": counts,
        "out_of_memory": out_of_memory,
        "result": result,
    }


def summarize(reporter: Any, records: Sequence[dict[str, Any]]) -> None:
    """Write the tables, notes, and how many benchmarks were checked, timed and skipped."""
    rows = [entry["row"] for entry in records if entry["row"]]
    legend = [*reading(rows, arguments_without(reporter.config)), *map(Note, notes(rows, reporter.verbosity))]
    tables, colour = document(rows), reporter.hasmarkup
    reporter.ensure_newline()
    reporter.write(console.Terminal(colour=colour).write([*tables, *legend]))
    counted = [entry for entry in records if entry["counted"]]
    if counted:
        lines = _counted(counted, reporter.config)
    else:
        checks = f"{units.count(len(records), 'benchmark')} checked against the reference"
        timings = sum(entry["seconds"] is not None for entry in records)
        lines = [f"{checks}, {timings or 'none'} timed"]
    too_large = [entry for entry in records if entry["out_of_memory"]]
    lines.extend(f"{entry['id']}: {entry['out_of_memory']}" for entry in too_large)
    if skips := len(reporter.stats.get("skipped", ())):
        lines.append(f"{units.count(skips, 'parametrisation')} skipped; -rs shows the reasons")
    if graphs := sorted({entry["dataset"] for entry in records if entry["synthetic"]}):
        lines.append(f"synthetic data: {', '.join(graphs)}")
    reporter.write_line("")
    for line in lines:
        say(reporter, line)


def _counted(records: Sequence[dict[str, Any]], config: pytest.Config) -> list[str]:
    """Record the counters with `--gnn-counters=update`; return the lines of the summary."""
    lines = [f"{units.count(len(records), 'benchmark')} counted, none timed"]
    for platform in dict.fromkeys(entry["platform"] for entry in records):
        entries = {entry["id"]: entry["counted"] for entry in records if entry["platform"] == platform}
        path = counter_baseline.path_of(config.rootpath, platform)
        file = path.relative_to(config.rootpath)
        if config.getoption("gnn_counters") == "update":
            differences = {name: entry["changed"] for name, entry in entries.items() if entry["changed"]}
            lines.extend(f"{name}: {', '.join(changes)}" for name, changes in differences.items())
            counter_baseline.write(path, platform, {name: entry["counts"] for name, entry in entries.items()})
            lines.append(f"{len(entries)} recorded in {file}")
            continue
        reasons = {name: entry["ignored"] for name, entry in entries.items() if entry["ignored"]}
        lines.extend(f"{name}: ignored: {reason}" for name, reason in reasons.items())
        outcomes = [entry["changed"] for name, entry in entries.items() if name not in reasons]
        missing, matches = outcomes.count(None), outcomes.count([])
        if matches:
            lines.append(f"{matches} equal to the baseline, {file}")
        if mismatches := len(outcomes) - missing - matches:
            lines.append(f"{mismatches} different from the baseline, {file}")
        if missing:
            lines.append(f"{missing} not compared: {counter_baseline.missing(config.rootpath, platform)}")
    lines.extend(
        f"nondeterministic counts, not compared: {entry['id']}: {', '.join(unsteady)}"
        for entry in records
        if (unsteady := entry["counted"]["unsteady"])
    )
    return lines
