"""The files that `gnnbench init` writes into a repository."""

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from ..ground.errors import UsageError

_FOLDER = PurePath("benchmarks")
BENCHMARK = _FOLDER / "test_model.py"
_WORKFLOW = PurePath(".github/workflows/benchmarks.yml")
IGNORED = PurePath(".gitignore")
_IGNORE = (".benchmarks/", "/ab.json", "/report.html")
UNKNOWN_ACTION = "OWNER/gnnbench@COMMIT"
"""Stands for gnnbench's repository where nothing says which it is."""
_FEW = 3
"""Up to so many files of benchmarks are named one by one."""
_NO_PACKAGES = ("tests", "test", "testing", "benchmarks", "docs")

_BENCHMARK_TEXT = '''\
"""A model on a random graph with as many nodes and edges as Cora.

gnnbench init wrote this file: write your model where ... stands, check the sizes, and change what you like.
"""

import pytest
import torch

NODES = 2_708
EDGES = 10_556
FEATURES = 64
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture
def model():
    torch.manual_seed(0)
    return ...  # your model, as in GAT(FEATURES, 16).to(DEVICE)


@pytest.fixture
def inputs():
    random = torch.Generator().manual_seed(0)
    x = torch.randn(NODES, FEATURES, generator=random)
    edge_index = torch.randint(NODES, (2, EDGES), generator=random)
    return tuple(one.to(DEVICE) for one in (x, edge_index))


def test_forward(benchmark, model, inputs):
    model.eval()
    with torch.no_grad():
        benchmark(model, *inputs)


def test_training_step(benchmark, model, inputs):
    def training_step(*inputs):
        model.zero_grad()
        model(*inputs).square().mean().backward()

    benchmark(training_step, *inputs)
'''
_LEFT = "return ..."
"""The line of the benchmark that its owner completes."""
_CONFTEST = '''\
"""Lets the benchmarks import this working tree, whether it is installed or not. Written by gnnbench init."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]{below}))
'''
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
      install: {install} # with what the benchmarks need, such as '.[test]'
      arguments: {arguments}
"""


@dataclass(frozen=True)
class Project:
    """A repository, and its benchmarks."""

    folder: Path
    benchmarks: Sequence[str] = ()
    """The ids of its benchmark functions from the top, as pytest collects them."""
    named: Sequence[str] = ()
    """The files and folders from the top in which pytest looked for them; empty: in all."""
    options: Sequence[str] = ()
    """Further arguments of pytest, which undo what settings deselect."""
    has_testpaths: bool = False
    """Whether settings say which folders pytest collects if it gets no arguments."""

    @property
    def suite(self) -> Sequence[str]:
        """The paths of its benchmarks: a few files, or the folder that has all of them."""
        if not self.benchmarks:
            return [str(_FOLDER)]
        if self.named:
            return self.named
        files = list(dict.fromkeys(one.partition("::")[0] for one in self.benchmarks))
        if len(files) <= _FEW:
            return files
        return [PurePath(os.path.commonpath([PurePath(file).parent for file in files]) or ".").as_posix()]

    @property
    def around(self) -> str | None:
        """The package inside which its benchmarks lie; None: they lie beside all."""
        for one in self.benchmarks:
            folders = [
                path for path in PurePath(one).parents if (self.folder / path / "__init__.py").exists()
            ]
            if folders and folders[-1].name not in _NO_PACKAGES:
                return folders[-1].name
        return None


@dataclass(frozen=True)
class Adoption:
    """What `gnnbench init` does in a repository."""

    project: Project
    files: Mapping[PurePath, str]
    """What is written, by the path from the top of the repository; of IGNORED, the lines that are added."""
    kept: tuple[PurePath, ...]
    """Files that exist and therefore are not written."""

    @property
    def left(self) -> str:
        """What the owner must still write in the benchmark that was written; empty: nothing."""
        text = _text(self.project.folder / BENCHMARK)
        lines = [number for number, line in enumerate(text.splitlines(), 1) if _LEFT in line]
        return f"{BENCHMARK}:{lines[0]}: write your model where ... stands" if lines else ""

    def to_do(self) -> str:
        """Return what the workflow that lies in the repository now still lacks; empty: nothing."""
        text = _text(self.project.folder / _WORKFLOW)
        if f"uses: {UNKNOWN_ACTION.partition('@')[0]}/" not in text and "@COMMIT" not in text:
            return ""
        names = UNKNOWN_ACTION.replace("@", " and ")
        return f"in {_WORKFLOW}, replace {names} by gnnbench's repository and commit on GitHub"


def make(project: Project, action: str | None, *, settings: bool) -> Adoption:
    """Return what to write; files that exist are kept.

    Args:
        action: gnnbench's repository and commit, `OWNER/NAME@REF`; None: the owner writes it later.
    """
    if action and not re.fullmatch(r"[\w.-]+/[\w.-]+@[\w./-]+", action, re.ASCII):
        raise UsageError(f"--action {action!r} must be OWNER/NAME@REF, as in {UNKNOWN_ACTION}")
    wanted = {}
    if not project.benchmarks:
        source = project.folder / "src"
        in_source = source.is_dir() and not (source / "__init__.py").exists()
        wanted[BENCHMARK] = _BENCHMARK_TEXT
        wanted[_FOLDER / "conftest.py"] = _CONFTEST.format(below=' / "src"' if in_source else "")
    if settings:
        wanted[PurePath("gnnbench.toml")] = _SETTINGS
    owner, _, commit = (action or UNKNOWN_ACTION).partition("@")
    is_package = any((project.folder / name).exists() for name in ("pyproject.toml", "setup.py"))
    wanted[_WORKFLOW] = _WORKFLOW_TEXT.format(
        workflow=f"{owner}/.github/workflows/compare.yml@{commit}",
        to_do="" if action else " # TODO: gnnbench's repository and commit on GitHub",
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        install=json.dumps(f"python -m pip install {'-e .' if is_package else 'pytest-benchmark'}"),
        arguments=json.dumps(shlex.join([*project.suite, *project.options])),
    )
    kept = tuple(path for path in wanted if os.path.lexists(project.folder / path))
    files = {path: text for path, text in wanted.items() if path not in kept}
    before = _text(project.folder / IGNORED)
    if lines := [line for line in _IGNORE if line not in before.splitlines()]:
        start = "\n" if before and not before.endswith("\n") else ""
        files[IGNORED] = start + "".join(f"{line}\n" for line in lines)
    return Adoption(project, files, kept)


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""


def write(plan: Adoption) -> None:
    """Write the files; none that exists is overwritten."""
    for name, text in plan.files.items():
        path = plan.project.folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a" if name == IGNORED else "x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise UsageError(f"{name} cannot be written ({error.strerror})") from None
