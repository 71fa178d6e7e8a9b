"""Whether idle OpenMP threads sleep while a session times something: real pytest runs."""

import sys

import pytest

from tests import forks
from tests.runs import SHORT, environment

SUITE = """
import os

AT_IMPORT = os.environ.get("OMP_WAIT_POLICY")

def test_time(benchmark):
    print("POLICY", AT_IMPORT)
    benchmark(sum, range(9))
"""
OTHER = """
import os

def test_other():
    print("POLICY", os.environ.get("OMP_WAIT_POLICY"))
"""
SETTINGS = {"gnnbench.toml": 'layouts = "sample"\n'}


@pytest.fixture
def session(tmp_path):
    """Return a function that runs pytest in a project with these files, and returns what it printed."""

    def run(files, *words, **variables):
        for name, text in {"test_suite.py": SUITE, **files}.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-s", *SHORT, *words]
        result = forks.run(command, tmp_path, environment(PYTHONPATH=str(tmp_path), **variables))
        assert result.returncode == 0, result.stdout
        return result.stdout

    return run


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (SETTINGS, ()),
        ({"pyproject.toml": "[tool.gnnbench]\n"}, ()),
        ({"baselines/timings": ""}, ()),
        ({}, ["--gnn-layouts=sample"]),
        ({}, ["--benchmark-compare"]),
        (SETTINGS, ["--benchmark-disable", "--benchmark-enable"]),
    ],
)
def test_in_a_project_of_gnnbench_and_with_an_option_they_sleep_and_a_line_says_so(session, files, words):
    shown = session(files, *words)
    assert "POLICY PASSIVE" in shown
    assert shown.count("\ngnnbench: OMP_WAIT_POLICY=PASSIVE is set: idle OpenMP threads sleep\n") == 1


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, ["--benchmark-json=run.json"]),
        (SETTINGS, ["--benchmark-disable"]),
        (SETTINGS, ["--collect-only"]),
        ({**SETTINGS, "test_suite.py": OTHER}, ()),
    ],
)
def test_where_nothing_is_timed_or_the_project_is_a_stranger_s_nothing_is_set(session, files, words):
    shown = session(files, *words)
    assert "POLICY None" in shown or "--collect-only" in words
    assert "OMP_WAIT_POLICY" not in shown


def test_what_the_user_chose_stays_and_needs_no_line(session):
    assert "OMP_WAIT_POLICY" not in session(SETTINGS, OMP_WAIT_POLICY="PASSIVE")
    assert "POLICY ACTIVE" in session(SETTINGS, OMP_WAIT_POLICY="ACTIVE")


@pytest.mark.parametrize("layouts", ["sample", "off"])
def test_where_torch_was_imported_before_the_headlines_say_that_times_are_disturbed(session, layouts):
    files = {
        "gnnbench.toml": f'layouts = "{layouts}"\n',
        "early.py": "import sys\nfrom types import ModuleType\nsys.modules['torch'] = ModuleType('torch')\n",
        "conftest.py": "import sys\ndel sys.modules['torch']\n",
    }
    shown = session(files, "-p", "early").splitlines()
    why = (
        "times are disturbed by idle OpenMP threads: OMP_WAIT_POLICY is unset, and torch was imported before "
        "gnnbench could set it; export OMP_WAIT_POLICY=PASSIVE"
    )
    assert f"gnnbench: {why}" in shown
    if layouts == "sample":
        headline = "gnnbench: time of a call with its 95% interval"
        assert f"{headline}; {why}" in shown
