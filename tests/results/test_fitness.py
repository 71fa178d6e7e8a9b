import pytest

from gnnbench.errors import UsageError
from gnnbench.results import fitness, run_file
from gnnbench.results.baseline import RecordStore
from tests.run_files import content, entry, plain, save, suite

MACHINE = "Linux-CPython-3.11-64bit"


@pytest.fixture
def store(tmp_path):
    return RecordStore(tmp_path / "timings")


def contents(count=3, **changes):
    return [suite(seed, **changes) for seed in range(count)]


def with_checkout(**changes):
    """Return a run file with a checkout beside the project."""
    tree = {"commit": "b" * 40, "changed_files": 0, "packages": ["torch_geometric"], "compiled": False}
    trees = [{**tree, "path": "."}, {**tree, "path": "../pyg", **changes}]
    content = suite(1)
    content["gnnbench"]["sources"] = {"python": "3.11", "trees": trees, "packages": {}}
    return content


def test_verify_sees_what_reading_does_not(store):
    record = store.save(contents(), MACHINE, "abc", "")
    fitness.verify(record)
    odd = contents()
    odd[0]["benchmarks"][0]["extra_info"]["gnnbench"]["measurement"]["iterations"] = 0
    with pytest.raises(UsageError, match=r"p1.json: \$.measurement.iterations: 0 is less than the minimum"):
        fitness.verify(store.save(odd, MACHINE, "odd", ""))
    moved = store.root / "elsewhere" / MACHINE
    moved.mkdir(parents=True)
    for file in record.files:
        file.rename(moved / file.name)
    (record,) = store.records("elsewhere")
    with pytest.raises(UsageError, match="wrong folder; its environment is"):
        fitness.verify(record)


def test_what_is_unfit_says_why(tmp_path):
    def reason(*contents):
        return fitness.unfit([run_file.read(path) for path in save(tmp_path, *contents)])

    good = suite(1)
    cut = suite(1)
    cut["gnnbench"]["incomplete"] = [{"fullname": "test_a.py::b9", "error": "OOM", "measurement": None}]
    assert reason(good, suite(2)) is None
    assert reason(cut) == "test_a.py::b9 was interrupted"
    assert reason(content()) == "no benchmark was timed"
    assert "gnnbench did not time the benchmarks" in reason(plain(1))
    assert reason(suite(1, dirty=True)) == "tracked files of this project have uncommitted changes"
    assert reason(with_checkout(changed_files=2)) == "tracked files of ../pyg have uncommitted changes"
    assert "another commit" in reason(with_checkout(), with_checkout(commit="c" * 40))
    assert reason(good, suite(2, threads=1)) == "the environment changed during the recording: threads"
    assert "another commit" in reason(good, suite(2, commit="b" * 40))
    assert reason(good, suite(2, benchmarks=5)) == "test_a.py::b5 is missing in some processes"
    coded = [content(entry("b", code_hash=digit * 16)) for digit in "ab"]
    assert reason(*coded) == "the code of test_a.py::b changed during the recording"


def test_a_benchmark_beside_which_nobody_looked_at_others_is_no_baseline(tmp_path):
    unwatched = [suite(seed) for seed in range(3)]
    for one in unwatched:
        one["benchmarks"][2]["extra_info"]["gnnbench"]["measurement"]["clock"] = "perf_counter"
    runs = [run_file.read(path) for path in save(tmp_path, *unwatched)]
    assert fitness.unfit(runs) == (
        "CPU time of other programs was not recorded for test_a.py::b2 in 3 of 3 processes; record again"
    )


def test_a_benchmark_that_others_disturbed_in_all_processes_but_one_is_no_baseline(tmp_path):
    contended = [suite(seed) for seed in range(3)]
    for one in contended[1:]:
        one["benchmarks"][2]["extra_info"]["gnnbench"]["measurement"]["others_share"] = 0.4
    runs = [run_file.read(path) for path in save(tmp_path, *contended)]
    assert fitness.unfit(runs) == (
        "other programs used up to 40% of the CPU time while test_a.py::b2 was timed, "
        "more than 10% in 2 of 3 processes; stop them, or wait, then record again"
    )
    assert fitness.unfit(runs[:2]) is not None
    assert fitness.unfit(runs[:1]) is None
