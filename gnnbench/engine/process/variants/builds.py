"""Checkouts that a command has built, kept in the cache by commit."""

import errno
import hashlib
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from ...ground import git
from ...ground.files import hold
from .command import Listener, UnbuildableError, call, last_line
from .worktree import Repository

MOST_BYTES = 10 * 2**30
"""Size of all builds, at most; those that are in use are never removed."""
_TREE, _USED, _BYTES = "tree", "used", "bytes"
_FREE_BYTES = 2**26
"""A build that fails with less free space than this is not blamed on the commit."""


@dataclass(frozen=True)
class Build:
    """How to build a checkout."""

    command: str
    """For the shell; it runs in the folder that has the package."""
    most_bytes: int = MOST_BYTES

    def key(self, repository: Repository, commit: str) -> str:
        """Return the name of a build: a hash of all that decides what is built."""
        what = (self.command, str(repository.shared), str(repository.prefix), commit, sys.version, sys.prefix)
        return hashlib.sha256(repr(what).encode()).hexdigest()[:24]


@contextmanager
def built(
    repository: Repository, commit: str, build: Build, cache: Path, listener: Listener
) -> Iterator[Path]:
    """Return the folder of a commit that is checked out with its submodules, and built.

    Builds are kept without git's own files; those that were used longest ago are removed first.

    Raises:
        UnbuildableError: the command or a submodule fails.
        OSError: the cache is full.
    """
    builds = cache / "builds"
    folder = builds / build.key(repository, commit)
    tree, size = folder / _TREE, folder / _BYTES
    with hold(builds / ".lock", cache):
        folder.mkdir(exist_ok=True)
        used = FileLock(folder / _USED, thread_local=False).acquire()
    with used:
        if not size.exists():
            shutil.rmtree(tree, ignore_errors=True)  # of a run that was killed
            listener.step(f"building {commit[:10]}: {build.command}")
            _make(tree, repository, commit, build.command)
            size.write_text(str(sum(file.lstat().st_size for file in tree.rglob("*"))))
        os.utime(size)
        with hold(builds / ".lock", cache):
            _clear(builds, build.most_bytes, listener)
        yield tree


def _make(tree: Path, repository: Repository, commit: str, command: str) -> None:
    """Check a commit out, fetch its submodules, and run the command."""
    clone = ("clone", "--quiet", "--shared", "--no-checkout", "--template=", "--")
    _run(_git(*clone, str(repository.shared), str(tree)), tree.parent, repository, "its checkout")
    address = call(
        _git("config", "--get", "remote.origin.url"), repository.root, git.variables()
    ).stdout.strip()
    if address and "://" in address:  # relative addresses of submodules begin there
        _run(_git("remote", "set-url", "origin", address), tree, repository, "its checkout")
    _run(_git("checkout", "--quiet", "--detach", commit), tree, repository, "its checkout")
    fetch = ("submodule", "update", "--init", "--recursive", "--quiet")
    _run(_git(*fetch), tree, repository, "its submodules")
    where = tree / repository.prefix
    if where.is_dir():  # else `prepare` says so
        _run(["sh", "-c", command], where, repository, shlex.quote(command))
    shutil.rmtree(tree / ".git")


def _run(command: Sequence[str], where: Path, repository: Repository, what: str) -> None:
    answer = call(command, where, git.variables())
    if answer.returncode:
        if shutil.disk_usage(where).free < _FREE_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(where))
        reason = last_line(answer.stderr) or last_line(answer.stdout) or f"exit status {answer.returncode}"
        raise UnbuildableError(f"{repository.part} cannot be built: {what}: {reason}")


def _git(*arguments: str) -> list[str]:
    return ["git", *git.QUIET, *arguments]


def _clear(builds: Path, most_bytes: int, listener: Listener) -> None:
    """Remove unfinished builds and those that were used longest ago; the caller holds the lock."""
    found = []
    for folder in builds.iterdir():
        if folder.is_dir():
            found.append((-1.0, 0, folder))
            with suppress(OSError, ValueError):
                size = folder / _BYTES
                found[-1] = (size.stat().st_mtime, int(size.read_text()), folder)
    total = 0
    for used_at, size_bytes, folder in sorted(found, reverse=True):
        total += size_bytes
        if total > most_bytes or used_at < 0:
            with suppress(Timeout), FileLock(folder / _USED, timeout=0):
                total -= size_bytes
                try:
                    (folder / _BYTES).unlink(missing_ok=True)
                    shutil.rmtree(folder)
                except OSError as error:
                    listener.say(f"{folder} cannot be removed ({error.strerror}); the next run tries again")
