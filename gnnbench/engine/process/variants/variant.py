"""Parses one side of a comparison as the user types it: `git:main env:OMP_NUM_THREADS=1`."""

import re
import shlex
from dataclasses import dataclass
from pathlib import PurePath

from packaging.requirements import Requirement

from ...ground.errors import UsageError, unknown_name

KINDS = {"git": "REF or git:DIR@REF", "path": "DIR", "pip": "REQUIREMENT", "env": "NAME=VALUE"}
WORKING_TREE = "."

_FORM = "give git:REF, git:DIR@REF, path:DIR, pip:REQUIREMENT, env:NAME=VALUE or ."
_PATHS = (".", "/", "~")
"""How a path begins; no name of a commit and no requirement begins like that."""
_CHECKOUT = "git:DIR"
_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tar.bz2", ".tgz")


@dataclass(frozen=True)
class Variant:
    """The code and settings of one side; without `git` and `path`, the working tree's code."""

    text: str
    """As the user typed it."""
    git: str | None = None
    """Any name of a commit in the caller's repository."""
    path: str | None = None
    """A folder, absolute or relative to the caller's."""
    checkouts: tuple[tuple[str, str], ...] = ()
    """Folders of other repositories, relative like `path`, each with any name of a commit there."""
    pip: tuple[str, ...] = ()
    """Requirements, archives and folders for pip to install."""
    env: tuple[tuple[str, str], ...] = ()
    """Variables to set; if a name occurs twice, the last value counts, as in a shell."""


def parse(text: str) -> Variant:
    """Read a variant: parts separated by spaces, quoted as in a shell."""
    parts = words(text)
    if not parts:
        raise UsageError(f"variant {text!r} is empty: {_FORM}")
    given: dict[str, list[str]] = {kind: [] for kind in (*KINDS, _CHECKOUT, WORKING_TREE)}
    trees = []
    for part in parts:
        kind, value = _split(part)
        given[kind].append(value)
        if kind in {"git", "path", WORKING_TREE}:
            trees.append(part)
    if len(trees) > 1:
        raise UsageError(
            f"variant {text!r} has {len(trees)} sources of code, {' and '.join(map(repr, trees))}: give one"
        )
    checkouts = tuple(map(_checkout, given[_CHECKOUT]))
    if len({PurePath(folder) for folder, _ in checkouts}) < len(checkouts):
        raise UsageError(f"variant {text!r} has two commits of one folder: give one")
    return Variant(
        text,
        git=next(map(_ref, given["git"]), None),
        path=next(iter(given["path"]), None),
        checkouts=checkouts,
        pip=tuple(map(_requirement, given["pip"])),
        env=tuple(map(_assignment, given["env"])),
    )


def words(text: str) -> list[str]:
    """Return the parts of a variant."""
    if "\0" in text:
        raise UsageError(f"variant {text!r} contains a null character: remove it")
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"variant {text!r} is incomplete: {str(error).lower()}") from None


def is_local(requirement: str) -> bool:
    """Whether a requirement for pip looks like a local file or folder."""
    return "://" not in requirement and (
        requirement.startswith(_PATHS) or requirement.lower().endswith(_ARCHIVES)
    )


def is_pinned(requirement: str) -> bool:
    """Whether a requirement that is not local allows exactly one release."""
    specifiers = list(Requirement(requirement).specifier)
    return any(one.operator in {"==", "==="} and "*" not in one.version for one in specifiers)


def _split(part: str) -> tuple[str, str]:
    if part == WORKING_TREE:
        return part, ""
    kind, colon, value = part.partition(":")
    if not colon:
        likely = "pip" if re.search(r"[=<>~!]=|[<>]", part) else "env" if "=" in part else "git"
        also = f" or {f'path:{part}'!r}" if likely == "git" else ""
        raise UsageError(f"{part!r} is not part of a variant: did you mean {f'{likely}:{part}'!r}{also}?")
    if kind not in KINDS:
        # Escaped, so that the message stays on one line.
        raise unknown_name("part of a variant", ascii(kind)[1:-1], KINDS)
    value = value.strip() if kind != "env" else value
    if not value:
        raise UsageError(f"{part!r} has no value: give {kind}:{KINDS[kind]}")
    return _CHECKOUT if kind == "git" and value.startswith(_PATHS) else kind, value


def _ref(text: str) -> str:
    if text.startswith("-"):
        raise UsageError(f"{'git:' + text!r} looks like an option of git: give a branch, a tag or a commit")
    return text


def _checkout(text: str) -> tuple[str, str]:
    # The last `@` separates them; `@{` does not: it is part of a name such as main@{1}.
    found = re.fullmatch(r"(.+)@(?!\{)(.+)", text, re.DOTALL)
    if not found:
        raise UsageError(f"{'git:' + text!r} names a folder but no commit: add @REF, or give path:DIR")
    return found[1], found[2]


def _requirement(text: str) -> str:
    if text.startswith("-"):
        raise UsageError(
            f"{'pip:' + text!r} looks like an option of pip: give a requirement; set options in PIP_..."
        )
    if is_local(text):
        return text
    try:
        url = Requirement(text).url
    except (ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(
            f"{'pip:' + text!r} is not a requirement ({reason}): give pip:NAME==VERSION or ./x.whl"
        ) from None
    if url and url.lower().startswith("file:"):
        # Changes of a local file are noticed only if it is given as a path.
        raise UsageError(f"{'pip:' + text!r} is a local file: give its path, like pip:./x.whl")
    return text


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"{'env:' + text!r} sets nothing: give env:NAME=VALUE")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise UsageError(f"{'env:' + text!r}: {name!r} is not a variable name: use letters, digits and _")
    return name, value
