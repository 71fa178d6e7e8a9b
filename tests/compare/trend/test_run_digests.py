import math

import pytest

from gnnbench import environment
from gnnbench.compare.trend import run_digests
from gnnbench.compare.trend.run_digests import Digest
from gnnbench.errors import UsageError
from gnnbench.results import run_file
from tests.compare.trend.runs import factors, plain, run, save
from tests.run_files import ENVIRONMENT


def test_a_run_of_ours(tmp_path):
    (path,) = save(tmp_path, [run(3, [1.0, 2.0], dirty=True)])
    found = Digest.of(path)
    assert found.environment == environment.name_with_versions(ENVIRONMENT)
    assert found.date == found.commit_date == "2026-01-04T00:00:00.000000+00:00"
    assert found.commit == "03" + "c" * 38
    assert found.dirty
    first, second = found.benchmarks
    assert first.fullname == "test_a.py::b0"
    (log,) = first.logs
    assert log == run_file.read(path).benchmarks["test_a.py::b0"].processes[0].log
    assert math.exp(second.logs[0]) == pytest.approx(2e6, rel=0.1)


def test_a_run_of_pytest_benchmark_alone_has_its_median_with_rounds_or_without(tmp_path):
    one = plain(1, [0.001])
    other = plain(1, [0.001])
    other["benchmarks"][0]["stats"]["data"] = [0.5, 0.7]
    (found, again) = (Digest.of(path) for path in save(tmp_path, [one, other]))
    assert found == again
    assert math.exp(found.benchmarks[0].logs[0]) == pytest.approx(1e6)
    assert found.environment.startswith("a-cpu_")
    assert found.date == "2026-01-02T00:00:00.000000+00:00"
    assert found.commit_date is None
    (path,) = save(tmp_path, [{**one, "datetime": "2026-01-01T10:00:00+02:00"}])
    assert Digest.of(path).date == "2026-01-01T08:00:00.000000+00:00"


def test_what_was_disturbed_is_no_evidence_and_other_work_has_another_digest(tmp_path):
    changed = run(1, [1.0])
    changed["benchmarks"][0]["extra_info"]["gnnbench"]["code_hash"] = "f" * 16
    paths = save(tmp_path, [run(1, [1.0], contended=True), run(1, [1.0]), changed])
    disturbed, one, other = (Digest.of(path).benchmarks[0] for path in paths)
    assert (disturbed.logs, disturbed.contended) == ((), 1)
    assert disturbed.work == one.work != other.work


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"datetime": "yesterday"}, "datetime is not a date: 'yesterday'"),
        ({"benchmarks": 3}, "no list of benchmarks"),
        ({"datetime": "0001-01-01T00:00:00+23:00"}, "datetime is not a date"),
    ],
)
def test_other_content_is_refused_in_a_line(tmp_path, change, why):
    (path,) = save(tmp_path, [{**plain(1, [0.001]), **change}])
    with pytest.raises(UsageError, match=f"^{path}.*{why}"):
        Digest.of(path)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a/one.json", "a/b/two.json", "a/notes.txt", "a/.hidden/three.json", "a/.half.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["a"], ["a/b/two.json", "a/one.json"]),
        (["a/*.json"], ["a/one.json"]),
        (["a/**/*.json"], ["a/b/two.json", "a/one.json"]),
        (["a/notes.txt", "a/one.json", "a"], ["a/b/two.json", "a/notes.txt", "a/one.json"]),
        (["a/.hidden"], ["a/.hidden/three.json"]),
    ],
)
def test_folders_patterns_and_files(folder, names, found):
    assert run_digests.find(names) == [folder / name for name in found]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("empty", "this folder has no .json file"),
        ("a/*.js", "no file matches this pattern"),
        ("nothing", "no such file or folder"),
    ],
)
def test_a_name_of_nothing_is_one_line(folder, name, why):
    with pytest.raises(UsageError, match=why):
        run_digests.find([str(folder / "a"), name])


def test_what_cannot_be_used_is_refused_in_a_line(tmp_path):
    paths = save(tmp_path, [run(number, row) for number, row in enumerate(factors(0, 4))])
    paths[2].write_text(paths[2].read_text()[:100])
    paths[3].unlink()
    found, refused = run_digests.read(paths, lambda *_: None)
    assert found == {path: Digest.of(path) for path in paths[:2]}
    assert refused[0].startswith(f"{paths[2]}: not JSON, or cut off")
    assert refused[1].startswith(f"{paths[3]}: cannot be read (No such file")
