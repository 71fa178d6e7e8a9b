"""The baseline records that a session is compared with, and what to type if none judged a benchmark."""

import json
import os
import shlex
from argparse import Namespace
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from _pytest.mark.expression import Expression
from pytest_benchmark.utils import safe_dumps

from ..drive import runs
from ..ground import environment, units
from ..ground.errors import UsageError
from ..store import baseline, run_file
from ..store.baseline import Record, RecordStore
from ..store.run_file import RunFile
from ..store.suite import installed
from .session import arguments_without, here, places
from .timing import timing_of


def find(config: pytest.Config, number: str | None) -> tuple[list[Record], str]:
    """Return the records of this machine, the newest first; or none, and a message."""
    store = RecordStore(config.rootpath / baseline.FOLDER)
    now = here(config)
    if records := store.find(now, number):
        return records, ""
    text = f"there are no timings of this machine ({environment.name(now)}) in {baseline.FOLDER}"
    if nearest := store.nearest(now):
        record, fields = nearest
        text += f"; the most similar, {record.environment}, differs in {runs.describe_fields(fields)}"
    return [], f"{text}; record them: {how_to_record(config)}"


def how_to_record(config: pytest.Config) -> str:
    """Return the command that records what this session selects, and what else to compare with."""
    words = arguments_without(config)
    if config.args_source != config.ArgsSource.ARGS:  # the command takes another folder, if it is given none
        words += [os.path.relpath(one, config.invocation_params.dir) for one in config.args]
    command = shlex.join(["gnnbench", "baseline", "record", "--", *words])
    return f"{command}; or compare with a commit: --benchmark-compare=git:main"


def typed(config: pytest.Config, names: Iterable[str]) -> list[str]:
    """Return tests' ids as the user would type them: with paths from the folder that pytest was called in."""
    start = os.path.relpath(config.rootpath, config.invocation_params.dir)
    parts = (name.partition("::") for name in names)
    return [os.path.normpath(f"{start}/{file}") + colons + rest for file, colons, rest in parts]


def live(config: pytest.Config, benchmarks: Mapping[str, Mapping[str, Any]]) -> RunFile:
    """Return this session, with the `extra_info` of each benchmark, as if it was read from its run file."""
    machine = config._benchmarksession.get_machine_info()  # type: ignore[attr-defined]  # noqa: SLF001
    items = getattr(config.pluginmanager.get_plugin("session"), "items", ())
    cells = {item.nodeid: item.callspec for item in items if hasattr(item, "callspec")}
    entries = [
        {
            "fullname": name,
            "params": json.loads(safe_dumps(cells[name].params)) if name in cells else None,
            "param": cells[name].id if name in cells else None,
            "extra_info": extra_info,
            "stats": {},
        }
        for name, extra_info in benchmarks.items()
    ]
    content = {"benchmarks": entries, "machine_info": machine, "gnnbench": timing_of(config).part()}
    return run_file.parse(Path("this run"), content)


def vanished(
    config: pytest.Config,
    base: Iterable[RunFile],
    collected: Collection[str],
    deselected: Collection[str],
    timed: Collection[str],
) -> dict[str, bool]:
    """Return the records' benchmarks that this session did not time, and whether it should have.

    All take ids. Those of other shards are among the deselected ones.
    """
    labels = {name: row.labels for run in base for name, row in run.benchmarks.items()}
    selects, suite = _selection(config), installed()
    # Nobody knows the markers of a test that is not there.
    narrower = getattr(config.option, "lf", False) or (
        config.option.markexpr and not labels.keys().isdisjoint(deselected)
    )
    return {
        name: name in collected
        or (not narrower and selects(name) and (known is None or suite.selects(config, known)))
        for name, known in labels.items()
        if name not in timed and name not in deselected
    }


def _selection(config: pytest.Config) -> Callable[[str], bool]:
    """Return what tells whether the command line selects a test with this id, which may not exist."""
    folder, root = config.invocation_params.dir, config.rootpath
    asked, ids = places(config), []
    for file, colons, rest in (argument.partition("::") for argument in config.args):
        if colons:
            ids.append(f"{PurePosixPath(os.path.relpath(folder / file, root))}::{rest}")
    ignored = [os.path.relpath(folder / one, root) for one in config.option.ignore or ()]
    keyword = Expression.compile(config.option.keyword) if config.option.keyword else None

    def selects(name: str) -> bool:
        file = PurePosixPath(name.partition("::")[0])
        if any(map(file.is_relative_to, ignored)):
            return False
        if keyword and not keyword.evaluate(lambda word, /, **_: word.lower() in name.lower()):
            return False
        named = any(name == one or name.startswith((f"{one}[", f"{one}::")) for one in ids)
        return named or any(map(file.is_relative_to, asked))

    return selects


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
    return {one.nodeid for one in _reports(session)} | {item.nodeid for item in session.items}


def failed(session: pytest.Session) -> set[str]:
    """Return the ids of the tests that have failed."""
    return {one.nodeid for one in _reports(session) if one.failed}


def _reports(session: pytest.Session) -> list[pytest.TestReport]:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    reports = [one for found in reporter.stats.values() for one in found] if reporter else []
    return [one for one in reports if isinstance(one, pytest.TestReport)]


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
        return f"record again: {how_to_record(config)}"
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
