"""Defaults of options from a project's settings, in this process and in those that it starts.

A command has a table of its own, such as `[tool.gnnbench.ab]`. Of the keys at the top, those that mean the
same for a command hold for it too.
"""

import argparse
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from ..ground.errors import UsageError, unknown_name
from ..ground.files import user_path
from ..ground.options import OPTIONS, PROFILE_OPTIONS, Option
from ..ground.settings import RULES, Settings, shown
from . import suite

COMMANDS = (
    *("ab", "affected", "baseline", "bisect", "comment", "compare"),
    *("profile", "report", "watch"),
)
"""Subcommands of gnnbench that may have a table of their own options in a project's settings."""
ON_COMMAND_LINE = (
    *("by", "details_url", "diff", "environment", "explain", "format", "fresh", "json", "markdown"),
    *("output", "pull_request", "page", "plant", "reason", "since", "skip", "slides", "until", "yes"),
)
"""Options of the command that belong to one run, such as paths of results; settings have none of them."""
DEFAULTS_VARIABLE = "GNNBENCH_DEFAULTS"
"""Environment variable: the defaults of pytest's options in a process that gnnbench starts, as JSON."""
_OF_THIS_MACHINE = ("data", "device")
"""Keys of options whose values may be right on another machine."""


def every() -> dict[str, Option]:
    """Return pytest's options by name, in the order of its `--help`: those of the suite come first."""
    return {**suite.installed().options, **OPTIONS}


def _by_key() -> dict[str, Option]:
    return {option.key: option for option in every().values()}


def _shared() -> dict[str, Option]:
    """Return by name in commands pytest's options that mean the same there; `budget` does not."""
    options = [*every().values(), *PROFILE_OPTIONS.values()]
    return {one.name: one for one in options if one.name != "budget"}


def from_settings(settings: Settings, typed: Collection[str] = ()) -> dict[str, Any]:
    """Return the defaults that a project's settings give the plugin's options, as if they were typed.

    Args:
        typed: options that the command line sets. Whether their device or folder exists here does not matter.

    Returns:
        Values by the keys of options, also of options that are typed.
    """
    values, by_key = dict(settings.defaults), _by_key()
    for key in values.keys() & set(COMMANDS):
        if isinstance(values[key], dict):
            del values[key]  # the options of a command, see `take`
        elif key not in by_key:
            place = f"{settings.file}: {key} = {shown(values[key])}"
            raise UsageError(f"{place} must be a table, as in [tool.gnnbench.{key}]")
    unchecked = [key for key in _OF_THIS_MACHINE if key in typed]
    return read(settings, values, by_key, unchecked=unchecked)


def read(
    settings: Settings,
    table: Mapping[str, Any],
    known: Mapping[str, Option],
    command: str = "",
    unchecked: Collection[str] = _OF_THIS_MACHINE,
) -> dict[str, Any]:
    """Return a table of the settings, with its values as they would be typed.

    Args:
        command: the command that has the table; empty: pytest.
    """
    found = {}
    for key, value in table.items():
        option = known.get(key)
        place = f"{settings.file}: {command}{command and '.'}{key}"
        if (option and option.one_run) or key in ON_COMMAND_LINE:
            raise UsageError(f"{place} belongs to one run: give it on the command line, and remove it here")
        if not option:
            names = [one for one in known if not known[one].one_run and one not in ON_COMMAND_LINE]
            names += [] if command else [*COMMANDS, RULES]
            where = f"{settings.file}: {command}{command and ': '}"
            raise UsageError(f"{where}{unknown_name('key', key, names)}")
        place += f" = {shown(value)}"
        found[key] = _as_typed(settings, option, value, place)
        try:
            if key not in unchecked:
                option.value(found[key])
        except (UsageError, argparse.ArgumentTypeError) as error:
            raise UsageError(f"{place}: {error}") from None
        except ValueError:
            raise UsageError(f"{place} must be a whole number, as in 5") from None
    return found


def take(parser: argparse.ArgumentParser, settings: Settings) -> None:
    """Give the commands' options the defaults of the settings; all keys and values are checked.

    They go into the attribute `usual`, by attribute, see `fill`.
    """
    top = from_settings(settings, _OF_THIS_MACHINE)
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
                if action.dest in usual and key != "effect":  # see `effect_of` in cli/common.py
                    action.default = argparse.SUPPRESS
            one.set_defaults(usual=usual)


def fill(options: argparse.Namespace) -> None:
    """Set what was not typed."""
    for name, value in options.usual.items():
        if name not in options:
            setattr(options, name, value)


@contextmanager
def passed_on(settings: Settings, arguments: Sequence[str] = ()) -> Iterator[None]:
    """Let the processes that are started meanwhile take these defaults, and no settings of their own.

    Both sides of a comparison then run with the caller's, even if a side brings another gnnbench, which may
    know other keys.

    Args:
        arguments: pytest's. A device or folder of data that they name is used instead of the settings'.
    """
    named = {word.partition("=")[0] for word in arguments}
    typed = [key for key in _OF_THIS_MACHINE if f"--gnn-{key}" in named]
    before = os.environ.get(DEFAULTS_VARIABLE)
    os.environ[DEFAULTS_VARIABLE] = json.dumps(from_settings(settings, typed))
    try:
        yield
    finally:
        del os.environ[DEFAULTS_VARIABLE]
        if before is not None:
            os.environ[DEFAULTS_VARIABLE] = before


def passed(text: str) -> dict[str, Any]:
    """Return the defaults that `passed_on` wrote, without options that this gnnbench does not know."""
    known = _by_key()
    return {key: value for key, value in json.loads(text).items() if key in known}


def _as_typed(settings: Settings, option: Option, value: Any, place: str) -> Any:
    """Return a value of a file as the command line gives it: a flag, a list of texts, or a text."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise UsageError(f"{place} must be true or false")
        return value
    values = value if option.is_list and isinstance(value, list) else [value]
    if not values or not all(map(_is_word, values)):
        form = (
            'a text or a list of texts, as in ["cora", "pubmed"]' if option.is_list else "a text or a number"
        )
        raise UsageError(f"{place} must be {form}")
    texts = list(map(str, values))
    if option.is_list:
        texts = [one.strip() for text in texts for one in text.split(",")]
    if option.path is not None:  # relative to the file, wherever the user is
        assert settings.file
        folder = settings.file.parent
        texts = [str(folder / user_path(one)) if one.endswith(option.path) else one for one in texts]
    return texts if option.is_list else texts[0]


def _is_word(value: Any) -> bool:
    """Return whether a value of a file is a text that is not blank, or a number."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number or (isinstance(value, str) and bool(value.strip()))


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of the subcommands by name."""
    inner = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]  # noqa: SLF001
    return {name: one for action in inner for name, one in action.choices.items()}


def _options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, Option, argparse.Action]]:
    """Yield key, description and action of each option that is shown; pytest has those with a name."""
    shared = _shared()
    for action in parser._actions:  # noqa: SLF001
        long = next((text.removeprefix("--") for text in action.option_strings if text.startswith("--")), "")
        if long and long != "help" and action.help != argparse.SUPPRESS:
            default = False if action.nargs == 0 else () if action.default == [] else None
            own = Option("", "", default, cast("Callable[[str], Any]", action.type or str))
            yield long.replace("-", "_"), shared.get(long, own), action
