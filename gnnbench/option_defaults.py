"""Defaults of options from a project's settings, in this process and in those that it starts."""

import json
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .errors import UsageError, unknown_name
from .files import user_path
from .options import FLAGS, HELP, LISTS, REMOVED, Options
from .settings import RULES, Settings, shown

COMMANDS = (
    *("ab", "affected", "baseline", "bisect", "calibrate", "comment", "compare"),
    *("profile", "report", "trend"),
)
"""Subcommands of gnnbench that may have a table of their own options in a project's settings."""
ON_COMMAND_LINE = (
    *("by", "details-url", "diff", "environment", "explain", "format", "fresh", "json", "markdown", "name"),
    *("output", "pull-request", "reason", "skip", "slides", "test", "yes"),
)
"""Options of the command that belong to one run, such as paths of results; settings have none of them."""
DEFAULTS_VARIABLE = "GNNBENCH_DEFAULTS"
"""Environment variable: the defaults of pytest's options in a process that gnnbench starts, as JSON."""
ONE_RUN = ("affected-by", "counters", "dry-run", "growth", "profile", "shard")
"""Options that say what one run does; settings of a project have no default for them."""


def from_settings(settings: Settings, typed: Collection[str] = ()) -> dict[str, Any]:
    """Return the defaults that a project's settings give the plugin's options, as if they were typed.

    Args:
        settings: the settings.
        typed: options that the command line sets. Whether their device or folder exists here does not matter.

    Returns:
        Values by the names of `Options.parse`, also of options that are typed.

    Raises:
        UsageError: a key is unknown or was removed, an option has no default in a file, or a value cannot
            be used.
    """
    known = {name.replace("-", "_"): name for name in HELP}
    found: dict[str, Any] = {}
    for key, value in settings.defaults.items():
        if key in COMMANDS and isinstance(value, dict):
            continue  # the options of a command, see cli/defaults.py
        place = f"{settings.file}: {key}"
        if key in COMMANDS and key not in known:
            raise UsageError(f"{place} = {shown(value)} must be a table, as in [tool.gnnbench.{key}]")
        if instead := REMOVED.get(key.replace("_", "-")):
            raise UsageError(f"{place} was removed: {instead}")
        if key.replace("_", "-") in ON_COMMAND_LINE or known.get(key) in ONE_RUN:
            raise UsageError(f"{place} belongs to one run: give it on the command line, and remove it here")
        if key not in known:
            names = [*(key for key, name in known.items() if name not in ONE_RUN), *COMMANDS, RULES]
            raise UsageError(f"{settings.file}: {unknown_name('key', key, names)}")
        place = f"{place} = {shown(value)}"
        found[key] = as_typed(settings, known[key], value, place)
        if key not in typed or key not in ("data", "device"):
            check(key, found[key], place)
    return found


@contextmanager
def passed_on(settings: Settings, arguments: Sequence[str] = ()) -> Iterator[None]:
    """Let the processes that are started meanwhile take these defaults, and no settings of their own.

    Both sides of a comparison then run with the caller's, even if a side brings another gnnbench, which may
    know other keys.

    Args:
        settings: the caller's.
        arguments: pytest's. A device or folder of data that they name is used instead of the settings'.

    Raises:
        UsageError: a value cannot be used.
    """
    named = {word.partition("=")[0] for word in arguments}
    typed = [key for key in ("data", "device") if f"--gnn-{key}" in named]
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
    known = {name.replace("-", "_") for name in HELP}
    return {key: value for key, value in json.loads(text).items() if key in known}


def check(key: str, typed: Any, place: str) -> None:
    """Check the value of an option.

    Args:
        key: one of the names of `Options.parse`.
        typed: the value as the command line gives it.
        place: file, key and value, for messages.

    Raises:
        UsageError: the value cannot be used.
    """
    try:
        Options.parse(**{"device": "cpu", "data": os.curdir, key: typed})
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from None


def as_typed(settings: Settings, name: str, value: Any, place: str) -> Any:
    """Return a value of a file as the command line gives it: a flag, a list of texts, or a text.

    Args:
        settings: of the file.
        name: the option.
        value: its value in the file.
        place: file, key and value, for messages.

    Raises:
        UsageError: the value has another type.
    """
    assert settings.file
    if name in FLAGS:
        if not isinstance(value, bool):
            raise UsageError(f"{place} must be true or false")
        return value
    values = value if name in LISTS and isinstance(value, list) else [value]
    if not values or not all(is_word(one) for one in values):
        form = (
            'a text or a list of texts, as in ["cora", "pubmed"]' if name in LISTS else "a text or a number"
        )
        raise UsageError(f"{place} must be {form}")
    texts = [str(one) for one in values]
    if name in ("data", "profile-folder"):  # relative to the file, wherever the user is
        texts = [str(settings.file.parent / user_path(one)) for one in texts]
    if name == "dataset":
        texts = [one.strip() for text in texts for one in text.split(",")]
        texts = [str(settings.file.parent / user_path(one)) if one.endswith(".mtx") else one for one in texts]
    return texts if name in LISTS else texts[0]


def is_word(value: Any) -> bool:
    """Return whether a value of a file is a text that is not blank, or a number."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number or (isinstance(value, str) and bool(value.strip()))
