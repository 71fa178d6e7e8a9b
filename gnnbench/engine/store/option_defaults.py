"""Defaults of options from a project's settings, in this process and in those that it starts.

A command has a table of its own, such as `[tool.gnnbench.ab]`. Of the keys at the top, those that mean the
same for a command hold for it too.
"""

import argparse
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..ground.errors import UsageError, unknown_name
from ..ground.files import user_path
from ..ground.options import OPTIONS, Option
from ..ground.settings import RULES, Settings, shown
from . import suite

COMMANDS = (
    *("ab", "affected", "baseline", "bisect", "comment", "compare"),
    *("profile", "report", "watch"),
)
"""Subcommands of gnnbench that may have a table of their own options in a project's settings."""
DEFAULTS_VARIABLE = "GNNBENCH_DEFAULTS"
"""Environment variable: the defaults of pytest's options in a process that gnnbench starts, as JSON."""
_OF_THIS_MACHINE = ("data", "device")
"""Keys of options whose values may be right on another machine."""


def every() -> dict[str, Option]:
    """Return pytest's options by name, in the order of its `--help`: those of the suite come first."""
    return {**suite.installed().options, **OPTIONS}


def _by_key() -> dict[str, Option]:
    return {option.key: option for option in every().values()}


def from_settings(settings: Settings, typed: Collection[str] = ()) -> dict[str, Any]:
    """Return the defaults that a project's settings give the plugin's options, as if they were typed, by key.

    `typed`: options that the command line sets. Whether their device or folder exists here does not matter.
    """
    top = {}
    for key, value in settings.defaults.items():
        if key not in COMMANDS:
            top[key] = value
        elif not isinstance(value, dict):
            place = f"{settings.file}: {key} = {shown(value)}"
            raise UsageError(f"{place} must be a table, as in [tool.gnnbench.{key}]")
    unchecked = [key for key in _OF_THIS_MACHINE if key in typed]
    return _read(settings, top, _by_key(), unchecked=unchecked)


def take(options: argparse.Namespace, settings: Settings) -> None:
    """Give a command's options that were not typed the defaults of its table, or of the keys at the top."""
    own, shared = options.table
    known = {option.key: option for option in (*own, *shared)}
    top = from_settings(settings, _OF_THIS_MACHINE)
    usual = {option.key: top[option.key] for option in shared if option.key in top}
    if options.command in COMMANDS:
        table = settings.defaults.get(options.command, {})
        usual |= _read(settings, table, known, f"{options.command}.")
    for key, option in known.items():
        typed = getattr(options, key)
        if typed in (None, []) and key != "effect":  # see `effect_of` in cli/common.py
            typed = usual.get(key, typed)
        setattr(options, key, option.value(typed) if option in own else typed)
    options.usual = usual


def _read(
    settings: Settings,
    table: Mapping[str, Any],
    known: Mapping[str, Option],
    prefix: str = "",
    unchecked: Collection[str] = _OF_THIS_MACHINE,
) -> dict[str, Any]:
    """Return a table of the settings, with its values as they would be typed."""
    read = {}
    for key, value in table.items():
        place = f"{settings.file}: {prefix}{key}"
        if (option := known.get(key)) is None:
            names = [name for name in known if not known[name].one_run]
            names += [] if prefix else [*COMMANDS, RULES]
            where = prefix.replace(".", ": ")
            raise UsageError(f"{settings.file}: {where}{unknown_name('key', key, names)}")
        if option.one_run:
            raise UsageError(f"{place} belongs to one run: give it on the command line, and remove it here")
        place += f" = {shown(value)}"
        read[key] = _as_typed(settings, option, value, place)
        try:
            if key not in unchecked:
                option.value(read[key])
        except UsageError as error:
            raise UsageError(f"{place}: {error}") from None
    return read


@contextmanager
def passed_on(settings: Settings, arguments: Sequence[str] = ()) -> Iterator[None]:
    """Let the processes that are started meanwhile take these defaults, and no settings of their own.

    Both sides of a comparison then run with the caller's, even if a side brings another gnnbench, which may
    know other keys.

    `arguments`: pytest's. A device or folder of data that they name is used instead of the settings'.
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
        texts = [word.strip() for text in texts for word in text.split(",")]
    if option.path is not None:  # relative to the file, wherever the user is
        assert settings.file
        folder = settings.file.parent
        texts = [str(folder / user_path(text)) if text.endswith(option.path) else text for text in texts]
    return texts if option.is_list else texts[0]


def _is_word(value: Any) -> bool:
    """Return whether a value of a file is a text that is not blank, or a number."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number or (isinstance(value, str) and bool(value.strip()))
