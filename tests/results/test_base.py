from gnnbench.engine.ground.shard import Shard
from gnnbench.engine.store.base import choose
from tests.run_files import content, entry, of_operation

SPEC = of_operation("spmm_sum")["benchmarks"][0]["extra_info"]["gnnbench"]["spec"]


def record(store, *names, covers=(), not_default=(), shard=None, specs=None):
    """Save a record of two processes with benchmarks of test_a.py."""
    processes = []
    for seed in range(2):
        entries = (entry(name, seed=seed, **({"spec": specs[name]} if specs else {})) for name in names)
        one = content(*entries)
        one["gnnbench"]["covers"] = list(covers)
        one["gnnbench"]["not_default"] = [f"test_a.py::{name}" for name in not_default]
        if shard:
            one["gnnbench"]["shard"] = shard
        processes.append(one)
    return store.save(processes, "machine", "some", "")


def chosen(store, *head, places=("test_a.py",)):
    """Return the number of the record that each benchmark is compared with."""
    records = store.records()[::-1]
    base = choose(records, [f"test_a.py::{name}" for name in head], places)
    for run in base.runs:
        (number,) = {base.records[name].id for name in run.benchmarks}
        assert run.path.name.startswith(number)
    assert sum(len(run.benchmarks) for run in base.runs) == 2 * len(base.records)
    return {name.partition("::")[2]: one.number for name, one in base.records.items()}


def test_each_benchmark_has_the_newest_record_that_contains_it(store):
    record(store, "b1", "b2", "b3", covers=["."])
    record(store, "b2")
    record(store, "b3", "b4")
    assert chosen(store, "b1", "b2", "b3", "b4", "new") == {"b1": 1, "b2": 2, "b3": 3, "b4": 3}


def test_what_a_newer_record_of_the_whole_lacks_was_gone_before_it(store):
    record(store, "b1", "b2", "b3", covers=["."])
    record(store, "b1", "b2", covers=["test_a.py"])
    record(store, "b1")
    assert chosen(store, "b1") == {"b1": 3, "b2": 2}
    assert chosen(store, "b1", "b3") == {"b1": 3, "b2": 2, "b3": 1}, "it is back"


def test_what_a_newer_record_was_not_asked_for_is_no_lack(store):
    specs = {"b1": SPEC, "b2": {**SPEC, "platform": "dgl"}, "b3": SPEC}
    record(store, *specs, specs=specs)
    record(store, "b1", covers=["test_a.py"], specs=specs)
    assert chosen(store, "b1", places=["."]) == {"b1": 2, "b2": 1}


def test_what_is_not_default_is_no_lack_and_what_is_gone_is_one(store):
    record(store, "b1", "b2", "b3", covers=["."])
    record(store, "b1", covers=["."], not_default=["b2"])
    assert chosen(store, "b1", "b2") == {"b1": 2, "b2": 1}, "b3 was removed"


def test_what_belongs_to_another_shard_is_no_lack(store):
    other, own = sorted((1, 2), key=lambda number: Shard(number, 2).has("test_a.py::b2"))
    record(store, "b1", "b2")
    record(store, "b1", covers=["test_a.py"], shard=f"{other}/2")
    assert chosen(store, "b1", places=["."]) == {"b1": 2, "b2": 1}
    record(store, "b1", covers=["test_a.py"], shard=f"{own}/2")
    assert chosen(store, "b1", places=["."]) == {"b1": 3}


def test_older_records_are_read_only_while_they_can_tell_more(store):
    broken = record(store, "b1", "b2", covers=["."])
    broken.files[0].write_text("{")
    record(store, "b1", "b2", covers=["."])
    assert chosen(store, "b1") == {"b1": 2, "b2": 2}
    record(store, "b1")
    assert chosen(store, "b1", places=[]) == {"b1": 3}
