"""`make weight`, in a small repository."""

import subprocess
import sys

import pytest

from tests.suite import ROOT

FILES = {
    "gnnbench/a.py": 5,
    "gnnbench/apps/x/command.py": 3,
    "tests/test_a.py": 4,
    "tests/apps/x/test_x.py": 2,
    "experiments/e/e.py": 1,
    "README.md": 7,
    "docs/page.md": 1,
    "docs/experiments/page.md": 1,
    "docs/apps/x.md": 6,
}
LIMITS = {"package": 5, "apps": 3, "tests": 4, "experiments": 1, "modules": 1, "pages": 9, "apps-pages": 6}


def weigh(root):
    command = [sys.executable, str(ROOT / ".ci/weight.py"), str(root)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def repository(tmp_path):
    for name, count in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("word\n" * count)
    limits = "".join(f"{name} = {limit}\n" for name, limit in LIMITS.items())
    (tmp_path / "pyproject.toml").write_text(f"[tool.gnnbench-weight]\n{limits}")
    return tmp_path


def test_what_is_at_its_limits_passes(repository):
    result = weigh(repository)
    assert (result.returncode, result.stderr) == (0, "")
    assert "      9  words of README.md and docs/ without apps; at most 9\n" in result.stdout


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("gnnbench/a.py", {"package"}),
        ("gnnbench/b.py", {"package", "modules"}),
        ("gnnbench/apps/x/command.py", {"apps"}),
        ("tests/test_a.py", {"tests"}),
        ("tests/apps/x/test_x.py", set()),
        ("experiments/e/e.py", {"experiments"}),
        ("docs/experiments/page.md", {"pages"}),
        ("docs/apps/x.md", {"apps-pages"}),
        ("examples/x/tests/test_x.py", set()),
        ("examples/x/README.md", set()),
    ],
)
def test_a_planted_excess_fails(repository, path, names):
    file = repository / path
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as stream:
        stream.write("word\n")
    result = weigh(repository)
    assert result.returncode == bool(names)
    assert {line.partition(" ")[0] for line in result.stderr.splitlines()} == names
    assert all("weighs 1 more" in line for line in result.stderr.splitlines())
