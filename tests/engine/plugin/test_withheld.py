"""Real pytest runs whose benchmarks are judged, so that their reports are withheld."""

import json
import shutil
import xml.etree.ElementTree as ET

import pytest

from tests.engine.plugin import recorded as records
from tests.runs import SHORT, run

SUITE = """
import pytest
from pathlib import Path

def test_steady(benchmark):
    benchmark(sum, [1])

@pytest.mark.parametrize("which", ["flaky", "late"])
def test_again(benchmark, which):
    benchmark(sum, [1])
    tried = Path(__file__).with_name(f"tried-{which}")
    first = not tried.exists()
    tried.touch()
    assert not first

def test_plain():
    pass
"""
OTHER = "def test_other(benchmark):\n    benchmark(sum, [1])\n"
SUBTESTS = """
def test_parts(benchmark, subtests):
    benchmark(sum, [1])
    with subtests.test("part"):
        assert 0
"""
FLAKY, LATE = "test_again[flaky]", "test_again[late]"
TRIED = ("tried-flaky", "tried-late")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A suite in two files, with a record of five processes."""
    folder = tmp_path_factory.mktemp("recorded")
    files = {"test_a.py": SUITE, "test_b.py": OTHER, "pytest.ini": "[pytest]\n", **dict.fromkeys(TRIED, "")}
    for name, text in files.items():
        (folder / name).write_text(text)
    content = records.measure(folder, **machine(folder))
    for entry in content["benchmarks"]:
        entry["extra_info"]["gnnbench"].pop("fingerprint", None)  # so that times decide
    records.save(folder, content)
    return folder


@pytest.fixture
def project(recorded, tmp_path):
    """The suite, whose second attempts pass at once."""
    return shutil.copytree(recorded, tmp_path / "project")


def forget(folder):
    for name in TRIED:
        (folder / name).unlink(missing_ok=True)


def machine(folder, **seconds):
    usual = dict.fromkeys(("test_steady", FLAKY, LATE, "test_other", "test_parts"), 1e-3)
    return records.machine(folder, 2, **{**usual, **seconds})


def judge(folder, *arguments, **seconds):
    words = (records.COMPARE, "--gnn-turns=never", "--gnn-effect=30%", "--gnn-confirm=0")
    return run(*words, "--junitxml=junit.xml", *arguments, cwd=folder, **machine(folder, **seconds))


def cases(folder):
    root = ET.parse(folder / "junit.xml").getroot()
    return {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}


@pytest.mark.nightly
def test_a_test_that_passes_at_its_second_try_passes_unless_it_is_slower(project):
    forget(project)
    (project / "test_b.py").write_text(f"{OTHER}    assert 0\n{SUBTESTS}")
    result = judge(project, "--reruns=1", **{LATE: 3e-3})
    assert result.returncode == 1, result.stdout
    found = cases(project)
    assert [found[name] for name in ("test_steady", FLAKY, LATE, "test_plain")] == [[]] * 4
    assert found["test_other"] == ["failure"]
    assert f"failed: test_a.py::{LATE}: slower: " in " ".join(result.stdout.split())
    assert " benchmarks is slower" in result.stdout
    assert "FAILED test_b.py::test_other - assert 0" in result.stdout
    forget(project)
    plain = run("--reruns=1", *SHORT, cwd=project)
    assert result.stdout.count("SUBFAILED") == plain.stdout.count("SUBFAILED") > 0
    reruns = [one.stdout.splitlines()[-1].split(" rerun")[0].split()[-1] for one in (result, plain)]
    assert reruns[0] == reruns[1]


def test_without_reruns_the_first_failure_stops_where_it_is_to(project):
    forget(project)
    result = judge(project, "-x")
    assert result.returncode == 1
    assert "1 failed, 1 passed" in result.stdout
    assert "stopping after 1 failures" in result.stdout
    assert "failed: interrupted: the timed benchmarks were not compared" in result.stdout


def test_each_letter_stands_behind_its_file_once_and_last_failed_runs_what_was_slower(project):
    (project / "test_b.py").write_text(f"import pytest\n\n@pytest.mark.xfail\n{OTHER}")
    arguments = ("-p", "cacheprovider")
    result = judge(project, *arguments, test_steady=3e-3, test_other=3e-3)
    assert result.returncode == 1, result.stdout
    lines = [line.split() for line in result.stdout.splitlines() if line.startswith("test_")]
    assert ["test_a.py", "F..", "[", "80%]"] in lines
    assert ["test_b.py", "F", "[100%]"] in lines
    assert cases(project)["test_other"] == ["failure"], "although it passes where a failure is expected"
    file = project / ".pytest_cache/v/cache/lastfailed"
    assert json.loads(file.read_text()).keys() == {"test_a.py::test_steady", "test_b.py::test_other"}
    result = judge(project, *arguments, "--lf", "-v")
    assert "1 passed, " in result.stdout
    assert "1 xpassed" in result.stdout
    assert (result.stdout.count(" PASSED"), result.stdout.count("100%]")) == (1, 1)
    assert not file.exists() or json.loads(file.read_text()) == {}
