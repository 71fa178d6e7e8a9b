"""Builds: checkouts in which a shell command of the user has run, and which stay in the cache.

Each build has a virtual environment of its own, into which the command installs. The command also finds the
packages of the current environment.
"""

import errno
import hashlib
import importlib.metadata
import os
import re
import shlex
import shutil
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ...ground import git
from ...ground.environment import TRANSIENT
from ...ground.errors import UsageError, one_line
from ...interfaces import Listener
from ...measure.fingerprint.disassembly import set_traps
from ...measure.fingerprint.libraries import BUILDS
from .command import call
from .redirects import import_roots
from .stored import stored
from .variant import Prepared
from .worktree import Repository, check_out

MOST_BYTES = 10 * 2**30
"""Largest size of all builds together; builds in use are never removed."""
_TREE, _ENVIRONMENT = "tree", "environment"
"""The folders of a build."""
_FREE_BYTES = 2**26
"""If a build fails with less free space than this, the full disk is the reason."""
_PARENT = "_gnnbench.pth"
"""File of a build's environment with the folders of the current environment's packages."""
_COMPILERS = {"CC": "cc", "CXX": "c++", "CUDACXX": "nvcc", "RUSTC": "rustc", "FC": "gfortran"}
"""Default compilers, by the environment variable that may name another compiler."""
_UNREAD = re.compile(rf"(GNNBENCH|GOMP|KMP|MKL|NUMBA|OMP|OPENBLAS)_|({TRANSIENT.pattern})$")
"""Environment variables that no build reads."""
_ELSEWHERE = ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_PYTHON")
"""Environment variables by which a command would install into other folders, or import from them."""
_DEFAULTS = {
    "SOURCE_DATE_EPOCH": "315532800",  # the earliest date that wheels can have
    "SKBUILD_INSTALL_STRIP": "false",
    "CARGO_PROFILE_RELEASE_STRIP": "none",
    "WITH_SYMBOLS": "1",  # of PyG's libraries
    "NVCC_PREPEND_FLAGS": "--no-compress",
}
"""Environment variables of builds, unless the user sets them: all files get one date, and libraries keep
their symbols, so that two builds can be compared."""
_LINES = 3
"""Largest number of lines of a failed command's output in the message."""
_ERROR = re.compile(r"\b(fatal |\w*)error\b(?!s?\.[ch])", re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """What is built: a commit, perhaps with files of the working tree."""

    repository: Repository
    commit: str
    name: str
    """What messages call the source."""
    changed: Collection[str] = ()
    """Files of the working tree that differ from the commit, relative to the top folder."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that the variant sets."""

    def key(self, command: str) -> str:
        """Return the name of a build's folder: a hash of everything that determines the build's content."""
        changed = [(name, _digest(self.repository.top / name)) for name in sorted(self.changed)]
        tree = git.tree(self.repository.root, self.commit)
        environment = {**os.environ, **self.variables}
        variables = sorted(item for item in environment.items() if not _UNREAD.match(item[0]))
        tools = (sys.version, sys.prefix, *_installed(), *_compilers(environment))
        inputs = (command, str(self.repository.prefix), tree, changed, variables, tools)
        return hashlib.sha256(repr(inputs).encode("utf-8", "surrogateescape")).hexdigest()[:24]


@contextmanager
def built(
    source: Source, command: str, cache: Path, listener: Listener
) -> Iterator[tuple[Path, tuple[Path, ...]]]:
    """Yield a checkout, without `.git`, in which a shell command has run in the project's folder.

    The second value has all other folders that contain packages which the command has built.

    Raises:
        UsageError: the commit cannot be checked out, or the command fails.
        OSError: the cache is full.
    """
    folder = cache / BUILDS / source.key(command)
    fill = partial(_fill, source, command, listener, folder)
    with stored(folder, MOST_BYTES, fill, listener, f"built {source.name}"):
        yield folder / _TREE, _roots(folder / _ENVIRONMENT)


@contextmanager
def trapped(side: Prepared, functions: Mapping[str, Collection[str]]) -> Iterator[Prepared]:
    """Yield a side with copies of its builds, in which each of `functions` ends the process that calls it.

    `functions`: names of compiled functions, by file name of their library, see `disassembly`.
    """
    builds = [
        build for redirect in side.redirects if (build := Path(redirect.tree).parent).parent.name == BUILDS
    ]
    with ExitStack() as stack:
        copies = {
            build: Path(stack.enter_context(tempfile.TemporaryDirectory(dir=build))) for build in builds
        }
        for build, folder in copies.items():
            for name in (_TREE, _ENVIRONMENT):
                shutil.copytree(build / name, folder / name, symlinks=True, copy_function=os.link)
            for library, names in functions.items():
                for file in folder.rglob(library):
                    set_traps(file, names)

        def in_copy(path: Path) -> Path:
            build = next((build for build in builds if path.is_relative_to(build)), None)
            return path if build is None else copies[build] / path.relative_to(build)

        trees, redirects = tuple(map(in_copy, side.trees)), tuple(map(copy, side.redirects))
        for redirect in redirects:
            redirect.tree = str(in_copy(Path(redirect.tree)))
        yield replace(side, trees=trees, redirects=redirects)


def _fill(source: Source, command: str, listener: Listener, folder: Path) -> None:
    listener.step(f"building {source.name}: {command}")
    repository, tree = source.repository, folder / _TREE
    clone = ("clone", "--quiet", "--shared", "--no-checkout", "--template=", "--")
    _git(repository.part, folder, *clone, str(git.shared(repository.root)), str(tree))
    check_out(repository, source.commit, tree, listener)
    _git(repository.part, tree, "reset", "--quiet", source.commit)  # a build may ask git for the version
    for name in source.changed:
        _copy(repository.top / name, tree / name)
    project = tree / repository.prefix
    if project.is_dir():  # otherwise `prepare` raises an error
        _run(command, project, source.name, _environment(folder / _ENVIRONMENT, source))
        _complete(project, folder / _ENVIRONMENT)
    shutil.rmtree(tree / ".git")


def _git(part: str, folder: Path, *arguments: str) -> None:
    """Run git in a folder; `part` is what an error calls the build."""
    answer = call(["git", *git.QUIET, *arguments], folder, git.variables())
    if answer.returncode:
        raise UsageError(f"{part} cannot be built: {git.reason(answer.stderr)}")


def _copy(file: Path, target: Path) -> None:
    """Copy a file to `target`, or remove `target` if the file does not exist."""
    target.unlink(missing_ok=True)
    if os.path.lexists(file):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target, follow_symlinks=False)


def _environment(folder: Path, source: Source) -> dict[str, str]:
    """Make a virtual environment; return the environment variables of a command that installs into it."""
    venv.EnvBuilder(symlinks=True).create(folder)
    # Builds that pip isolates do not see these folders, because only a .pth file lists them.
    top = source.repository.top
    folders = [path for path in sys.path if _is_installed(path) and not Path(path).is_relative_to(top)]
    (_site(folder) / _PARENT).write_text("\n".join(folders))
    pip = folder / "bin" / "pip"
    pip.write_text(f'#!/bin/sh\nexec {shlex.quote(str(folder))}/bin/python -m pip "$@"\n')
    pip.chmod(0o755)
    variables = {**git.variables(), **source.variables}
    for name in _ELSEWHERE:
        variables.pop(name, None)
    paths = [str(folder / "bin"), str(Path(sys.executable).parent), variables.get("PATH", os.defpath)]
    return {**_DEFAULTS, **variables, "VIRTUAL_ENV": str(folder), "PATH": os.pathsep.join(paths)}


def _is_installed(folder: str) -> bool:
    """Whether a folder of `sys.path` exists and does not belong to Python's standard library."""
    library = sysconfig.get_path("stdlib")
    is_standard = Path(folder).is_relative_to(library) and not folder.endswith("-packages")
    return os.path.isdir(folder) and not is_standard  # noqa: PTH112


def _site(environment: Path) -> Path:
    """Return the folder in which an environment has its packages."""
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(environment)}))


def _complete(folder: Path, environment: Path) -> None:
    """Link installed files that a checkout lacks, such as compiled modules, into the checkout's packages."""
    for distribution in importlib.metadata.distributions(path=[str(_site(environment))]):
        for file in distribution.files or ():
            for root in import_roots(folder):
                link = root / file
                if ".." not in file.parts and (root / file.parts[0]).is_dir() and not link.exists():
                    link.parent.mkdir(parents=True, exist_ok=True)
                    os.link(str(file.locate()), link)


def _roots(environment: Path) -> tuple[Path, ...]:
    """Return the folders of an environment from which packages are imported."""
    site = _site(environment)
    lines = [
        line for file in site.glob("*.pth") if file.name != _PARENT for line in file.read_text().split("\n")
    ]
    return (*(Path(line) for line in lines if line.startswith(os.sep) and Path(line).is_dir()), site)


def _run(command: str, folder: Path, name: str, environment: Mapping[str, str]) -> None:
    """Run a build's command; `name` is what an error calls the build."""
    answer = call(["sh", "-c", f"exec 2>&1\n{command}"], folder, environment)
    if answer.returncode:
        if shutil.disk_usage(folder).free < _FREE_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
        lines = [*filter(None, map(str.strip, answer.stdout.splitlines()))]
        errors = list(dict.fromkeys(filter(_ERROR.search, lines)))[:_LINES]
        reason = "; ".join(map(one_line, errors or lines[-_LINES:])) or f"exit status {answer.returncode}"
        raise UsageError(f"{name} cannot be built: {shlex.quote(command)}: {reason}")


def _digest(file: Path) -> str:
    """Return a hash of a file's content, or the target of a symbolic link. Empty if there is no file."""
    if file.is_symlink():
        return str(file.readlink())
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def _compilers(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return what the compilers that a build may use print about their versions."""
    names = [shlex.split(environment.get(variable, default)) for variable, default in _COMPILERS.items()]
    commands = [words for words in names if words and shutil.which(words[0], path=environment.get("PATH"))]
    return tuple(call([*words, "--version"], Path.cwd(), environment).stdout for words in commands)


def _installed() -> list[str]:
    """Return the names and versions of all installed packages, as the names of their metadata folders."""
    folders = filter(_is_installed, sys.path)
    return sorted(info.name for folder in folders for info in Path(folder).glob("*-info"))
