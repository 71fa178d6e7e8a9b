import json
from threading import Thread

import pytest

from gnnbench.engine.drive import runs as runs_
from gnnbench.engine.ground import environment
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.ground.files import one_writer
from gnnbench.engine.judge.verdict import Thresholds
from gnnbench.engine.store import run_file
from gnnbench.engine.store.baseline import RecordStore
from tests.run_files import ENVIRONMENT, content, entry, fingerprint, save, suite

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
    names = [f"0001_abc_p{number}.json" for number in (1, 2, 3)]
    assert [*first.files] == [store.root / HERE / MACHINE / name for name in names]
    assert (first.id, second.id) == ("0001", "0002")
    assert store.records() == [first, second]
    runs = first.read()
    assert [run.part.record.process for run in runs] == [1, 2, 3]
    assert runs[0].part.record.reason == "the first"
    assert store.nearest(ENVIRONMENT) == (second, [])


def test_a_fingerprint_is_saved_once_if_all_processes_agree_and_holds_for_all(store):
    def versions(*numbers):
        """Return a process for each number, whose benchmark runs that version of its code."""
        prints = [{"fingerprint": fingerprint(call=number)} if number else {} for number in numbers]
        return [content(entry("b", seed=seed, **one)) for seed, one in enumerate(prints)]

    def saved(record):
        entries = [json.loads(file.read_text())["benchmarks"][0] for file in record.files]
        return [one["extra_info"]["gnnbench"].get("fingerprint") for one in entries]

    def is_same(runs, version=1):
        """Return whether they run the same code as a run of a version."""
        (path,) = save(store.root.parent, *versions(version))
        return runs_.compare(runs, [run_file.read(path)], Thresholds(0.03)).rows[0].judgement.same_code

    record = store.save(versions(1, 1, 1), MACHINE, "abc", "")
    assert saved(record) == [fingerprint(call=1), None, None]
    assert is_same(record.read())
    assert not is_same(record.read(), 2)
    for disagreeing in (versions(1, 1, 2), versions(1, None)):
        other = store.save(disagreeing, MACHINE, "abc", "")
        assert set(saved(other)) == {None}
        assert not is_same(other.read())
    assert not is_same([*record.read(), *other.read()]), "a part of them disagrees"


def test_the_nearest_environment_is_the_one_with_the_fewest_differences(store):
    assert store.nearest(ENVIRONMENT) == (None, [])
    store.save(contents(threads=4, wait_policy="", cpu="Another"), MACHINE, "far", "")
    near = store.save(contents(threads=4, wait_policy=""), MACHINE, "near", "")
    assert store.nearest(ENVIRONMENT) == (near, [("threads", 4, 2), ("wait_policy", "", "PASSIVE")])
    same = store.save(contents(), MACHINE, "same", "")
    store.save(contents(threads=4, wait_policy=""), MACHINE, "near", "")
    assert store.nearest(ENVIRONMENT) == (same, [])


def test_a_damaged_record_is_named_if_it_is_of_this_environment(store):
    same, other = (store.save(contents(threads=threads), MACHINE, "abc", "") for threads in (2, 4))
    other.files[0].write_text("<<<<<<< HEAD")
    assert store.nearest(ENVIRONMENT) == (same, [])
    same.files[0].write_text("<<<<<<< HEAD")
    with pytest.raises(UsageError, match=r"0001_abc_p1\.json: not valid JSON"):
        store.nearest(ENVIRONMENT)


def test_of_an_interrupted_record_nothing_is_left(store):
    class Interrupting(dict):
        def __getitem__(self, key):
            if key == "gnnbench" and list(store.root.rglob("0001_*")):
                raise KeyboardInterrupt
            return super().__getitem__(key)

    with pytest.raises(KeyboardInterrupt):
        store.save([*contents(1), Interrupting(contents(2)[1])], MACHINE, "abc", "")
    assert not list(store.root.rglob("*.json"))


def test_two_records_at_once_have_two_numbers(store):
    others = contents(2)
    writer = Thread(target=store.save, args=(contents(2), MACHINE, "abc", ""))
    with one_writer(store.root):
        writer.start()
        writer.join(0.3)  # it waits, as the folder is locked
        folder = store.root / HERE / MACHINE
        folder.mkdir(parents=True, exist_ok=True)
        for number, other in enumerate(others, 1):
            (folder / f"0001_abc_p{number}.json").write_text(json.dumps(other))
    writer.join()
    assert [record.id for record in store.records()] == ["0001", "0002"]
