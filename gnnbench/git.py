"""Asks git about folders; changes nothing."""

import os
import subprocess
from pathlib import Path

QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "submodule.recurse=false")
"""Options with which git starts no other program."""

# Git sets them for a hook; they would point to the hook's repository.
_FOREIGN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX")
_SETTINGS = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def variables() -> dict[str, str]:
    """Return the environment variables to run git with."""
    own = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    return {**own, **_SETTINGS}


def commit(folder: Path) -> str | None:
    """Return the full hash of the commit that is checked out in a folder; None without a repository."""
    return _ask(folder, "rev-parse", "--verify", "HEAD^{commit}").strip() or None


def changed_files(folder: Path) -> int:
    """Return how many tracked files of the folder's repository differ from the commit."""
    return len(_ask(folder, "status", "--porcelain", "--untracked-files=no").splitlines())


def state(folder: Path) -> tuple[str | None, bool]:
    """Return the commit of a folder, or None, and whether tracked files differ from it."""
    found = commit(folder)
    return found, bool(found and changed_files(folder))


def top(folder: Path) -> Path:
    """Return the top folder of a folder's repository; without a repository, the folder itself."""
    return Path(_ask(folder, "rev-parse", "--show-toplevel").removesuffix("\n") or folder)


def tracked(folder: Path) -> frozenset[str]:
    """Return the names of the files and folders that the commit has in a folder, without those below.

    None for a package that is installed inside a repository.
    """
    return frozenset(_ask(folder, "ls-tree", "-z", "--name-only", "HEAD").split("\0")[:-1])


def _ask(folder: Path, *arguments: str) -> str:
    """Return what git prints; an empty text if it fails or is not installed."""
    command = ("git", *QUIET, *arguments)
    try:
        return subprocess.run(  # noqa: S603
            command,
            cwd=folder,
            env=variables(),
            check=True,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
