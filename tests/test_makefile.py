"""What `make` would install for each target, in a clone that has no environment yet."""

import shutil
import subprocess

import pytest

from tests.runs import ROOT


@pytest.fixture
def planned(tmp_path):
    """Return the commands that make would run on a fresh machine."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)

    def planned(*arguments):
        command = ["make", "--dry-run", "VENV=none-yet", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    return planned


def test_the_first_number_waits_neither_for_a_compiler_nor_for_the_tools_of_developers(planned):
    tools = {"help": False, "bench": False, "counters": False, "test": True, "test-all": True, "lint": True}
    for target, needs_tools in tools.items():
        lines = [line for line in planned(target).splitlines() if "pip install" in line]
        assert lines
        assert not [line for line in lines if "torch_sparse" in line]
        assert any(",dev]" in line for line in lines) == needs_tools


def test_torch_sparse_is_compiled_or_taken_from_where_the_user_says(planned):
    assert "--no-build-isolation torch_scatter torch_sparse" in planned("sparse", "test")
    commands = planned("sparse", "SPARSE_WHEELS=some wheels")
    assert "--find-links 'some wheels' --only-binary torch_scatter,torch_sparse" in commands
    assert "--no-build-isolation" not in commands
