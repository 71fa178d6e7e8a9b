"""A repository in which a helper that several benchmarks call became slower, on the simulated machine."""

import json
import subprocess

LIBRARY = """
def scale(numbers):
    return [2 * number for number in numbers]

def total(numbers):
    return sum(scale(numbers))

def largest(numbers):
    return max(scale(numbers))

def first(numbers):
    return numbers[0]

def unchanged(numbers):
    return numbers[-1]
"""
SLOWER = LIBRARY.replace("2 * number for", "number + number for").replace("numbers[0]", "sorted(numbers)[0]")
NAMES = ("total", "largest", "scale", "first", "unchanged")
SUITE = "import library\n" + "".join(
    f"\ndef test_{name}(benchmark):\n    benchmark(library.{name}, [1, 2])\n" for name in NAMES
)
BASE = {f"test_{name}": 1e-3 for name in NAMES}
HEAD = {**BASE, "test_total": 1.2e-3, "test_largest": 1.3e-3, "test_scale": 1.4e-3, "test_first": 1.5e-3}
NOISE = {"sigma": 0.02, "drift": 0, "spike_probability": 0, "process_sigma": 0.003}
IDS = [f"tests/test_library.py::test_{name}" for name in ("scale", "largest", "total")]


def make(folder):
    """Make a repository with a helper that three benchmarks call, which its last commit made slower."""
    (folder / "tests").mkdir(parents=True)
    (folder / "library.py").write_text(LIBRARY)
    (folder / "conftest.py").write_text("")
    (folder / "tests" / "test_library.py").write_text(SUITE)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / ".gitignore").write_text("__pycache__\n")
    times = {"benchmarks": HEAD, "base": BASE, "noise": NOISE}
    (folder.parent / "times.json").write_text(json.dumps(times))
    git(folder, "init", "-qb", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    (folder / "library.py").write_text(SLOWER)
    git(folder, "commit", "-qam", "second")


def git(folder, *words):
    settings = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True)


def variables(folder):
    """Return the variables of the machine."""
    clock = f"5:{folder.parent / 'times.json'}"
    return {"GNNBENCH_FAKE_CLOCK": clock, "GNNBENCH_CACHE": str(folder.parent / "cache")}
