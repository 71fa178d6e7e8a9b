"""One side of a comparison, as the user types it: `git:main env:OMP_NUM_THREADS=1`."""

import re
import shlex
from dataclasses import dataclass

from packaging.requirements import Requirement

from ..errors import UsageError, unknown_name

KINDS = {"git": "REF", "path": "DIR", "pip": "REQUIREMENT", "env": "NAME=VALUE"}
WORKING_TREE = "."

_FORM = "give git:REF, path:DIR, pip:REQUIREMENT, env:NAME=VALUE or ."
_ARCHIVES = (".whl", ".zip", ".tar.gz", ".tar.bz2", ".tgz")


@dataclass(frozen=True)
class Variant:
    """The code and the settings of one side. Without `git` and `path` the code is the working tree's."""

    text: str
    """As it was given."""
    git: str | None = None
    """A commit of the caller's repository, by any name that git knows."""
    path: str | None = None
    """A folder."""
    pip: tuple[str, ...] = ()
    """What pip is to install: requirements, archives and folders."""
    env: tuple[tuple[str, str], ...] = ()
    """Variables; of two with one name the last holds, as in a shell."""


def parse(text: str) -> Variant:
    """Read a variant: parts separated by spaces, split as a shell would.

    Raises:
        UsageError: it is empty, or a part of it cannot be understood or used.
    """
    if "\0" in text:
        raise UsageError(
            f"variant {text!r} holds a null character, which no name and no value can: leave it out"
        )
    try:
        parts = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"variant {text!r} is cut off: {str(error).lower()}; close it") from None
    if not parts:
        raise UsageError(f"variant {text!r} is empty: {_FORM}")
    given: dict[str, list[str]] = {kind: [] for kind in (*KINDS, WORKING_TREE)}
    for part in parts:
        kind, value = _split(part)
        given[kind].append(value)
    trees = [part for part in parts if part == WORKING_TREE or part.startswith(("git:", "path:"))]
    if len(trees) > 1:
        raise UsageError(
            f"variant {text!r} has {len(trees)} trees, {' and '.join(map(repr, trees))}: give one"
        )
    return Variant(
        text,
        git=next(map(_ref, given["git"]), None),
        path=next(iter(given["path"]), None),
        pip=tuple(map(_requirement, given["pip"])),
        env=tuple(map(_assignment, given["env"])),
    )


def is_local(requirement: str) -> bool:
    """Whether what pip is to install is a file or a folder here, by its looks."""
    return "://" not in requirement and (
        requirement.startswith((".", "/", "~")) or requirement.lower().endswith(_ARCHIVES)
    )


def is_pinned(requirement: str) -> bool:
    """Whether a requirement that is not local names exactly one release, which stays what it is."""
    specifiers = list(Requirement(requirement).specifier)
    return any(one.operator in {"==", "==="} and "*" not in one.version for one in specifiers)


def _split(part: str) -> tuple[str, str]:
    if part == WORKING_TREE:
        return part, ""
    kind, colon, value = part.partition(":")
    if not colon:
        likely = "pip" if re.search(r"[=<>~!]=|[<>]", part) else "env" if "=" in part else "git"
        also = f" or path:{part}" if likely == "git" else ""
        raise UsageError(f"{part!r} is no part of a variant: did you mean {f'{likely}:{part}{also}'!r}?")
    if kind not in KINDS:
        # The name is shown on one line, whatever is in it.
        raise unknown_name("part of a variant", ascii(kind)[1:-1], KINDS)
    value = value.strip() if kind != "env" else value
    if not value:
        raise UsageError(f"{part!r} of a variant is empty: give {kind}:{KINDS[kind]}")
    return kind, value


def _ref(text: str) -> str:
    if text.startswith("-"):
        raise UsageError(f"{'git:' + text!r} looks like an option of git: give a branch, a tag or a commit")
    return text


def _requirement(text: str) -> str:
    if text.startswith("-"):
        raise UsageError(
            f"{'pip:' + text!r} looks like an option of pip: give a requirement; options go in PIP_..."
        )
    if is_local(text):
        return text
    try:
        url = Requirement(text).url
    except (ValueError, RecursionError) as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(
            f"{'pip:' + text!r} is no requirement ({reason}): give pip:NAME==VERSION, or a path as ./x.whl"
        ) from None
    if url and url.lower().startswith("file:"):
        # A path is looked at for changes, an address is not.
        raise UsageError(f"{'pip:' + text!r} is a file here: give its path, as pip:./x.whl")
    return text


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"{'env:' + text!r} sets nothing: give env:NAME=VALUE")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise UsageError(f"{'env:' + text!r}: {name!r} is no name of a variable: letters, digits and _ only")
    return name, value
