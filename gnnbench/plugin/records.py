"""The baseline records that a session is compared with."""

import os
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from .. import codec, environment, units
from ..compare import runs
from ..results import baseline, run_file
from ..results.baseline import Record, RecordStore
from ..results.parts import FORMAT_VERSION
from ..results.run_file import RunFile
from .session import arguments_without, asks_for, places, run_of
from .timing import timing_of


def here(config: pytest.Config) -> dict[str, Any]:
    """Return the environment of this session."""
    chosen = run_of(config).options
    return asdict(environment.collect(config.rootpath, device=chosen.device, gpu=chosen.gpu))


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
    command = shlex.join(["gnnbench", "baseline", "record", "--", *words(config)])
    return [], f"{text}; record them: {command}; or compare with a commit: --benchmark-compare=git:main"


def words(config: pytest.Config, leave_out: Collection[str] = (), *options: str) -> list[str]:
    """Return pytest's arguments for a suggested command, without options of the comparison.

    Args:
        config: of the session.
        leave_out: further arguments to leave out.
        options: names of further options to leave out.
    """
    return [word for word in arguments_without(config, *options) if word not in leave_out]


def typed(config: pytest.Config, names: Iterable[str]) -> list[str]:
    """Return tests' ids as the user would type them: with paths from the folder that pytest was called in."""
    start = os.path.relpath(config.rootpath, config.invocation_params.dir)
    return [os.path.normpath(f"{start}/{file}") + rest for file, rest in map(_divided, names)]


def _divided(name: str) -> tuple[str, str]:
    """Return the path in a test's id, and the rest."""
    file, colons, rest = name.partition("::")
    return file, colons + rest


def live(config: pytest.Config, benchmarks: Mapping[str, Mapping[str, Any]]) -> RunFile:
    """Return this session as if it was read from its run file.

    Args:
        config: of the session.
        benchmarks: the `extra_info` of each benchmark, by id.
    """
    machine = config._benchmarksession.get_machine_info()  # type: ignore[attr-defined]  # noqa: SLF001
    entries = [
        {"fullname": name, "extra_info": extra_info, "stats": {}} for name, extra_info in benchmarks.items()
    ]
    ours = {
        "version": FORMAT_VERSION,
        "environment": here(config),
        "sources": codec.encode(timing_of(config).sources()),
    }
    content = {"benchmarks": entries, "machine_info": machine, "gnnbench": ours}
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
    base = list(base)
    missing = {name for run in base for name in run.benchmarks} - set(left_out)
    chosen = run_of(config)
    if shard := chosen.options.shard:
        missing = {name for name in missing if shard.has(name)}
    found = missing & collected
    option = config.option
    again = getattr(option, "lf", False) or option.keyword
    if again or any("::" in argument for argument in config.args):
        return found  # these options select tests, so an absent test is not missing
    asked = places(config)
    specs = {name: benchmark.spec for run in base for name, benchmark in run.benchmarks.items()}
    for name in missing - collected:
        file = PurePosixPath(name.partition("::")[0])
        looked_at = any(file.is_relative_to(place) for place in asked)
        if looked_at and asks_for(chosen, specs[name]):
            found.add(name)
    return found


def described(record: Record, runs_of_base: Sequence[RunFile], count: str) -> str:
    """Return a line on a record.

    Args:
        record: the record.
        runs_of_base: run files, of which one is the record's.
        count: how many benchmarks were compared with it, in words.
    """
    run = next(run for run in runs_of_base if run.path in record.files)
    reason = run.part.record and run.part.record.reason
    return (
        f"{count} compared with record {record.id} of {record.environment}: "
        f"{units.count(len(record.files), 'process')}, commit {(run.commit or 'unknown')[:10]}"
        f"{f': {reason}' if reason else ''}"
    )
