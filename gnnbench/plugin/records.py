"""The baseline records that a session is compared with, and what to type if none judged a benchmark."""

import os
import shlex
from argparse import Namespace
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from .. import environment, units
from ..compare import runs
from ..errors import UsageError
from ..results import baseline, run_file
from ..results.baseline import Record, RecordStore
from ..results.run_file import RunFile
from .session import arguments_without, asks_for, here, places, run_of
from .timing import timing_of


def find(config: pytest.Config, number: str | None) -> tuple[list[Record], str]:
    """Return the records of this machine, the newest first; or none, and a message.

    Raises:
        UsageError: `number` does not name one record.
    """
    store = RecordStore(config.rootpath / baseline.FOLDER)
    now = here(config)
    if records := store.find(now, number):
        return records, ""
    text = f"there are no timings of this machine ({environment.name(now)}) in {baseline.FOLDER}"
    if nearest := store.nearest(now):
        record, fields = nearest
        text += f"; the most similar, {record.environment}, differs in {runs.describe_fields(fields)}"
    command = shlex.join(["gnnbench", "baseline", "record", "--", *arguments_without(config)])
    return [], f"{text}; record them: {command}; or compare with a commit: --benchmark-compare=git:main"


def typed(config: pytest.Config, names: Iterable[str]) -> list[str]:
    """Return tests' ids as the user would type them: with paths from the folder that pytest was called in."""
    start = os.path.relpath(config.rootpath, config.invocation_params.dir)
    parts = (name.partition("::") for name in names)
    return [os.path.normpath(f"{start}/{file}") + colons + rest for file, colons, rest in parts]


def live(config: pytest.Config, benchmarks: Mapping[str, Mapping[str, Any]]) -> RunFile:
    """Return this session, with the `extra_info` of each benchmark, as if it was read from its run file."""
    machine = config._benchmarksession.get_machine_info()  # type: ignore[attr-defined]  # noqa: SLF001
    entries = [
        {"fullname": name, "extra_info": extra_info, "stats": {}} for name, extra_info in benchmarks.items()
    ]
    content = {"benchmarks": entries, "machine_info": machine, "gnnbench": timing_of(config).part()}
    return run_file.parse(Path("this run"), content)


def vanished(
    config: pytest.Config, base: Iterable[RunFile], collected: set[str], left_out: Collection[str]
) -> set[str]:
    """Return the records' benchmarks that this session should have timed but did not.

    Args:
        config: of the session.
        base: the records' processes.
        collected: ids of the collected tests.
        left_out: ids of benchmarks that were timed or deselected.
    """
    specs = {name: benchmark.spec for run in base for name, benchmark in run.benchmarks.items()}
    chosen = run_of(config)
    shard = chosen.options.shard
    missing = {name for name in specs if name not in left_out and (shard is None or shard.has(name))}
    found = missing & collected
    option = config.option
    again = getattr(option, "lf", False) or option.keyword
    if again or any("::" in argument for argument in config.args):
        return found  # these options select tests, so an absent test is not missing
    asked = places(config)
    for name in missing - collected:
        file = PurePosixPath(name.partition("::")[0])
        looked_at = any(file.is_relative_to(place) for place in asked)
        if looked_at and asks_for(chosen, specs[name]):
            found.add(name)
    return found


def described(record: Record, run: RunFile, count: str) -> str:
    """Return a line on a record, of which this is a run; `count` benchmarks were compared with it."""
    reason = run.part.record and run.part.record.reason
    return (
        f"{count} compared with record {record.id} of {record.environment}: "
        f"{units.count(len(record.files), 'process')}, commit {(run.commit or 'unknown')[:10]}"
        f"{f': {reason}' if reason else ''}"
    )


def selected(session: pytest.Session) -> set[str]:
    """Return the ids of a session's tests; where xdist's workers collected them, of those that ran."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    reports = [one for found in reporter.stats.values() for one in found] if reporter else []
    ran = {one.nodeid for one in reports if isinstance(one, pytest.TestReport)}
    return ran | {item.nodeid for item in session.items}


def known(config: pytest.Config, names: Collection[str]) -> str:
    """Say which record, of any machine, has some of these tests; empty: none has."""
    for record in reversed(RecordStore(config.rootpath / baseline.FOLDER).records()):
        with suppress(UsageError):
            found = run_file.read(record.files[0]).benchmarks.keys() & set(names)
            if found:
                return f"record {record.id} of {record.environment} has {len(found)} of these tests"
    return ""


def remedy(config: pytest.Config, *, timed: bool) -> str:
    """Say why no benchmark was judged, though gnnbench timed some, or none; and what to type."""
    given = shlex.join(["pytest", *map(str, config.invocation_params.args)])
    if timed:
        command = shlex.join(["gnnbench", "baseline", "record", "--", *arguments_without(config)])
        return f"record again: {command}; or compare with a commit: --benchmark-compare=git:main"
    for why, instead in _untimed(config.option):
        return f"{why} switches timing off; type: {given} {instead}"
    return f"none was timed; to see why: {given} -rs"


def _untimed(option: Namespace) -> Iterator[tuple[str, str]]:
    """Yield each option for which gnnbench times nothing, and one that overrides it."""
    if getattr(option, "numprocesses", None) or getattr(option, "dist", "no") != "no":
        yield "-n", "-n 0"
    if option.benchmark_skip:
        yield "--benchmark-skip", "--benchmark-only"
    if option.benchmark_disable:
        yield "--benchmark-disable", "--benchmark-enable"
    if option.gnn_layouts == "off":
        yield "--gnn-layouts off", "--gnn-layouts sample"
