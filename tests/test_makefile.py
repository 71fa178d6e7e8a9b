"""What `make` would install for each target, in a clone that has no environment yet."""

import re
import shutil
import subprocess
import sys

import pytest

from tests.suite import ROOT
from tests.variants.repositories import git


@pytest.fixture
def planned(tmp_path):
    """Return the commands that make would run on a fresh machine."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)

    def planned(*arguments):
        command = ["make", "--dry-run", "VENV=none-yet", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    return planned


def installs_sparse(commands):
    return any("pip install" in line and "torch_sparse" in line for line in commands.splitlines())


@pytest.mark.parametrize(
    "target", ["help", "environment", "test", "test-all", "bench", "counters", "growth", "lint"]
)
def test_the_first_number_does_not_wait_for_a_compiler(planned, target):
    commands = planned(target)
    assert "pip install" in commands
    assert not installs_sparse(commands)


def test_torch_sparse_is_compiled_where_it_is_asked_for(planned):
    assert "--no-build-isolation torch_scatter torch_sparse" in planned("sparse", "test")


def test_wheels_are_taken_from_where_the_user_says(planned):
    commands = planned("sparse", "SPARSE_WHEELS=some wheels")
    assert "--find-links 'some wheels' --only-binary torch_scatter,torch_sparse" in commands
    assert "--no-build-isolation" not in commands


@pytest.mark.parametrize(
    ("target", "group", "command"),
    [("dist", "release", "twine check --strict"), ("site", "site", "mkdocs build --strict")],
)
def test_tools_come_from_their_group_without_torch(planned, target, group, command):
    commands = planned(target)
    assert f"--group {group}" in commands
    assert " torch " not in commands
    assert command in commands


@pytest.mark.parametrize(
    ("tag", "later", "version"),
    [
        ("v1.2.3", False, r"1\.2\.3"),
        ("v1.2.3", True, r"1\.2\.4\.dev1\+g[0-9a-f]+"),
        (None, False, r"0\.1\.dev1\+g.*"),
    ],
)
def test_the_version_is_the_tag(tmp_path, tag, later, version):
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    if tag:
        git(tmp_path, "tag", tag)
    if later:
        git(tmp_path, "commit", "-q", "-m", "second", "--allow-empty")
    command = [sys.executable, "-m", "hatchling", "version"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert re.fullmatch(version, found.stdout.strip())
