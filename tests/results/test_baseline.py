import pytest

from gnnbench.engine.ground import environment
from gnnbench.engine.store.baseline import RecordStore
from tests.run_files import ENVIRONMENT, suite

HERE = environment.name(ENVIRONMENT)
MACHINE = "Linux-CPython-3.11-64bit"


@pytest.fixture
def store(tmp_path):
    return RecordStore(tmp_path / "timings")


def contents(count=3, **changes):
    return [suite(seed, **changes) for seed in range(count)]


def test_a_record_is_its_processes_under_one_number(store):
    first = store.save(contents(), MACHINE, "abc", "the first")
    second = store.save(contents(), MACHINE, "abc", "")
    assert [file.relative_to(store.root).as_posix() for file in first.files] == [
        f"{HERE}/{MACHINE}/0001_abc_p{number}.json" for number in (1, 2, 3)
    ]
    assert (first.id, second.id) == ("0001", "0002")
    assert store.records() == [first, second]
    runs = first.read()
    assert [run.part.record.process for run in runs] == [1, 2, 3]
    assert runs[0].part.record.reason == "the first"
    assert store.nearest(ENVIRONMENT) == (second, [])


def test_the_nearest_environment_is_the_one_with_the_fewest_differences(store):
    assert store.nearest(ENVIRONMENT) == (None, [])
    store.save(contents(threads=4, wait_policy="", cpu="Another"), MACHINE, "far", "")
    near = store.save(contents(threads=4, wait_policy=""), MACHINE, "near", "")
    assert store.nearest(ENVIRONMENT) == (near, [("threads", 4, 2), ("wait_policy", "", "PASSIVE")])
    same = store.save(contents(), MACHINE, "same", "")
    store.save(contents(threads=4, wait_policy=""), MACHINE, "near", "")
    assert store.nearest(ENVIRONMENT) == (same, [])
