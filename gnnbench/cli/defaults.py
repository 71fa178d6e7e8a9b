"""Defaults of the commands' options from a project's settings.

A command has a table of its own, such as `[tool.gnnbench.ab]`. Of the keys at the top, those that mean the
same for a command hold for it too.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

from ..option_defaults import COMMANDS, from_settings, read
from ..options import OPTIONS, Option
from ..settings import Settings

_SHARED = {
    **{one.in_commands or one.name: one for one in OPTIONS.values() if one.name != "budget"},
    "with": replace(OPTIONS["profile"], one_run=False),  # not instead of timing
}
"""By name in commands, the options of pytest that mean the same there; what is called budget does not."""


def take(parser: argparse.ArgumentParser, settings: Settings) -> None:
    """Give the commands' options the defaults of the settings; all keys and values are checked.

    They go into the attribute `usual`, by attribute, see `fill`.

    Args:
        parser: of the command line.
        settings: the project's settings.

    Raises:
        UsageError: a key is unknown or belongs to one run, or a value cannot be used. Whether the device and
            the folder of data exist here is not checked.
    """
    top = from_settings(settings, ("data", "device"))
    for name, command in _commands(parser).items():
        parsers = list((_commands(command) or {name: command}).values())
        known = {key: option for one in parsers for key, option, _ in _options(one)}
        own = read(settings, settings.defaults.get(name, {}) if name in COMMANDS else {}, known, name)
        for one in parsers:
            usual = {}
            for key, option, action in _options(one):
                if key in own:
                    usual[action.dest] = own[key] if option.name else option.value(own[key])
                elif option.key in top:
                    usual[action.dest] = top[option.key]
                if action.dest in usual and key != "effect":  # see `common.effect_of`
                    action.default = argparse.SUPPRESS
            one.set_defaults(usual=usual)


def fill(options: argparse.Namespace) -> None:
    """Set what was not typed."""
    for name, value in options.usual.items():
        if name not in options:
            setattr(options, name, value)


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the subcommands by name."""
    inner = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]  # noqa: SLF001
    return {name: one for action in inner for name, one in action.choices.items()}


def _options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, Option, argparse.Action]]:
    """Yield key, description and action of each option that is shown; pytest has those with a name."""
    for action in parser._actions:  # noqa: SLF001
        long = next((text.removeprefix("--") for text in action.option_strings if text.startswith("--")), "")
        if long and long != "help" and action.help != argparse.SUPPRESS:
            default = False if action.nargs == 0 else () if action.default == [] else None
            own = Option("", "", default, cast("Callable[[str], Any]", action.type or str))
            yield long.replace("-", "_"), _SHARED.get(long, own), action
