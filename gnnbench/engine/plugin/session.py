"""The options, the settings and the results of a pytest session."""

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
"""In a test's stash: how memory ran out, `OOM at N GiB`."""
_OPTIONS = pytest.StashKey[Options]()
_SETTINGS = pytest.StashKey[Settings]()


def typed_values(config: pytest.Config) -> dict[str, Any]:
    """Return the values of gnnbench's options that the user typed, by key."""
    values = {option.key: config.getoption(f"gnn_{option.key}") for option in every().values()}
    return {key: value for key, value in values.items() if value is not None}


def read_settings(config: pytest.Config) -> None:
    """Read the project's settings. A process that gnnbench started gets its parent's defaults instead."""
    project, typed = settings.NONE, typed_values(config)
    defaults = getattr(config.option, "gnn_defaults", None)
    if defaults is None:
        project = settings.find(config.rootpath)
        defaults = from_settings(project)
    for name, value in defaults.items():
        # A variant may bring another version of gnnbench, in which an option does not exist.
        if name not in typed and hasattr(config.option, f"gnn_{name}"):
            setattr(config.option, f"gnn_{name}", value)
    config.stash[_SETTINGS] = project.without_effects() if "effect" in typed else project


def arguments_without(config: pytest.Config, *names: str) -> list[str]:
    """Return pytest's arguments without `names`, and without options to compare, write files or use xdist."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for option in every().values():
        if option.compares or option.name in names:
            option.declare(parser.add_argument, "gnn-")
    parser.add_argument("--benchmark-compare", nargs="?")
    parser.add_argument("--benchmark-compare-fail", nargs="+")
    for spellings in (("--benchmark-json",), ("--junitxml", "--junit-xml"), ("-n", "--numprocesses")):
        parser.add_argument(*spellings)
    _, others = parser.parse_known_args(list(map(str, config.invocation_params.args)))
    return others


def settings_of(config: pytest.Config) -> Settings:
    """Return the project's settings. If `--gnn-effect` was typed, the rules in them set no effect."""
    return config.stash[_SETTINGS]


def options_of(config: pytest.Config) -> Options:
    """Return the options of this session, checked on the first call."""
    if options := config.stash.get(_OPTIONS, None):
        return options
    options = Options.parse(**typed_values(config))
    if config.getoption("benchmark_precision", None) is not None and (
        config.getoption("gnn_precision") or config.getoption("gnn_layouts")
    ):
        raise UsageError(
            "--benchmark-precision selects pytest-benchmark's timing; leave it out, or leave out "
            "--gnn-precision and --gnn-layouts"
        )
    return config.stash.setdefault(_OPTIONS, options)


def untimed_options(config: pytest.Config) -> list[Option]:
    """Return the options of gnnbench that the user gave and that prevent timing."""
    options = every().values()
    return [option for option in options if option.untimed and config.getoption(f"gnn_{option.key}")]


def session_environment(config: pytest.Config) -> environment.Environment:
    return environment.collect(config.rootpath, device=options_of(config).device)


def argument_paths(config: pytest.Config) -> list[str]:
    """Return the folders and files among pytest's arguments, relative to rootdir."""
    folder, root = config.invocation_params.dir, config.rootpath
    paths = [folder / argument for argument in config.args if "::" not in argument]
    return [Path(os.path.relpath(path, root)).as_posix() for path in paths]


def benchmark_part(item: pytest.Item) -> dict[str, Any]:
    """Return gnnbench's part of the `extra_info` of a test's benchmark. Empty if there is none."""
    return json_io.gnnbench_part(getattr(_fixture(item), "extra_info", None))


def seconds_of(item: pytest.Item) -> float | None:
    """Return the time of a test: gnnbench's estimate, or else pytest-benchmark's median, or else None."""
    part, stats = benchmark_part(item), getattr(_fixture(item), "stats", None)
    if measurement := part.get("measurement"):
        return float(measurement["location_ns"]) / 1e9
    return float(stats.stats.median) if stats else None


def _fixture(item: pytest.Item) -> Any:
    return getattr(item, "funcargs", {}).get("benchmark")


def report_values(reporter: pytest.TerminalReporter, name: str) -> dict[str, Any]:
    """Return an attribute of the last report of each test, in the order in which the tests ran."""
    reports = [report for group in reporter.stats.values() for report in group if getattr(report, name, None)]
    return {report.nodeid: getattr(report, name) for report in sorted(reports, key=lambda row: row.start)}


def stop(mistake: str | UsageError, config: pytest.Config) -> NoReturn:
    """End the session because of wrong usage. A worker of xdist would crash, so there only the test fails."""
    message = f"gnnbench: {mistake}"
    if hasattr(config, "workerinput"):
        raise pytest.fail.Exception(message, pytrace=False) from None
    raise pytest.exit.Exception(message, pytest.ExitCode.USAGE_ERROR) from None
