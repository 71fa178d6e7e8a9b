"""Repositories, wheels, and variants prepared from them in this process and in others."""

import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import psutil
import pytest

from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.process.variants.prepare import prepared
from gnnbench.engine.process.variants.variant import parse
from tests.runs import ROOT

ODD = "feature/ü;rm"

_WHO = ("-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false")
_HOLDER = """
import sys, time
from pathlib import Path
from types import SimpleNamespace
from gnnbench.engine.process.variants.prepare import prepared
from gnnbench.engine.process.variants.variant import parse

text, root, cache = sys.argv[1:]
show = lambda line: print(line, flush=True)
try:
    with prepared(parse(text), Path(root), SimpleNamespace(say=show, step=show), cache=Path(cache)) as made:
        print(made.trees[0], flush=True)
        time.sleep(60)
except KeyboardInterrupt:  # as the command does: what it unwinds is unwound before the interpreter ends
    pass
"""


class Preparer:
    def __init__(self, cache):
        self.cache = cache
        self.said = []

    def __call__(self, text, root, **options):
        return prepared(parse(text), root, self, cache=self.cache, **options)

    def say(self, text):
        self.said.append(text)

    step = say

    def fails(self, text, root, message, **options):
        with pytest.raises(UsageError, match=message) as caught, self(text, root, **options):
            pass
        assert len(str(caught.value).splitlines()) == 1

    def left(self):
        """Return what the cache's folder for worktrees holds."""
        return [path.name for path in (self.cache / "worktrees").iterdir()]


def without_settings(monkeypatch):
    """Leave out the user's settings of git and pip, and what is on the network."""
    for name in [name for name in os.environ if name.startswith(("GIT_", "PIP_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")


def git(folder, *arguments):
    return subprocess.run(
        ["git", "--no-optional-locks", *_WHO, *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


def commit(folder, version):
    (folder / "thing").mkdir(exist_ok=True)
    (folder / "thing" / "__init__.py").write_text(f"VERSION = {version}\n")
    commit_all(folder, f"version {version}")


def commit_all(folder, message="all"):
    """Commit all that lies in a folder, which becomes a repository with a branch `main` if it is none.

    Return the commit's hash.
    """
    if not (folder / ".git").exists():
        git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD")


def create(folder):
    """Make a repository: three commits, a tag on the first, a branch of an odd name at the second."""
    folder.mkdir()
    commit(folder, 1)
    git(folder, "tag", "v1")
    commit(folder, 2)
    git(folder, "branch", ODD)
    commit(folder, 3)
    return folder


def version(made):
    return int((made.trees[0] / "thing" / "__init__.py").read_text().split("=")[1])


def start(text, root, cache):
    return subprocess.Popen(
        [sys.executable, "-c", _HOLDER, text, str(root), str(cache)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def held_tree(process):
    """Return the tree that a process says it holds."""
    for line in process.stdout:
        if line.startswith("/"):
            return Path(line.strip())
    raise AssertionError("it ended before it held a tree")


def is_alive(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def wheel(folder, name, version, *, content=None, needs=()):
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    required = "".join(f"Requires-Dist: {need}\n" for need in needs)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{name}/__init__.py", content or f"VERSION = {version}\n")
        file.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}"
        )
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    return path
