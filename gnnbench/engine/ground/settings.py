"""A project's own settings: defaults of options, and rules for single benchmarks.

They are in the table `[tool.gnnbench]` of pyproject.toml, or at the top level of gnnbench.toml.
"""

# ruff: noqa: RUF009 - `described` returns a field of dataclasses

import json
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from . import units
from .codec import UNSAVED, Level, Positive
from .errors import UsageError, unknown_name
from .files import above
from .json_io import clipped
from .options import FRACTION, Option, Values, described, options_of

FILES = ("gnnbench.toml", "pyproject.toml")
RULES = "rules"
"""The key of the list of rules."""


@dataclass(frozen=True)
class Rule(Values):
    """Thresholds for the benchmarks whose id matches a pattern."""

    number: int = 0
    """Its position in the file, from 1."""
    benchmarks: str = described(Option("benchmarks", "", None))
    """The pattern: `*` stands for any text, `?` for one character, all else (brackets too) for itself."""
    max_time_seconds: Positive | None = described(
        Option("max_time", "", None, units.read_seconds, 'be a time with its unit, as in "5 ms"')
    )
    effect: Level | None = described(Option("effect", "", None, *FRACTION))
    """Minimum effect of interest, as a fraction."""
    more_memory: Level | None = described(Option("more_memory", "", None, *FRACTION))
    """An increase of up to this share of the base's peak memory does not fail."""
    ignore: str | None = described(Option("ignore", "", None))
    """Why the verdict is ignored."""

    def matches(self, name: str) -> bool:
        """Return whether the rule is about the benchmark with this id."""
        # Ids of tests have brackets, so a bracket in the pattern begins no character class.
        return fnmatchcase(name, self.benchmarks.replace("[", "[[]"))


@dataclass(frozen=True)
class Settings:
    """The settings in force."""

    file: Path | None = field(default=None, metadata=UNSAVED)
    """None if there is no file, or it has no settings."""
    name: str = ""
    """Name of the file."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Values of options by key, as in the file; a command's name is the key of the table of its options."""
    rules: tuple[Rule, ...] = ()

    def rule(self, key: str, name: str) -> Rule | None:
        """Return the last rule that matches a benchmark and sets the field `key`, or None."""
        rules = [rule for rule in self.rules if getattr(rule, key) is not None and rule.matches(name)]
        return rules[-1] if rules else None

    def value(self, key: str, name: str) -> Any:
        """Return the field `key` of the rule that `rule` returns. None if there is no such rule."""
        rule = self.rule(key, name)
        return rule and getattr(rule, key)

    def without_effects(self) -> "Settings":
        """Return these settings without the rules' effects, as the command line gives one for all."""
        return replace(self, rules=tuple(replace(rule, effect=None) for rule in self.rules))

    def place(self, rule: Rule) -> str:
        """Return where a rule is: `rule 2 of pyproject.toml`."""
        return f"rule {rule.number} of {self.name}"

    def reason(self, rule: Rule) -> str:
        """Return why a rule ignores a benchmark: `known slow (rule 2 of pyproject.toml)`."""
        return f"{rule.ignore} ({self.place(rule)})"


NONE = Settings()


def find(start: Path) -> Settings:
    """Read a project's settings, from the nearest folder that has any, up to the top of the repository.

    Outside of a repository, only the folder itself is searched.
    """
    for file in (folder / name for folder in above(start) for name in FILES):
        if file.is_file():
            content = read_toml(file)
            table = content if file.name == FILES[0] else content.get("tool", {}).get("gnnbench")
            if table is not None:
                return parse(file, table)
    return NONE


def read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{file} is not valid TOML: {error}; correct it") from None


def parse(file: Path, table: Any) -> Settings:
    """Read the table of a file. The rules are checked, but not the values of `defaults`."""
    if not isinstance(table, dict):
        raise UsageError(f"{file}: tool.gnnbench must be a table, as in [tool.gnnbench]")
    defaults = {key: value for key, value in table.items() if key != RULES}
    tables = table.get(RULES, [])
    if not isinstance(tables, list) or not all(isinstance(row, dict) for row in tables):
        raise UsageError(f"{file}: {RULES} must be a list of tables, as in [[tool.gnnbench.{RULES}]]")
    rules = tuple(_rule(file, number, row) for number, row in enumerate(tables, 1))
    return Settings(file, file.name, defaults, rules)


def _rule(file: Path, number: int, table: Mapping[str, Any]) -> Rule:
    typed = as_typed(file, f"rule {number}", table, options_of(Rule).values())
    if "benchmarks" not in typed:
        raise UsageError(f'{file}: rule {number} has no key benchmarks; add a pattern, as in "*spmm*cora*"')
    return replace(Rule.parse(**typed), number=number)


def as_typed(
    file: Path, part: str, table: Mapping[str, Any], options: Iterable[Option], others: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the values of a file's table as a user would type them, after checking what can be checked.

    `others`: known keys in addition to those of the options.
    """
    where = f"{file}: {part}" if part else f"{file}"
    options_by_key, typed = {option.key: option for option in options}, {}
    run_keys = [key for key, option in options_by_key.items() if option.one_run]
    if key := next((key for key in run_keys if key in table), None):
        raise UsageError(f"{where}: {key} differs from run to run: give it on the command line, not here")
    check_keys(where, table, [*(options_by_key.keys() - run_keys), *others])
    for key, value in table.items():
        option, text = options_by_key[key], clipped(json.dumps(value, default=str, ensure_ascii=False))
        typed[key] = option.typed(value, file.parent)
        if typed[key] is None:
            form = "true or false" if option.is_flag else "a text, a number or a list of these"
            raise UsageError(f"{where}: {key} = {text} must be {form}")
        try:
            if not option.of_machine:
                option.value(typed[key])
        except UsageError as error:
            raise UsageError(f"{where}: {key} = {text}: {error}") from None
    return typed


def check_keys(where: str, table: Mapping[str, Any], keys: Collection[str]) -> None:
    """Raise UsageError if a table of a file has an unknown key."""
    if unknown := next((key for key in table if key not in keys), None):
        raise UsageError(f"{where}: {unknown_name('key', clipped(unknown), keys)}")
