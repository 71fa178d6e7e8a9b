"""Options in a project's settings: pytest's options at the top level, and a table for each command."""

import argparse
from pathlib import Path
from typing import Any

from ..ground.errors import UsageError
from ..ground.options import OPTIONS, Option
from ..ground.settings import RULES, Settings, as_typed
from . import suite

COMMANDS = ("ab", "affected", "baseline", "bisect", "comment", "compare", "profile", "watch")
"""Subcommands of gnnbench that may have a table of their own options in a project's settings."""


def every() -> dict[str, Option]:
    """Return pytest's options by name, in the order of `--help`: the suite's options come first."""
    return {**suite.installed().options, **OPTIONS}


def from_settings(settings: Settings) -> dict[str, Any]:
    """Return the values of pytest's options in a project's settings, by key, as users would type them."""
    for name in COMMANDS:
        if not isinstance(settings.defaults.get(name, {}), dict):
            raise UsageError(f"{settings.file}: {name} must be a table, as in [tool.gnnbench.{name}]")
    top = {key: value for key, value in settings.defaults.items() if key not in COMMANDS}
    return as_typed(settings.file or Path(), "", top, every().values(), [*COMMANDS, RULES])


def take(options: argparse.Namespace, settings: Settings) -> None:
    """Set a command's options from the command line (`typed`), or else from the settings (`usual`)."""
    own_options, pytest_options = options.table
    top = from_settings(settings)
    options.usual = {option.key: top[option.key] for option in pytest_options if option.key in top}
    all_options = (*own_options, *pytest_options)
    if options.command in COMMANDS:
        table = settings.defaults.get(options.command, {})
        options.usual |= as_typed(settings.file or Path(), options.command, table, all_options)
    keys = [option.key for option in all_options]
    options.typed = {key: value for key in keys if (value := getattr(options, key)) is not None}
    for option in all_options:
        setattr(options, option.key, option.value({**options.usual, **options.typed}.get(option.key)))
    # Rules take precedence over the settings' own effect, but not over an effect typed on the command line.
    options.settings = settings.without_effects() if "effect" in options.typed else settings
