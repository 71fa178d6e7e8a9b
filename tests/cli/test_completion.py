"""The scripts are real, and a real shell runs them."""

import shutil
import subprocess
import sys

import pytest

from gnnbench.cli import completion
from tests.suite import gnnbench

ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
"$(complete -p gnnbench | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
printf '%s\\n' "${COMPREPLY[@]}"
"""


OFF = ("dependencies", "instructions", "plan", "results", "strict", "time-all")
"""Options of `ab` that can be switched off."""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The script for bash."""
    file = tmp_path_factory.mktemp("completion") / "gnnbench.bash"
    file.write_text(gnnbench("completion", "bash").stdout)
    return file


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("bi", {"bisect"}),
        ("baseline re", {"record"}),
        ("ab --bud", {"--budget"}),
        ("ab --no-", {f"--no-{one}" for one in OFF}),
        ("merge run", {"run-1.json", "run-2.json"}),
        ("report run.json -o run-2", {"run-2.json"}),
    ],
)
def test_bash_completes(script, tmp_path, typed, found):
    for name in ("run-1.json", "run-2.json", "other.json"):
        (tmp_path / name).touch()
    command = ["bash", "-c", ASK, "bash", script, "gnnbench", *typed.split(" ")]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert set(answer.stdout.split()) == found
    assert not answer.stderr


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_the_shell_can_read_its_script(tmp_path, shell):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "script"
    found = gnnbench("completion", shell)
    assert found.returncode == 0
    assert "total-budget" in found.stdout
    file.write_text(found.stdout)
    subprocess.run([shell, "-n", file], check=True, capture_output=True)


def test_python_runs_the_package_as_the_command(tmp_path):
    command = [sys.executable, "-m", "gnnbench", "lisst"]
    wrong = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("usage: gnnbench [")
