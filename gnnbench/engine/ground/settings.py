"""A project's own settings: defaults of options, and rules for single benchmarks.

They are read from the table `[tool.gnnbench]` of pyproject.toml, or from gnnbench.toml, which has the same
keys at its top. This module reads the file and its rules; option_defaults.py knows which options may have
a default.
"""

import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from . import units
from .codec import UNSAVED, Level, Positive, PositiveCount
from .errors import UsageError, unknown_name
from .files import above
from .json_io import clipped

FILES = ("pyproject.toml", "gnnbench.toml")
RULES = "rules"
"""The key of the list of rules."""
_REQUIRED = "benchmarks"
_LONGEST = 60
"""Characters of a value in a message."""


@dataclass(frozen=True)
class Rule:
    """What holds for the benchmarks whose id matches a pattern."""

    number: int
    """Its position in the file, from 1."""
    benchmarks: str
    """The pattern: `*` stands for any text, `?` for one character, and all else, brackets too, for itself."""
    max_time_seconds: Positive | None = None
    effect: Level | None = None
    """Minimum effect of interest, as a fraction."""
    more_memory: Level | None = None
    """Share of the base's peak up to which more memory does not fail."""
    more_memory_bytes: PositiveCount | None = None
    """The same as a size; the larger of both limits holds."""
    ignore: str | None = None
    """Why the verdict is ignored."""
    until: date | None = None
    """The last day on which the rule applies."""

    def matches(self, name: str) -> bool:
        """Return whether the rule is about the benchmark with this id."""
        # Each id has brackets, so they are no character class here.
        return fnmatchcase(name, self.benchmarks.replace("[", "[[]"))


@dataclass(frozen=True)
class Settings:
    """The settings in force."""

    file: Path | None = field(default=None, metadata=UNSAVED)
    """None: there is no file, or it has no settings."""
    name: str = ""
    """Of the file."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Values of options by key as they are in the file, and by command the table of its options."""
    rules: tuple[Rule, ...] = ()
    """Those that apply today."""
    expired_rules: tuple[Rule, ...] = field(default=(), metadata=UNSAVED)

    def rule(self, key: str, name: str) -> Rule | None:
        """Return the last rule that sets a field of `Rule` for a benchmark and applies. None if none does."""
        return next(
            (one for one in reversed(self.rules) if getattr(one, key) is not None and one.matches(name)),
            None,
        )

    def value(self, key: str, name: str) -> Any:
        """Return the value of that rule; None: no rule sets it."""
        rule = self.rule(key, name)
        return rule and getattr(rule, key)

    def without_effects(self) -> "Settings":
        """Return these settings without the effects of the rules: the command line has named one for all."""
        return replace(self, rules=tuple(replace(one, effect=None) for one in self.rules))

    def place(self, rule: Rule) -> str:
        """Return where a rule is: `rule 2 of pyproject.toml`."""
        return f"rule {rule.number} of {self.name}"

    def reason(self, rule: Rule) -> str:
        """Return why a rule ignores a benchmark: `known slow (rule 2 of pyproject.toml)`."""
        return f"{rule.ignore} ({self.place(rule)})"

    def expired(self) -> list[str]:
        """Return a line for each rule that does not apply any more."""
        return [
            f"{self.place(one)} ({one.benchmarks}) expired on {one.until}: remove it, or set a later day"
            for one in self.expired_rules
        ]


NONE = Settings()


def find(start: Path) -> Settings:
    """Read the settings of a project: of the nearest folder that has any, up to the top of the repository.

    Outside of a repository, only the folder itself is searched.
    """
    for folder in above(start):
        tables = {folder / name: table for name in FILES if (table := _table(folder / name)) is not None}
        if len(tables) > 1:
            raise UsageError(
                f"both {folder / FILES[1]} and [tool.gnnbench] of {FILES[0]} have settings; move all into one"
            )
        for file, table in tables.items():
            return parse(file, table)
    return NONE


def _table(file: Path) -> dict[str, Any] | None:
    """Return the settings of a file; None: it does not exist, or has none."""
    if not file.is_file():
        return None
    content: Any = read_toml(file)
    if file.name == FILES[0]:
        tool = content.get("tool")
        content = tool.get("gnnbench") if isinstance(tool, dict) else None
        if content is not None and not isinstance(content, dict):
            raise UsageError(f"{file}: tool.gnnbench must be a table, as in [tool.gnnbench]")
    return content


def read_toml(file: Path) -> dict[str, Any]:
    """Return the content of a TOML file."""
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{file} is not valid TOML: {error}; correct it") from None


def parse(file: Path, table: Mapping[str, Any], today: date | None = None) -> Settings:
    """Read the table of a file: its rules are checked, the values of `defaults` are not."""
    today = today or date.today()  # noqa: DTZ011 - of the user's calendar
    defaults = {key: value for key, value in table.items() if key != RULES}
    rules = table.get(RULES, [])
    if not isinstance(rules, list) or not all(isinstance(one, dict) for one in rules):
        raise UsageError(f"{file}: {RULES} must be a list of tables, as in [[tool.gnnbench.{RULES}]]")
    found = [_rule(file, *one) for one in enumerate(rules, 1)]
    expired = tuple(one for one in found if one.until and one.until < today)
    return Settings(file, file.name, defaults, tuple(one for one in found if one not in expired), expired)


def _rule(file: Path, number: int, table: Mapping[str, Any]) -> Rule:
    place = f"{file}: rule {number}"
    check_keys(place, table, _READERS)
    if _REQUIRED not in table:
        raise UsageError(f'{place} has no key {_REQUIRED}; add the ids it is about, as in "*spmm*cora*"')
    if not table.keys() - {_REQUIRED, "until"}:
        known = ", ".join(key for key in _READERS if key not in (_REQUIRED, "until"))
        raise UsageError(f"{place} sets nothing; add one of {known}")
    values: dict[str, Any] = {}
    for key, given in table.items():
        field_name, read, form = _READERS[key]
        values[field_name] = read(given)
        if values[field_name] is None:
            raise UsageError(f"{place}: {key} = {shown(given)} must be {form}")
    return Rule(number, **values)


def shown(value: Any) -> str:
    """Write a value of a file for a message, shortened."""
    if isinstance(value, bool):
        return str(value).lower()
    text = value.isoformat() if isinstance(value, date) else repr(value).replace("'", '"')
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def check_keys(place: str, table: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse a table of a file with a key that is not known."""
    if unknown := next((key for key in table if key not in known), None):
        raise UsageError(f"{place}: {unknown_name('key', clipped(unknown), known)}")


def _of_text(read: Callable[[str], Any]) -> Callable[[Any], Any]:
    """Return a reader that takes texts only."""
    return lambda given: read(given) if isinstance(given, str) else None


def _fraction(given: Any) -> float | None:
    if isinstance(given, str):
        return units.read_fraction(given)
    return float(given) if isinstance(given, float) and 0 < given < 1 else None


def _day(given: Any) -> date | None:
    return given if isinstance(given, date) and not isinstance(given, datetime) else None


_text = _of_text(lambda given: given.strip() or None)
_READERS: Mapping[str, tuple[str, Callable[[Any], Any], str]] = {
    _REQUIRED: (_REQUIRED, _text, 'a pattern of ids, as in "*spmm*cora*"'),
    "max_time": ("max_time_seconds", _of_text(units.read_seconds), 'a time with its unit, as in "5 ms"'),
    "effect": ("effect", _fraction, 'between 0 and 1, as in "3%" or 0.03'),
    "more_memory": ("more_memory", _fraction, 'between 0 and 1, as in "5%" or 0.05'),
    "more_memory_size": (
        "more_memory_bytes",
        _of_text(units.read_size),
        'a size with its unit, as in "64 MiB"',
    ),
    "ignore": ("ignore", _text, 'the reason, as in "known slow until the new driver"'),
    "until": ("until", _day, "a day without quotation marks, as in 2027-01-31"),
}
"""By key of a rule: the field of `Rule`, the function that reads a value, and what the value must be. The
function returns None for what it cannot read."""
