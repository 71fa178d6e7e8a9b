"""Asks git about folders, and changes nothing."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .errors import one_line

QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "submodule.recurse=false")
"""Options that prevent git from starting other programs."""

WITHOUT_LFS = ("-c", "filter.lfs.smudge=", "-c", "filter.lfs.process=", "-c", "filter.lfs.required=false")
"""Options with which git writes Git LFS pointers in place of the files, and downloads nothing."""
_NO_REPOSITORY = "not a git repository"
# Git sets these variables for a hook, where they name the hook's repository.
_FOREIGN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX")
_SETTINGS = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


@dataclass(frozen=True)
class Commit:
    """A commit of a history."""

    hash: str
    """The full hash."""
    day: str
    """Date of the commit, such as `2026-01-31`."""
    title: str
    """Its subject line."""
    parents: str
    """The full hashes of its parents, separated by spaces."""


def variables() -> dict[str, str]:
    """Return the environment variables to run git with."""
    inherited = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    return {**inherited, **_SETTINGS}


def why_no_repository(folder: Path) -> str:
    """Return why git finds no repository of a folder, or refuses to read it. Empty if git reads it."""
    try:
        answer = _run(folder, "rev-parse", "--git-dir")
    except OSError:
        return f"{_NO_REPOSITORY}: git is not installed"
    return reason(answer.stderr) if answer.returncode else ""


def refusal(folder: Path) -> str:
    """Return why git refuses to read the repository of a folder. Empty if git reads it or finds none."""
    reason = why_no_repository(folder)
    return "" if reason.startswith(_NO_REPOSITORY) else reason


def why_no_commit(folder: Path) -> str:
    """Return why git finds no commit in a folder, with a remedy. Empty if it finds one."""
    return why_no_repository(folder) or ("" if full_hash(folder) else "the repository has no commit yet")


def reason(errors: str) -> str:
    """Return git's first error message and the command that git advises, as one printable line."""
    lines = [line.strip() for line in errors.splitlines()]
    messages = [line for line in lines if line and not line.startswith(("warning:", "hint:"))]
    advice = [line for line in messages[1:] if line.startswith("git config ")]
    return one_line("; ".join([*messages[:1], *advice[:1]])).removeprefix("fatal: ").removeprefix("error: ")


def changed_files(folder: Path) -> int:
    """Return how many tracked files of the folder's repository differ from the commit."""
    return len(_ask(folder, "status", "--porcelain", "--untracked-files=no").splitlines())


def state(folder: Path) -> tuple[str | None, bool]:
    """Return the commit of a folder, or None, and whether tracked files differ from it."""
    head = full_hash(folder)
    return head, bool(head and changed_files(folder))


def top(folder: Path) -> Path:
    """Return the top folder of a folder's repository; without a repository, the folder itself."""
    return Path(_ask(folder, "rev-parse", "--show-toplevel").removesuffix("\n") or folder)


def shared(folder: Path) -> Path:
    """Return the `.git` folder of a folder's repository, which all of its worktrees share."""
    return (folder / _ask(folder, "rev-parse", "--git-common-dir").removesuffix("\n")).resolve()


def tracked(folder: Path) -> frozenset[str]:
    """Return the names of the files and folders directly in a folder, according to the commit.

    Empty for a package that is installed inside a repository, as git does not track it.
    """
    return frozenset(_ask(folder, "ls-tree", "-z", "--name-only", "HEAD").split("\0")[:-1])


def tracked_files(folder: Path) -> frozenset[str]:
    """Return the names of all files that git tracks in a folder, including staged ones and submodules'."""
    return frozenset(_ask(folder, "ls-files", "-z", "--recurse-submodules").split("\0")[:-1])


def files_of(folder: Path, commit: str) -> frozenset[str]:
    """Return the names of all files of a commit, excluding those of submodules."""
    entries = _entries(folder, commit)
    return frozenset(name for name, (kind, _) in entries.items() if kind == "blob")


def ignored(folder: Path) -> list[str]:
    """Return the names of the files and folders that git ignores in a folder; folders end with a slash."""
    listing = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    return _ask(folder, *listing).split("\0")[:-1]


def tree(folder: Path, commit: str) -> str:
    """Return the hash of a commit's tree, which depends on all of its files."""
    return _ask(folder, "rev-parse", f"{commit}^{{tree}}").strip()


def changes(folder: Path) -> frozenset[str]:
    """Return the paths of untracked and changed files, also in submodules, relative to the top.

    The paths include all files that git does not check for changes, see `git update-index`.
    """
    listing = ("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames")
    names = {line[3:] for line in _ask(folder, *listing).split("\0")[:-1]}
    lines = _ask(folder, "ls-files", "-v", "-z").split("\0")[:-1]
    # A small letter stands for --assume-unchanged, S for --skip-worktree.
    unchecked = (line[2:] for line in lines if line[0].islower() or line[0] == "S")
    names |= {name for name in unchecked if (folder / name).exists()}
    folders = {name for name in names if (folder / name).is_dir()}
    for name in folders:
        path = folder / name
        files = () if name.endswith("/") else tracked_files(path) | changes(path)
        names |= {f"{name}/{file}" for file in files}
    return frozenset(names - folders)


def submodules(folder: Path, commit: str) -> dict[str, tuple[Path, str]]:
    """Return the repository and the commit of each submodule of a commit, by its path from the top.

    Submodules that are not on this machine are left out.
    """
    pinned = {name: hash_ for name, (kind, hash_) in _entries(folder, commit).items() if kind == "commit"}
    if not pinned:
        return {}
    settings = _ask(folder, "config", "-z", "--blob", f"{commit}:.gitmodules", "--get-regexp", r"\.path$")
    names = {
        path: key.removeprefix("submodule.").removesuffix(".path")
        for key, _, path in (line.partition("\n") for line in settings.split("\0")[:-1])
    }
    modules = shared(folder) / "modules"
    repositories = {}
    for path, hash_ in pinned.items():
        candidates = (modules / names.get(path, path), folder / path / ".git")
        if repository := next(filter(Path.is_dir, candidates), None):
            repositories[path] = repository, hash_
            nested = submodules(repository, hash_)
            repositories |= {f"{path}/{name}": row for name, row in nested.items()}
    return repositories


def _entries(folder: Path, commit: str) -> dict[str, tuple[str, str]]:
    """Return the kind and hash of each entry of a commit, by name."""
    lines = _ask(folder, "ls-tree", "-r", "-z", "--full-tree", commit).split("\0")[:-1]
    rows = (line.partition("\t") for line in lines)
    return {name: (details.split()[1], details.split()[2]) for details, _, name in rows}


def full_hash(folder: Path, name: str = "HEAD") -> str | None:
    """Return the full hash of a commit, by default the one checked out. None if there is no such commit."""
    answer = _ask(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return answer.strip() if re.fullmatch(r"[0-9a-f]{40,64}\n", answer) else None


def is_shallow(folder: Path) -> bool:
    """Return whether the history of a folder's repository is cut off."""
    return _ask(folder, "rev-parse", "--is-shallow-repository").strip() == "true"


def fetches_all(folder: Path) -> bool:
    """Return whether `git fetch` gets all branches of the remote repository, if there is one."""
    refspec = _ask(folder, "config", "remote.origin.fetch")
    return not refspec or "*" in refspec


def merge_base(folder: Path, first: str, second: str) -> str | None:
    """Return the newest commit in the history of both commits. Returns None if there is none."""
    return _ask(folder, "merge-base", first, second).strip() or None


def content(folder: Path, commit: str, path: Path) -> str:
    """Return the text of a file in a commit; the path is relative to the folder. Empty if there is none."""
    return _ask(folder, "show", f"{commit}:./{path.as_posix()}")


def commits_between(folder: Path, old: str, new: str) -> list[Commit]:
    """Return the commits that lead from `old` to its descendant `new`, oldest first, without `old`.

    Of a merge, the first parent that is `old` or descends from it is followed. Both are full hashes.
    """
    descendants = {commit.hash: commit for commit in commits(folder, "--ancestry-path", f"{old}..{new}")}
    backwards = []
    while commit := descendants.get(new):
        backwards.append(commit)
        new = next(parent for parent in commit.parents.split() if parent == old or parent in descendants)
    return backwards[::-1]


def commits(folder: Path, *revisions: str) -> list[Commit]:
    """Return the commits that `git log` lists, the newest first."""
    log = ("-c", "log.showSignature=false", "log", "-z", "--format=%H%x00%cs%x00%s%x00%P")
    words = _ask(folder, *log, *revisions).split("\0")
    return [Commit(*fields) for fields in zip(*[iter(words)] * 4, strict=False)]


def last_before(folder: Path, ref: str, day: str) -> str | None:
    """Return the last first-parent ancestor of `ref` before a day begins (UTC). None if there is none."""
    until = f"--until={day}T00:00:00Z"
    return _ask(folder, "rev-list", "-1", "--first-parent", until, ref).strip() or None


def refs(folder: Path, kind: str = "refs") -> list[str]:
    """Return the short names of a repository's refs, such as `main`; only those of tags for `refs/tags`."""
    return _ask(folder, "for-each-ref", "--format=%(refname:lstrip=2)", kind).splitlines()


def _ask(folder: Path, *arguments: str) -> str:
    """Return git's output. Empty if git fails or is not installed."""
    try:
        answer = _run(folder, *arguments)
    except OSError:
        return ""
    return "" if answer.returncode else answer.stdout


def _run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = ("git", *QUIET, *arguments)
    return subprocess.run(  # noqa: S603
        command,
        cwd=folder,
        env=variables(),
        check=False,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
        errors="surrogateescape",
    )
