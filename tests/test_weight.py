"""`make weight`, in a small repository."""

import subprocess
import sys

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
EXCESS = {
    "tests/apps/x/test_x.py": set(),
    "examples/x/README.md": set(),
    "gnnbench/b.py": {"package", "modules"},
    "gnnbench/apps/x/command.py": {"apps", "package", "modules"},
    "docs/apps/x.md": {"apps", "package", "modules", "apps-pages"},
}
"""Files that get a word more, one after the other, and what is above its limit then."""


def weigh(root):
    command = [sys.executable, str(ROOT / ".ci/weight.py"), str(root)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_is_at_its_limits_passes_and_what_is_above_one_fails(tmp_path):
    for name, count in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("word\n" * count)
    limits = "".join(f"{name} = {limit}\n" for name, limit in LIMITS.items())
    (tmp_path / "pyproject.toml").write_text(f"[tool.gnnbench-weight]\n{limits}")
    result = weigh(tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert "      9  words of README.md and docs/ without apps; at most 9\n" in result.stdout
    for path, above in EXCESS.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as stream:
            stream.write("word\n")
        result = weigh(tmp_path)
        assert result.returncode == bool(above)
        assert {line.partition(" ")[0] for line in result.stderr.splitlines()} == above
        assert all("weighs 1 more" in line for line in result.stderr.splitlines())
