"""Asks git about folders; changes nothing."""

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "submodule.recurse=false")
"""Options with which git starts no other program."""

# Git sets them for a hook; they would point to the hook's repository.
_FOREIGN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX")
_REMOTES = (
    re.compile(r"(?P<scheme>https?)://(?:[^/@]*@)?(?P<host>[\w.-]+(?::\d+)?)/(?P<path>.+)", re.ASCII),
    re.compile(r"(?:ssh|git)://(?:[^/@]*@)?(?P<host>[\w-]+\.[\w.-]+)(?::\d+)?/(?P<path>.+)", re.ASCII),
    re.compile(r"(?:[\w.-]+@)?(?P<host>[\w-]+\.[\w.-]+):(?P<path>[^/].*)", re.ASCII),
)
"""Addresses of repositories; the last is scp's, `git@github.com:pyg-team/pytorch_geometric.git`."""
_PATH = re.compile(r"[\w~+-][\w./~+-]*", re.ASCII)
HASH = re.compile(r"[0-9a-f]{7,64}", re.ASCII)
"""A commit, maybe shortened."""
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


def web_address(folder: Path) -> str | None:
    """Return the address of the web page of a folder's repository, made from its remote `origin`.

    It has no user name and no password. None: there is no such remote, or it is not on the web.
    """
    remote = _ask(folder, "remote", "get-url", "origin").strip()
    for form in _REMOTES:
        if found := form.fullmatch(remote):
            parts = found.groupdict()
            path = parts["path"].strip("/").removesuffix(".git")
            return (
                f"{parts.get('scheme', 'https')}://{parts['host']}/{path}" if _PATH.fullmatch(path) else None
            )
    return None


def has_any(folder: Path, commits: Iterable[str]) -> bool:
    """Return whether a folder's repository has one of these commits."""
    hashes = "\n".join(filter(HASH.fullmatch, commits))
    return " commit " in _ask(folder, "cat-file", "--batch-check", given=hashes)


def _ask(folder: Path, *arguments: str, given: str = "") -> str:
    """Return what git prints; an empty text if it fails or is not installed.

    Args:
        folder: where git runs.
        arguments: git's arguments.
        given: text for git's standard input.
    """
    command = ("git", *QUIET, *arguments)
    try:
        return subprocess.run(  # noqa: S603
            command,
            cwd=folder,
            env=variables(),
            check=True,
            capture_output=True,
            input=given,
            encoding="utf-8",
            errors="surrogateescape",
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
