import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gnnbench.engine.cli import common, main
from gnnbench.engine.ground import files
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.plugin.rootdir import rootdir
from gnnbench.engine.store.baseline import FOLDER, RecordStore
from tests.engine.process.variants.repositories import commit_all, git
from tests.engine.process.workers import machine
from tests.run_files import suite
from tests.runs import ROOT, as_a_user, environment

SUITE = (
    "def test_one(benchmark):\n    benchmark(sum, [1])\ndef test_two(benchmark):\n    benchmark(sum, [2])\n"
)
MACHINE = "Linux-CPython-3.11-64bit"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository with a suite in `benchmarks`, on the simulated machine."""
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "test_suite.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    clock = machine(tmp_path / "truth.json", {"test_one": 1e-3, "test_two": 2e-3}, drift=0)
    commit_all(tmp_path, "suite")
    monkeypatch.chdir(tmp_path)
    as_a_user(monkeypatch, GNNBENCH_FAKE_CLOCK=clock)
    return tmp_path


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return RecordStore(tmp_path / FOLDER)


def saved(store, name, *, benchmarks=6):
    return store.save([suite(seed, benchmarks=benchmarks) for seed in range(2)], MACHINE, name, "")


def call(capsys, *arguments):
    status = main.main(["baseline", *arguments])
    shown = capsys.readouterr()
    return status, " ".join(shown.out.split()), shown.err


def test_show_marks_the_times_that_other_programs_disturbed(store, capsys):
    contents = [suite(seed, benchmarks=2) for seed in range(2)]
    contents[1]["benchmarks"][0]["extra_info"]["gnnbench"]["measurement"]["contention_share"] = 0.4
    store.save(contents, MACHINE, "busy", "")
    status, out, _ = call(capsys, "show")
    assert status == 0
    row = r"b0 [\d.]+ [mµ]?s [\d.]+% 1 of 2 b1 \S+ ms \S+%$"
    assert re.search(f"benchmark time spread disturbed {row}", out), out
    saved(store, "quiet")
    assert "disturbed" not in call(capsys, "show")[1]


def test_record_and_show(project, capsys):
    status, out, err = call(capsys, "record", "--processes", "2", "--reason", "new [driver]")
    assert status == 0, err
    files = sorted((project / FOLDER).rglob("*.json"))
    assert [re.sub("[0-9a-f]{10}", "COMMIT", file.name) for file in files] == [
        "0001_COMMIT_p1.json",
        "0001_COMMIT_p2.json",
    ]
    assert "data" not in json.loads(files[0].read_text())["benchmarks"][0]["stats"]
    # The files are no change of the project's own: a second record may follow at once.
    assert re.search(r"2 processes; new \[driver\].* test_one .* test_two ", call(capsys, "show")[1])
    assert call(capsys, "record", "--", "-k", "one")[0] == 0
    out = call(capsys, "show")[1]
    assert "no reason given" in out
    assert "test_two" not in out


def test_what_is_dirty_or_fails_is_never_recorded(project, capsys):
    suite_file = project / "benchmarks" / "test_suite.py"
    suite_file.write_text(SUITE + "\n")
    status, _, err = call(capsys, "record")
    assert (status, err.count("\n")) == (2, 1)
    assert "commit or stash them, then record" in err
    suite_file.write_text(SUITE + "\ndef test_bad(benchmark):\n    assert 0\n")
    git(project, "commit", "-qam", "bad")
    status, _, err = call(capsys, "record", "--processes", "2")
    assert status == 2
    assert "process 1 failed: pytest ended with exit status 1" in err
    assert "FAILED benchmarks/test_suite.py::test_bad - assert 0" in err
    assert call(capsys, "record", "--processes", "1")[0] == 2
    status, _, err = call(capsys, "record", "--processes", "2", "--", "-k", "one", "--gnn-layouts", "off")
    assert status == 2
    assert "gnnbench did not time the benchmarks" in err
    assert not list((project / FOLDER).rglob("*.*"))


def test_a_record_without_a_commit_says_why(project, capsys, monkeypatch):
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    status, out, err = call(capsys, "record")
    assert status == 0, err
    assert "recorded without a commit, so this code cannot be rebuilt later: detected dubious owner" in err
    assert "safe.directory" in err
    assert out.endswith(" to compare with it: python -m pytest benchmarks --benchmark-compare")
    (record,) = RecordStore(project / FOLDER).records()
    assert [run.commit for run in record.read()] == [None, None]


def test_on_a_full_disk_nothing_is_recorded(project, capsys, monkeypatch):
    full = Path("/dev/full")  # a real ENOSPC
    monkeypatch.setattr(files, "write_whole", lambda _path, text: full.write_text(text))
    status, _, err = call(capsys, "record")
    assert status == 2
    assert "cannot be written (No space left on device); nothing was recorded\n" in err
    assert not list((project / FOLDER).rglob("*.json"))


@pytest.mark.parametrize(
    ("folder", "arguments", "root"),
    [
        (".", ["bench"], "."),
        ("bench", ["."], "."),
        ("bench", ["--option-of-the-conftest"], "."),
        (".", ["--rootdir=bench", "bench"], "bench"),
        (".", ["-c", "bench/some.ini"], "bench"),
        (".", ["-p", "begins_early"], "."),
    ],
)
def test_records_lie_in_pytest_s_rootdir(tmp_path, monkeypatch, capsys, folder, arguments, root):
    (tmp_path / "bench").mkdir()
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "bench" / "some.ini").touch()
    (tmp_path / "bench" / "conftest.py").write_text("1 / 0")
    early = (
        "import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_load_initial_conftests():\n    1 / 0\n"
    )
    (tmp_path / "begins_early.py").write_text(early)  # as pytest-cov, which imports coverage's plugins
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "begins_early", None)  # so that it is removed after the test
    del sys.modules["begins_early"]
    monkeypatch.chdir(tmp_path / folder)
    assert rootdir(arguments) == tmp_path / root
    saved(RecordStore(tmp_path / root / FOLDER), "some")
    assert "record 0001 of " in call(capsys, "show", "--", *arguments)[1]


@pytest.mark.parametrize("file", ["setup.py", "pytest.ini"])
@pytest.mark.parametrize("folder", [".", "bench", "bench/perf"])
def test_each_folder_of_a_repository_has_the_same_suite(tmp_path, monkeypatch, capsys, file, folder):
    for one in (".git", "bench/perf", "benchmarks"):
        (tmp_path / one).mkdir(parents=True)
    (tmp_path / file).touch()
    monkeypatch.chdir(tmp_path / folder)
    arguments = common.suite([], "")
    assert Path(arguments[-1]).resolve() == tmp_path / "benchmarks"
    assert rootdir(arguments) == tmp_path
    saved(RecordStore(tmp_path / FOLDER), "some")
    assert "record 0001 of " in call(capsys, "show")[1]


def test_without_a_folder_of_benchmarks_pytest_s_testpaths_are_the_suite(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").mkdir()
    with pytest.raises(UsageError, match="give the path of the suite"):
        common.suite(["-k", "sum"], "")
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    assert common.suite(["-k", "sum"], "") == ["-k", "sum"]
    (tmp_path / "benchmarks").mkdir()
    assert common.suite([], "") == ["benchmarks"]


def test_what_is_broken_is_named(store, capsys):
    whole = saved(store, "whole")
    saved(store, "lacking").files[0].unlink()
    assert "record 0002 has only 1 of its 2 files" in call(capsys, "show")[2]
    status, _, err = call(capsys, "show", "--environment", "elsewhere")
    assert status == 2
    assert f"unknown environment 'elsewhere'; known: {whole.environment}" in err


def test_the_newest_record_is_shown_whatever_its_number(store, capsys):
    saved(store, "first")
    saved(store, "second")
    latest = [suite(seed, threads=8) | {"datetime": "2027-01-01T00:00:00"} for seed in range(2)]
    store.save(latest, MACHINE, "third", "more threads")
    assert "; more threads " in call(capsys, "show")[1]


def test_a_suite_s_warning_filters_end_no_command(tmp_path):
    """In a fresh interpreter: pytest warns that the modules of its plugin are imported already."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    command = [sys.executable, "-m", "gnnbench", "baseline", "show"]
    variables = environment(PYTHONPATH=str(ROOT))
    result = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    assert "there are no records in " in result.stderr
