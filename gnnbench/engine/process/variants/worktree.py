"""Checks out a commit of a git repository next to the user's working tree."""

import difflib
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ...ground import git, units
from ...ground.errors import UsageError
from ...ground.files import temporary_folder
from ...interfaces import Listener
from .command import call

WORKTREES = "worktrees"
"""Folder of the cache with all checkouts that are in use."""
_PREFIX = "gnnbench-"
_POINTER = re.compile(rb"version https://git-lfs\S*\noid sha256:([0-9a-f]{64})\n")
_LONGEST_POINTER = 1024
_NOT_SPARSE = "core.sparseCheckout=false"
"""Setting of git with which a checkout has all files of the commit."""
_ALL_REFS = "--tags origin '+refs/heads/*:refs/remotes/origin/*'"
"""Arguments of `git fetch` for all branches and tags."""
_WRITERS = 4
"""Number of git's processes that write files: most disks are faster with several."""


@dataclass(frozen=True)
class Repository:
    """The git repository that contains a folder."""

    root: Path
    """The folder."""
    top: Path
    """The top folder of the repository."""
    part: str
    """The part of the variant that names the repository or its commit, for messages."""

    @property
    def prefix(self) -> Path:
        """The folder relative to the top folder of the repository."""
        return self.root.relative_to(self.top)

    @classmethod
    def at(cls, root: Path, part: str) -> "Repository":
        """Return the repository that contains a folder; `part` is for messages."""
        if reason := git.why_no_repository(root):
            raise UsageError(
                f"{part} needs a git repository at {root}: {reason}; for a folder without git, give path:DIR"
            )
        return cls(root, git.top(root), part)

    def commit(self, ref: str) -> str:
        """Return the full hash of a commit, given any of its names."""
        if commit := git.full_hash(self.root, ref):
            return commit
        names = git.refs(self.root)
        endings = [name for name in names if name.endswith(f"/{ref}")]
        similar = endings or difflib.get_close_matches(ref, names)
        hint = f"did you mean {' or '.join(similar)}?" if similar else "see git branch --all and git tag"
        shallow = git.is_shallow(self.root)
        if shallow or not git.fetches_all(self.root):
            hint += f"; this clone lacks commits: git fetch {'--unshallow ' * shallow}{_ALL_REFS} gets them"
        raise UsageError(f"{self.part} names no commit of the repository at {self.root}: {hint}")


@contextmanager
def worktree(repository: Repository, commit: str, cache: Path, listener: Listener) -> Iterator[Path]:
    """Yield a folder with the files of a commit and its submodules; the repository does not change."""
    worktrees = cache / WORKTREES
    worktrees.mkdir(parents=True, exist_ok=True)
    with temporary_folder(worktrees, _PREFIX) as tree:
        check_out(repository, commit, tree, listener)
        _repair_links(repository, tree)
        yield tree


def check_out(repository: Repository, commit: str, tree: Path, listener: Listener) -> None:
    """Write the files of a commit and of its submodules into the folder `tree`."""
    shared = git.shared(repository.root)
    names = _write_files(shared, commit, tree, repository.part)
    _write_lfs(shared / "lfs" / "objects", tree, names, repository.part, listener)
    for path, (submodule, oid) in git.submodules(repository.root, commit).items():
        if git.full_hash(submodule, oid) is None:
            raise UsageError(
                f"{repository.part} needs commit {oid[:10]} of the submodule {path}, which this clone lacks: "
                f"run git submodule update --init {path}, or git -C {path} fetch origin {oid[:10]}"
            )
        _write_files(submodule, oid, tree / path, f"{path} of {repository.part}")


def _repair_links(repository: Repository, tree: Path) -> None:
    """Make relative links that leave a checkout lead to the same files as in the user's working tree."""
    for link in filter(Path.is_symlink, tree.rglob("*")):
        path = link.relative_to(tree).parent / link.readlink()
        target = Path(os.path.normpath(repository.top / path))
        if not Path(os.path.normpath(tree / path)).is_relative_to(tree) and target.exists():
            link.unlink()
            link.symlink_to(target)


def _write_files(repository: Path, commit: str, tree: Path, part: str) -> list[str]:
    """Write the files of a commit of the `.git` folder, and return the names of those that Git LFS stores."""
    tree.mkdir(parents=True, exist_ok=True)
    options = (*git.QUIET, *git.WITHOUT_LFS, "-c", f"checkout.workers={_WRITERS}", "-c", _NOT_SPARSE)
    command = ("git", *options, f"--git-dir={repository}", f"--work-tree={tree}")
    with tempfile.TemporaryDirectory() as index:
        variables = {**git.variables(), "GIT_INDEX_FILE": f"{index}/index"}
        answer = call([*command, "read-tree", "--reset", "-u", commit], tree, variables)
        if answer.returncode:
            raise UsageError(f"{part} cannot be checked out: {git.reason(answer.stderr)}")
        listing = call([*command, "ls-files", "-z", ":(attr:filter=lfs)"], tree, variables)
        return listing.stdout.split("\0")[:-1]


def _write_lfs(objects: Path, tree: Path, names: Iterable[str], part: str, listener: Listener) -> None:
    """Write the files of Git LFS whose content is in `objects`; the others stay pointer files."""
    missing = []
    for name in filter(lambda name: (tree / name).is_file(), names):
        with (tree / name).open("rb") as file:
            pointer = _POINTER.match(file.read(_LONGEST_POINTER))
        if pointer:
            digest = pointer[1].decode()
            content = objects / digest[:2] / digest[2:4] / digest
            if content.is_file():
                shutil.copyfile(content, tree / name)
            else:
                missing.append(name)
    if missing:
        note = f"{part} has files of Git LFS whose content is missing: {units.listed(missing, 1)}"
        listener.say(f"{note}; git lfs fetch --all gets it")
