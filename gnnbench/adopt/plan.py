"""The files that `gnnbench init` writes into a repository."""

import importlib.metadata
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from .. import git
from ..errors import UsageError
from . import written_benchmark
from .models import Model
from .repository import Repository

_FOLDER = PurePath("benchmarks")
_WORKFLOW = PurePath(".github/workflows/benchmarks.yml")
_IGNORED = PurePath(".gitignore")
_IGNORE = (".benchmarks/", "/ab.json", "/report.html")
UNKNOWN_ACTION = "OWNER/gnnbench@COMMIT"
"""Stands for gnnbench's repository where nothing says which it is."""

_SETTINGS = """\
# gnnbench's settings; docs/settings.md of gnnbench has all keys. Written by gnnbench init.
effect = "3%"          # smaller changes do not matter
layouts = "sample"     # move inputs in memory, because times depend on their place

[ab]
total_budget = 900     # at most so many seconds for all benchmarks; budget is for each, 60 by default
"""
_WORKFLOW_TEXT = """\
# Does a pull request make the benchmarks slower? Written by gnnbench init.
# docs/action.md of gnnbench has all inputs: budget, fail-on, shards, ...
name: benchmarks

on:
  pull_request:

permissions: {{}}

concurrency:
  group: benchmarks-${{{{ github.event.pull_request.number }}}}
  cancel-in-progress: true

jobs:
  gnnbench:
    permissions:
      contents: read # checkout
      pull-requests: write # the comment; the job that writes it runs no code of the pull request
    uses: {workflow}{to_do}
    with:
      python: "{python}"
      install: {install}
      arguments: {arguments}
"""


@dataclass(frozen=True)
class Written:
    """A file to write."""

    path: PurePath
    """From the top of the repository."""
    text: str
    """Its content; of lines to append, these."""
    appended: bool = False
    """Whether the text is added to the end of a file that exists."""


@dataclass(frozen=True)
class Plan:
    """What `gnnbench init` does in a repository."""

    repository: Repository
    model: Model | None
    """Of which a benchmark is written; None: the repository has benchmarks."""
    files: tuple[Written, ...]
    kept: tuple[PurePath, ...]
    """Files that exist and therefore are not written."""
    action: str
    """gnnbench's repository and commit."""

    @property
    def suite(self) -> tuple[str, ...]:
        """The paths of the benchmarks."""
        return (str(_FOLDER),) if self.model else tuple(self.repository.suite)

    @property
    def first(self) -> str:
        """What pytest runs once: the file that is written, or the first benchmark that exists."""
        if self.model:
            return str(_FOLDER / written_benchmark.file_name(self.model))
        return self.repository.benchmarks[0]

    @property
    def benchmark(self) -> Written | None:
        """The benchmark that is written; None: none is."""
        return next((one for one in self.files if self.model and str(one.path) == self.first), None)

    def to_do(self) -> str:
        """Return what the workflow that lies in the repository now still lacks; empty: nothing."""
        file = self.repository.folder / _WORKFLOW
        text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        if f"uses: {UNKNOWN_ACTION.partition('@')[0]}/" not in text and "@COMMIT" not in text:
            return ""
        names = UNKNOWN_ACTION.replace("@", " and ")
        return f"in {_WORKFLOW}, replace {names} by gnnbench's repository and commit on GitHub"

    @property
    def runs_with_tests(self) -> bool:
        """Whether pytest without arguments runs the benchmark that is written, beside tests."""
        return self.benchmark is not None and not self.repository.has_testpaths


def make(repository: Repository, model: Model | None, action: str | None, *, settings: bool) -> Plan:
    """Return what to write; files that exist are kept.

    Args:
        repository: to write into.
        model: to write a benchmark of; None: the repository has benchmarks.
        action: gnnbench's repository and commit, `OWNER/NAME@REF`; None: those that this gnnbench comes from.
        settings: whether to write settings: the repository has none.

    Raises:
        UsageError: a benchmark of the model would overwrite a file, or the action has another form.
    """
    if action and not re.fullmatch(r"[\w.-]+/[\w.-]+@[\w./-]+", action, re.ASCII):
        raise UsageError(f"--action {action!r} must be OWNER/NAME@REF, as in {UNKNOWN_ACTION}")
    source = action or action_source() or UNKNOWN_ACTION
    wanted = list(_wanted(repository, model, source, settings=settings))
    kept = tuple(one.path for one in wanted if not one.appended and _exists(repository.folder / one.path))
    plan = Plan(repository, model, tuple(one for one in wanted if one.path not in kept), kept, source)
    if model and plan.benchmark is None:
        raise UsageError(f"{plan.first} exists and is not overwritten; rename it, or give another --model")
    return plan


def _wanted(repository: Repository, model: Model | None, action: str, *, settings: bool) -> Iterator[Written]:
    suite = [str(_FOLDER)] if model else list(repository.suite)
    if model:
        name = written_benchmark.file_name(model)
        yield Written(_FOLDER / name, written_benchmark.write(model))
        below = "".join(f" / {json.dumps(part)}" for part in repository.root.parts)
        yield Written(_FOLDER / "conftest.py", written_benchmark.CONFTEST.format(below=below))
    if settings:
        yield Written(PurePath("gnnbench.toml"), _SETTINGS)
    owner, _, commit = action.partition("@")
    text = _WORKFLOW_TEXT.format(
        workflow=f"{owner}/.github/workflows/compare.yml@{commit}",
        to_do=" # TODO: gnnbench's repository and commit on GitHub" if action == UNKNOWN_ACTION else "",
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        install=json.dumps(repository.install or "python -m pip install pytest-benchmark"),
        arguments=json.dumps(" ".join(suite)),
    )
    yield Written(_WORKFLOW, text)
    file = repository.folder / _IGNORED
    before = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
    if lines := [line for line in _IGNORE if line not in before.splitlines()]:
        start = "\n" if before and not before.endswith("\n") else ""
        yield Written(_IGNORED, start + "".join(f"{line}\n" for line in lines), appended=True)


def action_source() -> str | None:
    """Return gnnbench's repository on GitHub and its commit, `OWNER/NAME@HASH`; None: nothing says it.

    They are those of the clone that it runs from, or those that pip installed it from.
    """
    folder = Path(__file__).parents[2]
    if (folder / ".git").exists():
        address, commit = git.web_address(folder), git.commit(folder)
    else:
        address, commit = _installed_from()
    found = re.fullmatch(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?", address or "", re.ASCII)
    return f"{found[1]}@{commit}" if found and commit else None


def _installed_from() -> tuple[str | None, str | None]:
    try:
        text = importlib.metadata.distribution("gnnbench").read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        return None, None
    direct = json.loads(text or "{}")
    return direct.get("url"), direct.get("vcs_info", {}).get("commit_id")


def _exists(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def write(plan: Plan) -> None:
    """Write the files; none that exists is overwritten.

    Raises:
        UsageError: a file cannot be written, or exists by now.
    """
    for one in plan.files:
        path = plan.repository.folder / one.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a" if one.appended else "x", encoding="utf-8") as file:
                file.write(one.text)
        except OSError as error:
            raise UsageError(f"{one.path} cannot be written ({error.strerror})") from None
