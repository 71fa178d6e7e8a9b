"""Why a session judged no benchmark although a record has some of its tests, and what to type."""

import shlex
from argparse import Namespace
from collections.abc import Collection, Iterator
from contextlib import suppress

import pytest

from ..errors import UsageError
from ..results import baseline, run_file
from ..results.baseline import RecordStore
from . import records


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
    """Say why no benchmark was judged, and what to type.

    Args:
        config: of the session.
        timed: whether gnnbench timed a benchmark.
    """
    given = shlex.join(["pytest", *map(str, config.invocation_params.args)])
    if timed:
        command = shlex.join(["gnnbench", "baseline", "record", "--", *records.words(config)])
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
