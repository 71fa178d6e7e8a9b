"""Git: a commit checked out beside the user's working tree."""

import difflib
import fcntl
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...ground import git, units
from ...ground.errors import UsageError
from ...ground.files import hold, locked
from ...interfaces import Listener
from .command import call

if TYPE_CHECKING:
    import subprocess

WORKTREES = "worktrees"
"""Folder in the cache folder."""
_PREFIX = "gnnbench-"
_POINTER = re.compile(rb"version https://git-lfs\S*\noid sha256:([0-9a-f]{64})\n")
_LONGEST_POINTER = 1024
_WRITERS = 4
"""Processes that write the files: a disk often takes several at once."""


@dataclass(frozen=True)
class Repository:
    """The git repository that contains a folder."""

    root: Path
    """A folder in it."""
    prefix: Path
    """The same folder, relative to the repository's top."""
    shared: Path
    """The `.git` folder that all worktrees share."""
    part: str
    """The part of the variant that needs it, for messages."""

    @property
    def top(self) -> Path:
        """The repository's top."""
        return self.root.joinpath(*[".."] * len(self.prefix.parts))

    @classmethod
    def at(cls, root: Path, part: str) -> "Repository":
        """Return the repository that contains a folder."""
        answer = _git(root, "rev-parse", "--show-prefix", "--git-common-dir")
        if answer.returncode:
            why = git.reason(answer.stderr)
            if "not a git repository" not in why:
                raise UsageError(f"{part}: git refuses the repository at {root}: {why}")
            raise UsageError(
                f"{part} needs a git repository at {root}: {why}; for a folder without git, give path:DIR"
            )
        prefix, shared = answer.stdout.split("\n")[:2]
        return cls(root, Path(prefix), (root / shared).resolve(), part)

    def commit(self, ref: str) -> str:
        """Return the full hash of a commit."""
        answer = _git(self.root, "rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}")
        commit = answer.stdout.strip()
        if answer.returncode == 0 and re.fullmatch(r"[0-9a-f]{40,64}", commit):
            return commit
        names = _git(self.root, "for-each-ref", "--format=%(refname:short)").stdout.split("\n")[:-1]
        remote = [name for name in names if name.endswith(f"/{ref}")]
        near = remote or difflib.get_close_matches(ref, names, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "git branch --all and git tag list names"
        hints = "; ".join(filter(None, [hint, self._fetch(ref)]))
        raise UsageError(f"{self.part} names no commit of the repository at {self.root}: {hints}")

    def _fetch(self, ref: str) -> str:
        """Return how to get a commit that this clone may lack; empty if it was to have all."""
        name, shallow = re.split(r"[~^@:]", ref)[0], git.is_shallow(self.root)
        if shallow and (git.HASH.fullmatch(name) or git.full_hash(self.root, name)):
            return "this clone is shallow: git fetch --unshallow gets the missing commits"
        for remote, whole in git.fetched(self.root).items():
            if whole and not shallow:
                continue
            branch = name.removeprefix(f"{remote}/")
            place = f":refs/remotes/{name}" if branch != name else f":{name}"
            words = ["git", "fetch", remote, name if git.HASH.fullmatch(name) else f"{branch}{place}"]
            return f"this clone lacks branches: {shlex.join(words)} gets one"
        return ""


@contextmanager
def worktree(repository: Repository, commit: str, cache: Path, listener: Listener) -> Iterator[Path]:
    """Check out a commit while the context lasts.

    The process that uses a worktree locks its folder. Unlike a process id, a lock cannot be confused with one
    of another container or machine.
    """
    worktrees = cache / WORKTREES
    lock = worktrees / ".lock"

    def remove() -> None:
        with hold(lock, cache):
            _remove(folder, listener)

    with ExitStack() as stack:
        # Git cannot add a worktree while it removes the last one.
        with hold(lock, cache):
            for old in worktrees.glob(f"{_PREFIX}*"):
                with suppress(OSError), locked(old, fcntl.LOCK_EX | fcntl.LOCK_NB):
                    _remove(old, listener)
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=worktrees))
            stack.enter_context(locked(folder, fcntl.LOCK_EX))
            stack.callback(remove)
            (folder / "repository").write_bytes(os.fsencode(repository.shared))
            # Git names its entry after the last part of the path, which must be unique as well.
            tree = folder / folder.name
            add = ("worktree", "add", "--quiet", "--detach", str(tree), commit)
            answer = _git(repository.root, *git.WITHOUT_LFS, "-c", f"checkout.workers={_WRITERS}", *add)
            if answer.returncode:
                raise UsageError(f"{repository.part} cannot be checked out: {git.reason(answer.stderr)}")
            _write_lfs(repository, tree, listener)
            _check_out_submodules(repository, commit, tree)
        yield tree


def _write_lfs(repository: Repository, tree: Path, listener: Listener) -> None:
    """Write the files of Git LFS whose content is on this machine; the others stay pointers to it."""
    missing = []
    for name in git.lfs_files(tree):
        if digest := _pointed(tree / name):
            content = repository.shared / "lfs" / "objects" / digest[:2] / digest[2:4] / digest
            if content.is_file():
                shutil.copyfile(content, tree / name)
            elif not _pointed(repository.top / name):  # else both sides read pointers
                missing.append(name)
    if missing:
        what = f"{repository.part} has files of Git LFS whose content is not here: {units.listed(missing, 1)}"
        listener.say(f"{what}; git lfs fetch --all gets it")


def _pointed(file: Path) -> str:
    """Return the digest in a pointer of Git LFS; empty if the file is none."""
    with suppress(OSError), file.open("rb") as content:
        if pointer := _POINTER.match(content.read(_LONGEST_POINTER)):
            return pointer[1].decode()
    return ""


def _check_out_submodules(repository: Repository, commit: str, tree: Path) -> None:
    """Write the files of the submodules that are on this machine."""
    for path, (place, at) in git.submodules(repository.root, commit).items():
        if git.full_hash(place, at) is None:
            raise UsageError(
                f"{repository.part} has commit {at[:10]} of the submodule {path}, which is not here: "
                f"git submodule update --init {path}, or git -C {path} fetch origin {at[:10]}"
            )
        (tree / path).mkdir(parents=True, exist_ok=True)
        words = (f"--git-dir={place}", f"--work-tree={tree / path}", "read-tree", "--reset", "-u", at)
        with tempfile.TemporaryDirectory() as index:
            variables = {**git.variables(), "GIT_INDEX_FILE": f"{index}/index"}
            answer = call(["git", *git.QUIET, *git.WITHOUT_LFS, *words], tree / path, variables)
        if answer.returncode:
            raise UsageError(
                f"{path} of {repository.part} cannot be checked out: {git.reason(answer.stderr)}"
            )


def _remove(folder: Path, listener: Listener) -> None:
    """Remove a worktree, its entry in the repository, and its folder, as far as they exist.

    `git worktree prune` would also remove the user's own worktrees on disks that are not mounted, and it
    keeps the locked entry of an interrupted checkout.
    """
    tree = str(folder / folder.name)
    try:
        with suppress(FileNotFoundError):
            shared = Path(os.fsdecode((folder / "repository").read_bytes()))
            if shared.is_dir():
                remove = ("worktree", "remove", "--force", "--force", tree)
                _git(folder, f"--git-dir={shared}", *remove)
                # The entry may be left if the checkout was interrupted early.
                shutil.rmtree(shared / "worktrees" / folder.name, ignore_errors=True)
                # Git removes the empty folder itself, except after a failed checkout.
                with suppress(OSError):
                    (shared / "worktrees").rmdir()
        shutil.rmtree(folder)
    except OSError as error:
        listener.say(f"{folder} cannot be removed ({error.strerror}); the next run tries again")


def _git(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    try:
        return call(["git", *git.QUIET, *arguments], folder, git.variables())
    except FileNotFoundError:
        raise UsageError("git is not installed: install it, or give path:DIR instead of git:REF") from None
