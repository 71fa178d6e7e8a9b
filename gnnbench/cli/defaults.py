"""Defaults of the commands' options from a project's settings.

A command has a table of its own, such as `[tool.gnnbench.ab]`. Of the keys at the top, those that mean the
same for a command hold for it too.
"""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import UsageError, unknown_name
from ..option_defaults import COMMANDS, ON_COMMAND_LINE, ONE_RUN, as_typed, check, from_settings, is_word
from ..options import HELP
from ..settings import Settings, shown

_OWN_MEANING = ("budget",)
"""Options of commands whose name is that of another option of pytest."""
_AS_IN_PYTEST = {"with": "profile", "folder": "profile-folder"}
"""Options of commands that have another name in pytest."""


def take(parser: argparse.ArgumentParser, settings: Settings) -> None:
    """Give the commands' options the defaults of the settings; all keys and values are checked.

    Values that argparse would not replace go into the attribute `usual`, by key, see `fill`.

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
        table = settings.defaults.get(name, {}) if name in COMMANDS else {}
        known = {key: action for one in parsers for key, action in _options(one)}
        own = {key: _value(settings, name, key, value, known) for key, value in table.items()}
        for one in parsers:
            actions = dict(_options(one))
            shared = {key: top[option] for key in actions if (option := _option(key)) in top}
            values = {key: value for key, value in (shared | own).items() if key in actions}
            usual = {
                key: value for key, value in values.items() if key == "effect" or isinstance(value, list)
            }
            direct = {actions[key].dest: value for key, value in values.items() if key not in usual}
            one.set_defaults(usual={actions[key].dest: value for key, value in usual.items()}, **direct)


def fill(options: argparse.Namespace) -> None:
    """Set the lists that were not typed: argparse would add what is typed to a default."""
    for name, value in options.usual.items():
        if isinstance(value, list) and not getattr(options, name):
            setattr(options, name, value)


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the subcommands by name."""
    inner = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]  # noqa: SLF001
    return {name: one for action in inner for name, one in action.choices.items()}


def _options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    """Yield key and action of each option."""
    for action in parser._actions:  # noqa: SLF001
        long = next((text for text in action.option_strings if text.startswith("--")), None)
        if long and long != "--help":
            yield long.removeprefix("--").replace("-", "_"), action


def _option(key: str) -> str | None:
    """Return the key of pytest's option with the meaning of a command's option; None: there is none."""
    name = _AS_IN_PYTEST.get(key, key.replace("_", "-"))
    return name.replace("-", "_") if name in HELP and key not in _OWN_MEANING else None


def _value(
    settings: Settings, command: str, key: str, value: Any, known: Mapping[str, argparse.Action]
) -> Any:
    """Return the value of a command's option as the command line gives it."""
    table = f"{settings.file}: {command}"
    name = key.replace("_", "-")
    if name in ON_COMMAND_LINE or (name in ONE_RUN and key in known):
        raise UsageError(f"{table}.{key} belongs to one run: give it on the command line, and remove it here")
    if key not in known:
        names = [one for one in known if one.replace("_", "-") not in (*ON_COMMAND_LINE, *ONE_RUN)]
        raise UsageError(f"{table}: {unknown_name('key', key, names)}")
    place, action = f"{table}.{key} = {shown(value)}", known[key]
    if same := _option(key):
        option = same.replace("_", "-")
        typed = as_typed(settings, option, value, place)
        if same not in ("data", "device"):
            check(same, typed, place)
        return typed
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise UsageError(f"{place} must be true or false")
        return value
    if not is_word(value):
        raise UsageError(f"{place} must be a text or a number")
    return _read(action, str(value), place)


def _read(action: argparse.Action, text: str, place: str) -> Any:
    """Read a text as argparse does."""
    try:
        return action.type(text) if callable(action.type) else text
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"{place}: {error}") from None
    except ValueError:
        raise UsageError(f"{place} must be a whole number, as in 5") from None
