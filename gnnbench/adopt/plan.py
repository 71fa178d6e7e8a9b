"""The files that `gnnbench init` writes into a repository."""

import importlib.metadata
import json
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath

from .. import git
from ..errors import UsageError
from . import written_benchmark
from .models import Model
from .repository import Project

_FOLDER = PurePath("benchmarks")
_WORKFLOW = PurePath(".github/workflows/benchmarks.yml")
IGNORED = PurePath(".gitignore")
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
class Adoption:
    """What `gnnbench init` does in a repository."""

    repository: Project
    model: Model | None
    """Of which a benchmark is written; None: the repository has benchmarks."""
    files: Mapping[PurePath, str]
    """What is written, by the path from the top of the repository; of IGNORED, the lines that are added."""
    kept: tuple[PurePath, ...]
    """Files that exist and therefore are not written."""

    @property
    def suite(self) -> tuple[str, ...]:
        """The paths of the benchmarks."""
        return (str(_FOLDER),) if self.model else tuple(self.repository.suite)

    @property
    def first(self) -> str:
        """What pytest runs once: the file that is written, or the first benchmark that exists."""
        return str(_benchmark(self.model)) if self.model else self.repository.benchmarks[0]

    @property
    def left(self) -> str:
        """What the owner must give before the benchmark that is written runs; empty: nothing."""
        names = written_benchmark.left(self.model) if self.model else []
        if not names:
            return ""
        lines = self.files[PurePath(self.first)].splitlines()
        line = next(number for number, text in enumerate(lines, 1) if written_benchmark.LEFT in text)
        return f"{self.first}:{line}: give {', '.join(names)} where {written_benchmark.LEFT} stands"

    def to_do(self) -> str:
        """Return what the workflow that lies in the repository now still lacks; empty: nothing."""
        text = _text(self.repository.folder / _WORKFLOW)
        if f"uses: {UNKNOWN_ACTION.partition('@')[0]}/" not in text and "@COMMIT" not in text:
            return ""
        names = UNKNOWN_ACTION.replace("@", " and ")
        return f"in {_WORKFLOW}, replace {names} by gnnbench's repository and commit on GitHub"


def make(repository: Project, model: Model | None, action: str | None, *, settings: bool) -> Adoption:
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
    wanted = {}
    if model:
        wanted[_benchmark(model)] = written_benchmark.write(model)
        below = "".join(f" / {json.dumps(part)}" for part in repository.root.parts)
        wanted[_FOLDER / "conftest.py"] = written_benchmark.CONFTEST.format(below=below)
    if settings:
        wanted[PurePath("gnnbench.toml")] = _SETTINGS
    source = action or action_source() or UNKNOWN_ACTION
    owner, _, commit = source.partition("@")
    wanted[_WORKFLOW] = _WORKFLOW_TEXT.format(
        workflow=f"{owner}/.github/workflows/compare.yml@{commit}",
        to_do=" # TODO: gnnbench's repository and commit on GitHub" if source == UNKNOWN_ACTION else "",
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        install=json.dumps(repository.install or "python -m pip install pytest-benchmark"),
        arguments=json.dumps(" ".join([str(_FOLDER)] if model else repository.suite)),
    )
    kept = tuple(path for path in wanted if os.path.lexists(repository.folder / path))
    if model and _benchmark(model) in kept:
        raise UsageError(
            f"{_benchmark(model)} exists and is not overwritten; rename it, or give another --model"
        )
    files = {path: text for path, text in wanted.items() if path not in kept}
    before = _text(repository.folder / IGNORED)
    if lines := [line for line in _IGNORE if line not in before.splitlines()]:
        start = "\n" if before and not before.endswith("\n") else ""
        files[IGNORED] = start + "".join(f"{line}\n" for line in lines)
    return Adoption(repository, model, files, kept)


def _benchmark(model: Model) -> PurePath:
    return _FOLDER / written_benchmark.file_name(model)


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""


def action_source() -> str | None:
    """Return gnnbench's repository on GitHub and its commit, `OWNER/NAME@HASH`; None: nothing says it.

    They are those of the clone that it runs from, or those that pip installed it from.
    """
    folder = Path(__file__).parents[2]
    if (folder / ".git").exists():
        address, commit = git.web_address(folder), git.commit(folder)
    else:
        text = None
        with suppress(importlib.metadata.PackageNotFoundError):
            text = importlib.metadata.distribution("gnnbench").read_text("direct_url.json")
        direct = json.loads(text or "{}")
        address, commit = direct.get("url"), direct.get("vcs_info", {}).get("commit_id")
    found = re.fullmatch(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?", address or "", re.ASCII)
    return f"{found[1]}@{commit}" if found and commit else None


def write(plan: Adoption) -> None:
    """Write the files; none that exists is overwritten.

    Raises:
        UsageError: a file cannot be written, or exists by now.
    """
    for name, text in plan.files.items():
        path = plan.repository.folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a" if name == IGNORED else "x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise UsageError(f"{name} cannot be written ({error.strerror})") from None
