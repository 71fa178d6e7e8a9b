"""What both sides have in common and code may depend on: interpreter, packages, variables, machine."""

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from ... import environment
from ...measure.fingerprint.fingerprint import METHOD
from ...variants.prepare import Prepared
from .used import environment_folders

_PASSING = (
    *(
        "_",
        "OLDPWD",
        "SHLVL",
        "TERM",
        "TERM_PROGRAM",
        "COLUMNS",
        "LINES",
        "DISPLAY",
        "WINDOWID",
        "TMUX",
        "STY",
    ),
    *("XDG_RUNTIME_DIR", "XDG_SEAT", "XDG_VTNR"),
    *("INVOCATION_ID", "JOURNAL_STREAM", "PYTEST_CURRENT_TEST", "PYTEST_VERSION"),
)
_PASSING_PREFIXES = ("ACTIONS_", "DBUS_", "GITHUB_", "RUNNER_", "SSH_", "VSCODE_", "XDG_SESSION_")
"""Variables of the terminal, the login and the job, which differ between runs of the same code."""
_INSTALLED = ("site-packages", "dist-packages")
_MADE = "__pycache__"


def digests(sides: Iterable[Prepared], arguments: Sequence[str], folder: Path, version: int) -> list[str]:
    """Return for each side a hash of all that is not code under test.

    Of installed packages, the place, size and time of each file count; of Python, its executable's.

    Args:
        sides: with their variables.
        arguments: pytest's.
        folder: pytest's working directory.
        version: of what is kept.
    """
    found = hashlib.sha256(f"{version} {METHOD} {sys.version}\0".encode())
    found.update(environment.name(asdict(environment.collect())).encode())
    found.update(repr((list(arguments), str(folder), sys.flags)).encode())
    executable = Path(sys.executable).resolve()
    found.update(repr((str(executable), _state(executable.stat()))).encode())
    for place in environment_folders():
        if Path(place).name in _INSTALLED:
            for line in _files(place):
                found.update(line.encode("utf-8", "surrogateescape"))
    whole = []
    for given in sides:
        own = found.copy()
        variables = sorted(_variables({**os.environ, **given.environment}))
        own.update(repr(variables).encode("utf-8", "surrogateescape"))
        whole.append(own.hexdigest()[:32])
    return whole


def _variables(variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in variables.items():
        if name not in _PASSING and not name.startswith(_PASSING_PREFIXES):
            yield name, value


def _files(folder: str) -> Iterator[str]:
    """Yield a line for each file in a folder, and in those below it."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name != _MADE:
                yield from _files(entry.path)
        elif not entry.is_symlink() or os.path.exists(entry.path):
            yield f"{entry.path} {_state(entry.stat())}\n"


def _state(stat: os.stat_result) -> tuple[int, int]:
    return stat.st_size, stat.st_mtime_ns
