"""What a pytest session measures: its options, its settings, and what its tests return."""

import argparse
import os
from pathlib import Path
from typing import Any, NoReturn

import pytest

from ..ground import environment, json_io, settings
from ..ground.errors import UsageError
from ..ground.options import Option, Options
from ..ground.settings import Settings
from ..store.option_defaults import every, from_settings

OUT_OF_MEMORY = pytest.StashKey[str]()
"""In a test's stash: its result, `OOM at N GiB`."""
_OPTIONS = pytest.StashKey[Options]()
_SETTINGS = pytest.StashKey[Settings]()


def given(config: pytest.Config) -> dict[str, Any]:
    """Return the values of gnnbench's options as they were typed, by key; without those that were not."""
    values = {one.key: config.getoption(f"gnn_{one.key}") for one in every().values()}
    return {key: value for key, value in values.items() if value is not None}


def take_settings(config: pytest.Config) -> None:
    """Read the project's settings; a process that gnnbench started has got its defaults, and no rules."""
    usual, found, typed = getattr(config.option, "gnn_defaults", None), settings.NONE, given(config)
    if usual is None:
        found = settings.find(config.rootpath)
        usual = from_settings(found)
    for name, value in usual.items():
        if name not in typed and hasattr(config.option, f"gnn_{name}"):  # another gnnbench may know others
            setattr(config.option, f"gnn_{name}", value)
    config.stash[_SETTINGS] = found.without_effects() if "effect" in typed else found


def arguments_without(config: pytest.Config, *names: str) -> list[str]:
    """Return pytest's arguments without options that compare, write or time nothing, and those of `names`."""
    own = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for option in every().values():
        if option.compares or option.name in names:
            option.declare(own.add_argument, "gnn-")
    own.add_argument("--benchmark-compare", nargs="?")
    own.add_argument("--benchmark-compare-fail", nargs="+")
    for written in (("--benchmark-json",), ("--junitxml", "--junit-xml"), ("-n", "--numprocesses")):
        own.add_argument(*written)
    return own.parse_known_args(list(map(str, config.invocation_params.args)))[1]


def settings_of(config: pytest.Config) -> Settings:
    """Return the project's settings; without effects of rules if the command line has `--gnn-effect`."""
    return config.stash[_SETTINGS]


def options_of(config: pytest.Config) -> Options:
    """Return the options of this session, checked on the first call."""
    if options := config.stash.get(_OPTIONS, None):
        return options
    options = Options.parse(**given(config))
    if config.getoption("benchmark_precision", None) is not None and (
        config.getoption("gnn_precision") or config.getoption("gnn_layouts")
    ):
        raise UsageError(
            "--benchmark-precision selects pytest-benchmark's timing; leave it out, or leave out "
            "--gnn-precision and --gnn-layouts"
        )
    return config.stash.setdefault(_OPTIONS, options)


def untimed_by(config: pytest.Config) -> list[Option]:
    """Return the options of gnnbench with which this session times nothing."""
    options = every().values()
    return [option for option in options if option.untimed and config.getoption(f"gnn_{option.key}")]


def here(config: pytest.Config) -> environment.Environment:
    """Return the environment of this session."""
    return environment.collect(config.rootpath, device=options_of(config).device)


def places(config: pytest.Config) -> list[str]:
    """Return the folders and files among pytest's arguments, relative to rootdir."""
    folder, root = config.invocation_params.dir, config.rootpath
    return [
        Path(os.path.relpath(folder / argument, root)).as_posix()
        for argument in config.args
        if "::" not in argument
    ]


def ours_of(item: pytest.Item) -> dict[str, Any]:
    """Return gnnbench's part of the `extra_info` of a test's benchmark; empty: there is none."""
    return json_io.own_part(getattr(_fixture(item), "extra_info", None))


def seconds_of(item: pytest.Item) -> float | None:
    """Return a benchmark's time: gnnbench's estimate, or pytest-benchmark's median; None: it has none."""
    ours, stats = ours_of(item), getattr(_fixture(item), "stats", None)
    if measured := ours.get("measurement"):
        return float(measured["location_ns"]) / 1e9
    return float(stats.stats.median) if stats else None


def _fixture(item: pytest.Item) -> Any:
    return getattr(item, "funcargs", {}).get("benchmark")


def attached(reporter: pytest.TerminalReporter, name: str) -> dict[str, Any]:
    """Return what the last report of each test carries under a name, in the order in which they ran."""
    found = [report for group in reporter.stats.values() for report in group if getattr(report, name, None)]
    return {report.nodeid: getattr(report, name) for report in sorted(found, key=lambda one: one.start)}


def stop(mistake: str | UsageError, config: pytest.Config) -> NoReturn:
    """End the session for wrong usage; in a worker of xdist, which would crash, the current test fails."""
    message = f"gnnbench: {mistake}"
    if hasattr(config, "workerinput"):
        raise pytest.fail.Exception(message, pytrace=False) from None
    raise pytest.exit.Exception(message, pytest.ExitCode.USAGE_ERROR) from None
