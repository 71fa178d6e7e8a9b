"""Real pytest runs whose benchmarks are judged, so that their reports are withheld."""

import json
import shutil
import xml.etree.ElementTree as ET

import pytest
from pytest_benchmark.utils import get_machine_id

from gnnbench.results.baseline import FOLDER, RecordStore
from tests.suite import run

SUITE = """
import pytest
from pathlib import Path

def test_steady(benchmark):
    benchmark(sum, [1])

def test_flaky(benchmark, tmp_path):
    benchmark(sum, [1])
    tried = Path(__file__).with_name("tried")
    first = not tried.exists()
    tried.touch()
    assert not first

def test_plain():
    pass
"""
OTHER = "def test_other(benchmark):\n    benchmark(sum, [1])\n"
QUIET = {"sigma": 0.02, "drift": 0, "spike_probability": 0, "process_sigma": 0.005}
NAMES = ("test_steady", "test_flaky", "test_other")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A suite in two files, with a record of five processes."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "test_a.py").write_text(SUITE)
    (folder / "test_b.py").write_text(OTHER)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "tried").touch()
    result = run("--gnn-layouts=sample", "--benchmark-json=run.json", cwd=folder, **truth(folder))
    assert result.returncode == 0, result.stdout
    contents = [process(folder, 1 + number / 500) for number in range(5)]
    RecordStore(folder / FOLDER).save(contents, get_machine_id(), "first", "")
    (folder / "tried").unlink()
    return folder


def process(folder, factor):
    """Return the run file with all times multiplied."""
    content = json.loads((folder / "run.json").read_text())
    for entry in content["benchmarks"]:
        ours = entry["extra_info"]["gnnbench"]
        ours.pop("fingerprint", None)  # so that times decide
        measured = ours["measurement"]
        measured.update({name: measured[name] * factor for name in ("location_ns", "low_ns", "high_ns")})
    return content


@pytest.fixture
def project(recorded, tmp_path):
    return shutil.copytree(recorded, tmp_path / "project")


def truth(folder, **seconds):
    times = {**dict.fromkeys(NAMES, 1e-3), **seconds}
    (folder / "truth.json").write_text(json.dumps({"benchmarks": times, "noise": QUIET}))
    return {"GNNBENCH_FAKE_CLOCK": f"2:{folder / 'truth.json'}"}


def judge(folder, *arguments, **seconds):
    return run(
        *("--benchmark-compare", "--gnn-turns=never", "--gnn-effect=30%", "--gnn-confirm=0"),
        *("--junitxml=junit.xml", *arguments),
        cwd=folder,
        **truth(folder, **seconds),
    )


def cases(folder):
    """Return what JUnit's file says of each test."""
    root = ET.parse(folder / "junit.xml").getroot()
    return [(case.get("name"), [child.tag for child in case]) for case in root.iter("testcase")]


def test_a_test_that_passes_at_its_second_try_passes(project):
    result = judge(project, "--reruns=1")
    assert result.returncode == 0, result.stdout
    assert "4 passed, 1 rerun" in result.stdout
    assert "0 slower, 0 faster, 3 same" in result.stdout
    assert dict(cases(project)) == {name: [] for name in (*NAMES, "test_plain")}


def test_one_that_is_slower_fails_though_it_was_tried_again(project):
    result = judge(project, "--reruns=1", test_flaky=3e-3)
    assert result.returncode == 1, result.stdout
    assert "1 failed, 3 passed, 1 rerun" in result.stdout
    assert dict(cases(project))["test_flaky"] == ["failure"]


def test_one_that_fails_at_each_try_fails_at_once(project):
    (project / "test_b.py").write_text("def test_other(benchmark):\n    benchmark(sum, [1])\n    assert 0\n")
    (project / "tried").touch()
    result = judge(project, "--reruns=1")
    assert "1 failed, 3 passed, 1 rerun" in result.stdout
    assert "FAILED test_b.py::test_other - assert 0" in result.stdout


def test_without_reruns_the_first_failure_stops_where_it_is_to(project):
    for stop in ("-x", "--maxfail=1"):
        (project / "tried").unlink(missing_ok=True)
        result = judge(project, stop)
        assert result.returncode == 1
        assert "1 failed, 1 passed" in result.stdout
        assert "stopping after 1 failures" in result.stdout
        assert "failed: interrupted: the timed benchmarks were not compared" in result.stdout


def test_each_letter_stands_behind_its_file_and_is_counted_once(project):
    (project / "tried").touch()
    result = judge(project, test_steady=3e-3)
    lines = [line.split() for line in result.stdout.splitlines() if line.startswith("test_")]
    assert ["test_a.py", "F.", "[", "75%]"] in lines
    assert ["test_b.py", ".", "[100%]"] in lines
    verbose = judge(project, "-v", test_steady=3e-3).stdout
    assert verbose.count("PASSED") == 3
    assert verbose.count("100%]") == 1


def test_what_was_slower_is_run_again_by_last_failed(project):
    (project / "tried").touch()
    arguments = ("-p", "cacheprovider")
    assert judge(project, *arguments, test_steady=3e-3).returncode == 1
    result = judge(project, *arguments, "--lf", test_steady=3e-3)
    assert "collected 1 item" in result.stdout
    assert "1 failed" in result.stdout
    assert judge(project, *arguments, "--lf").returncode == 0
    assert "4 passed" in judge(project, *arguments, "--lf").stdout


def test_an_unexpected_success_that_is_slower_fails_the_run(project):
    (project / "test_b.py").write_text(f"import pytest\n\n@pytest.mark.xfail\n{OTHER}")
    (project / "tried").touch()
    result = judge(project, test_other=3e-3)
    assert result.returncode == 1, result.stdout
    assert dict(cases(project))["test_other"] == ["failure"]


def test_subtests_are_reported_once(project):
    (project / "test_b.py").write_text(
        "def test_other(benchmark, subtests):\n"
        "    benchmark(sum, [1])\n"
        "    with subtests.test('part'):\n        assert 0\n"
    )
    result = judge(project, "--reruns=1")
    plain = run("--reruns=1", cwd=project)
    assert result.stdout.count("SUBFAILED") == plain.stdout.count("SUBFAILED") > 0
    assert "2 failed, 3 passed, 2 rerun" in result.stdout
