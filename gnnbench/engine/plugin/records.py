"""The record (saved timings) that a session is compared with, and how to make one."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ..drive import runs
from ..ground import environment, json_io
from ..show.lines import Note
from ..store import baseline, run_file
from ..store.baseline import Record, RecordStore
from ..store.run_file import RunFile
from .session import arguments_without, session_environment
from .timing import timing_of

A_COMMIT = "--benchmark-compare=git:main"


def find(config: pytest.Config) -> tuple[Record | None, Note | None]:
    """Return the newest record of this machine, or None and a note that says that there is none."""
    store = RecordStore(config.rootpath / baseline.FOLDER)
    machine = session_environment(config)
    record, fields = store.nearest(machine)
    if record and not any(name in environment.MACHINE for name, *_ in fields):
        return record, None
    text = f"there are no timings of this machine ({environment.name(machine)}) in {baseline.FOLDER}"
    if record:
        text += f"; the most similar record, {record.environment}, differs in {runs.describe_fields(fields)}"
    text += f"; compare with a commit, as in {A_COMMIT}, or record timings"
    return None, Note(text, how_to_record(config))


def how_to_record(config: pytest.Config) -> str:
    words = arguments_without(config)
    if config.args_source != config.ArgsSource.ARGS:  # without paths, the command would choose another folder
        words += [os.path.relpath(path, config.invocation_params.dir) for path in config.args]
    return shlex.join(["gnnbench", "baseline", "record", "--", *words])


def timed(config: pytest.Config) -> dict[str, dict[str, Any]]:
    """Return the `extra_info` of each benchmark that gnnbench timed in this session."""
    benchmarks: dict[str, dict[str, Any]] = {}
    for bench in config._benchmarksession.benchmarks:  # type: ignore[attr-defined]  # noqa: SLF001
        if "measurement" in json_io.gnnbench_part(bench.extra_info):
            benchmarks.setdefault(bench.fullname, bench.extra_info)  # the first entry counts, as in run files
    return benchmarks


def as_run_file(config: pytest.Config, benchmarks: Mapping[str, Mapping[str, Any]]) -> RunFile:
    machine = config._benchmarksession.get_machine_info()  # type: ignore[attr-defined]  # noqa: SLF001
    entries = [
        {"fullname": name, "extra_info": extra_info, "stats": {}} for name, extra_info in benchmarks.items()
    ]
    content = {"benchmarks": entries, "machine_info": machine, "gnnbench": timing_of(config).part()}
    return run_file.parse(Path("this run"), content)


def reports(session: pytest.Session) -> list[pytest.TestReport]:
    """Return the reports of the tests that ran."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    rows = [report for group in reporter.stats.values() for report in group] if reporter else []
    return [report for report in rows if isinstance(report, pytest.TestReport)]
