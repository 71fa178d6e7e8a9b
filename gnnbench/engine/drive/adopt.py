"""The files that `gnnbench init` writes into a repository."""

import json
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path, PurePath
from typing import Any

from ..ground import git
from ..ground.errors import UsageError
from .survey import Survey, text_of

_FOLDER = PurePath("benchmarks")
BENCHMARK = _FOLDER / "test_operations.py"
_WORKFLOW = PurePath(".github/workflows/benchmarks.yml")
GITIGNORE = PurePath(".gitignore")
_IGNORE = (".benchmarks/", "/ab.json", "/report.html")
UNKNOWN_ACTION = "OWNER/gnnbench@COMMIT"
"""A placeholder for gnnbench's repository if --action does not name it."""
_MOST_FILES = 3
"""If there are more files of benchmarks, their common folder is named instead."""

_REQUIREMENTS = "requirements.txt"
_COMPILED = (".c", ".cc", ".cpp", ".cu", ".pyx", ".rs")
_HASHED = "hashFiles('pyproject.toml', 'setup.*', 'requirements*.txt', '.github/workflows/benchmarks.yml')"
_BUILDS = re.compile(
    r"ext_modules|cmake|scikit.build|meson|maturin|setuptools.rust|cython|nanobind", re.IGNORECASE
)
"""What a `setup.py` or `pyproject.toml` contains if installing the package compiles code."""
_EXTRAS = ("test", "tests", "testing", "dev")


@dataclass(frozen=True)
class Project:
    """A repository, and its benchmarks."""

    folder: Path
    benchmarks: Sequence[str] = ()
    """The ids that pytest collects for its benchmark functions, relative to the top folder."""
    named: Sequence[str] = ()
    """Files and folders that the user named, relative to the top folder. Empty if the user named none."""
    options: Sequence[str] = ()
    """Further arguments with which pytest runs benchmarks that the project's settings deselect."""
    first: str = ""
    """The content of a first file of benchmarks, if the repository has no benchmarks."""

    @cached_property
    def survey(self) -> Survey:
        return Survey(self.folder)

    @property
    def suite(self) -> Sequence[str]:
        """The paths of the benchmarks: a few files, or the folder that contains them."""
        if not self.benchmarks:  # pytest collects a file given by path, whatever `python_files` is
            return [str(BENCHMARK if self.survey.has_setting("python_files") else _FOLDER)]
        if self.named:
            return self.named
        files = list(dict.fromkeys(name.partition("::")[0] for name in self.benchmarks))
        if len(files) <= _MOST_FILES:
            return files
        return [PurePath(os.path.commonpath([PurePath(file).parent for file in files]) or ".").as_posix()]


@dataclass(frozen=True)
class Adoption:
    """The files that `gnnbench init` writes into a repository."""

    project: Project
    files: Mapping[PurePath, str]
    """The text of each file, by its path from the repository's top; for GITIGNORE, the lines to append."""
    existing: tuple[PurePath, ...]
    """Files that are not written, because they exist."""

    def to_do(self) -> str:
        """Return what the user must still fill in the workflow. Empty if the workflow is complete."""
        workflow = text_of(self.project.folder / _WORKFLOW)
        if f"uses: {UNKNOWN_ACTION.partition('@')[0]}@" not in workflow and "@COMMIT" not in workflow:
            return ""
        return (
            f"in {_WORKFLOW}, replace {UNKNOWN_ACTION} by gnnbench's repository on GitHub and the full hash "
            "of a commit; for a self-hosted runner with a clone of gnnbench in /PATH, delete the file and "
            "run gnnbench init --action /PATH"
        )


def make(project: Project, action: str | None, *, settings: bool) -> Adoption:
    """Return the files to write, without files that exist. `settings`: whether to write `gnnbench.toml`.

    `action`: `OWNER/NAME@REF`, or the folder of a clone on a runner. If None, the user fills it in later.
    """
    if action and not re.fullmatch(r"[\w.-]+/[\w.-]+@[\w./-]+|/.+", action, re.ASCII):
        raise UsageError(
            f"--action {action!r} must be OWNER/NAME@REF, as in {UNKNOWN_ACTION}, or an absolute path"
        )
    texts = {}
    if not project.benchmarks:
        texts[BENCHMARK] = project.first
        subfolder = "".join(f' / "{name}"' for name in project.survey.root.relative_to(project.folder).parts)
        texts[_FOLDER / "conftest.py"] = template("conftest.py.txt").replace("BELOW", subfolder)
    if settings:
        texts[PurePath("gnnbench.toml")] = template("gnnbench.toml").replace(
            "@BUILD@", _build(project.folder)
        )
    texts[_WORKFLOW] = _workflow(project, action)
    existing = tuple(path for path in texts if os.path.lexists(project.folder / path))
    files = {path: text for path, text in texts.items() if path not in existing}
    old_text = text_of(project.folder / GITIGNORE)
    if lines := [line for line in _IGNORE if line not in old_text.splitlines()]:
        start = "\n" if old_text and not old_text.endswith("\n") else ""
        files[GITIGNORE] = start + "".join(f"{line}\n" for line in lines)
    return Adoption(project, files, existing)


def _workflow(project: Project, action: str | None) -> str:
    """Return the text of the workflow. `action`: see `make`."""
    clone = action if action and action.startswith("/") else ""
    steps = template("steps.yml").rstrip("\n")
    step = "      - if: ${{ steps.changed.outputs.run == 'true' }}\n        "
    text = template("workflow.yml")
    text = text.replace("@STEPS@", re.sub("^      - ", step, steps, flags=re.MULTILINE), 1)
    text = text.replace("@STEPS@", steps)
    parts = {
        "TODO": not action,
        "TORCH": project.survey.imports("torch"),
        "HOSTED": not clone,
        "CLONE": bool(clone),
    }
    for name, is_wanted in parts.items():
        text = re.sub(rf"(?ms)^#@{name}\n(.*?)^#@\n", r"\1" if is_wanted else "", text)
    words = {
        "SETUP": "\n    ".join(_set_up(project)),
        "RUNNER": "self-hosted # zizmor: ignore[self-hosted-runner]" if clone else "ubuntu-24.04",
        "PYTHON": f"{sys.version_info.major}.{sys.version_info.minor}",
        "KEY": "github.run_id" if _is_compiled(project.folder) else _HASHED,  # compile in each run
        "PLACE": json.dumps(clone),
        "ACTION": "./.gnnbench # zizmor: ignore[self-repository]" if clone else action or UNKNOWN_ACTION,
        "ARGUMENTS": json.dumps(shlex.join([*project.suite, *project.options])),
    }
    return re.sub("@([A-Z]+)@", lambda match: words[match[1]], text)


def _set_up(project: Project) -> list[str]:
    install = "python -m pip install"
    folder = project.folder
    commands: list[str] = []
    if project.survey.imports("torch"):
        commands += [f'{install} torch ${{TORCH_INDEX:+--index-url "$TORCH_INDEX"}}']
    commands += [f"{install} -r {_REQUIREMENTS}"] if (folder / _REQUIREMENTS).is_file() else []
    if not any((folder / name).exists() for name in ("pyproject.toml", "setup.py")):
        return [*commands, f"{install} pytest-benchmark"]
    settings: Mapping[str, Any] = {}
    with suppress(tomllib.TOMLDecodeError):
        settings = tomllib.loads(text_of(folder / "pyproject.toml")).get("project", {})
    extras = settings.get("optional-dependencies", ())
    extra = next((f"[{name}]" for name in _EXTRAS if name in extras), "")
    path = f"-e '.{extra}'" if extra else "-e ."
    return [*commands, f"{install} {_no_isolation(folder)}{path}"]


def _is_compiled(folder: Path) -> bool:
    return any(name.endswith(_COMPILED) for name in git.tracked_files(folder))


def _build(folder: Path) -> str:
    """Return the line of the settings that builds each version. Empty if installing compiles nothing."""
    packaging = text_of(folder / "setup.py") + text_of(folder / "pyproject.toml")
    if not (_BUILDS.search(packaging) and _is_compiled(folder)):
        return ""
    return f'build = "pip install {_no_isolation(folder)}."    # compiles each version that is compared\n'


def _no_isolation(folder: Path) -> str:
    """Return pip's option for a package that needs the installed torch to compile. Empty for others."""
    return "--no-build-isolation " if "cpp_extension" in text_of(folder / "setup.py") else ""


def template(name: str) -> str:
    return resources.files(__package__).joinpath("templates", name).read_text("utf-8")


def write(plan: Adoption) -> None:
    """Write the files. Lines are appended to an existing GITIGNORE; other existing files are not changed."""
    for name, text in plan.files.items():
        path = plan.project.folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a" if name == GITIGNORE else "x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise UsageError(f"{name} cannot be written ({error.strerror})") from None
