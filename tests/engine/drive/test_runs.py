from dataclasses import replace

import pytest

from gnnbench.engine.drive.runs import compare
from gnnbench.engine.ground.shard import Shard
from gnnbench.engine.judge.verdict import SAME_CODE, Thresholds
from gnnbench.engine.store import run_file
from tests.run_files import content, entry, fingerprint, save, suite

THRESHOLDS = Thresholds(effect=0.03)


def runs(folder, *contents):
    return [run_file.read(path) for path in save(folder, *contents)]


def processes(folder, count=3, first=0, **changes):
    return runs(folder, *(content(entry("b", seed=seed, **changes)) for seed in range(first, first + count)))


def by_name(base, head, **options):
    rows = compare(base, head, THRESHOLDS, **options).rows
    return {row.fullname.rpartition("::")[2]: row for row in rows}


def only(base, head):
    (row,) = compare(base, head, THRESHOLDS).rows
    return row


def measured(one, **changes):
    one["extra_info"]["gnnbench"]["measurement"] |= changes
    return one


@pytest.mark.parametrize("field", ["shard", "not_default"])
def test_what_another_shard_runs_or_is_not_default_in_the_head_has_not_vanished(tmp_path, field):
    whole = suite(1)
    mine = [one for one in whole["benchmarks"] if Shard(1, 2).has(one["fullname"])]
    others = [one["fullname"] for one in whole["benchmarks"] if one not in mine]
    gone, *kept = mine
    assert min(len(kept), len(others)) > 0
    ours = {**whole["gnnbench"], field: "1/2" if field == "shard" else others}
    part = {**whole, "benchmarks": kept, "gnnbench": ours}
    rows = by_name(runs(tmp_path, whole), runs(tmp_path, part, part))
    assert set(rows) == {one["name"] for one in mine}
    assert "missing" in rows[gone["name"]].judgement.reason


def test_new_and_vanished_benchmarks_are_named(tmp_path):
    base = runs(tmp_path, *(content(entry("old"), entry("b1", seed=seed)) for seed in range(3)))
    head = runs(tmp_path, content(entry("new"), entry("b1")))
    rows = by_name(base, head)
    assert rows["new"].judgement.reason == "new: not in the baseline"
    assert rows["old"].judgement.reason == "missing: in the baseline, but not timed in this run"


def test_benchmarks_that_were_not_asked_for_still_tell_how_much_processes_differ(tmp_path):
    base = runs(tmp_path, *(suite(seed, benchmarks=30) for seed in range(5)))
    one = suite(9, benchmarks=1, deviation=0)
    alone = compare(base, runs(tmp_path, one), THRESHOLDS, vanished=()).rows
    assert len(alone) == 1
    assert alone[0].judgement.shrunk
    few = runs(tmp_path, *(suite(seed, benchmarks=1) for seed in range(5)))
    assert not compare(few, runs(tmp_path, one), THRESHOLDS).rows[0].judgement.shrunk


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"definition_hash": "f" * 16},
            "different definition of the benchmark: hash eeeeeeeeeeeeeeee vs ffff",
        ),
        ({"graph": {"content_hash": "0" * 16}}, "different graph: content hash not saved vs 0000"),
        ({"layouts": "sampled"}, "measured differently"),
    ],
)
def test_other_work_and_other_layouts_are_not_compared(tmp_path, change, reason):
    base = processes(tmp_path, definition_hash="e" * 16)
    other = entry("b", **{"definition_hash": "e" * 16, **change})
    measured(other, layouts=change.get("layouts", "one"))
    row = only(base, runs(tmp_path, content(other)))
    assert row.judgement.verdict == "incomparable"
    assert row.judgement.reason.startswith(reason)


def coded(seed, *, call=1, factor=1.0, benchmarks=6, **changes):
    """Return a process whose benchmarks have fingerprints; the code of `b0` is `call`."""
    made = suite(seed, benchmarks=benchmarks, factor=factor, **changes)
    for one in made["benchmarks"]:
        ours = one["extra_info"]["gnnbench"]
        ours["fingerprint"] = fingerprint(call=call if one["name"] == "b0" else 1)
    return made


def test_the_same_code_is_same_whatever_its_times_and_the_environment(tmp_path):
    base = runs(tmp_path, *(coded(seed) for seed in range(3)))
    head = coded(9, factor=1.5, threads=4)
    measured(head["benchmarks"][1], layouts="sampled", clock="perf_counter", contention_share=0.5)
    found = compare(base, runs(tmp_path, head), THRESHOLDS)
    for row in found.rows:
        count = 0 if row.fullname.endswith("b1") else 1  # which was disturbed
        assert row.judgement == replace(SAME_CODE, base_processes=3, head_processes=count)
        assert row.notes == ()
        assert row.seconds


@pytest.mark.parametrize(
    ("processes", "factor", "verdict", "cost"),
    [
        (5, 1.8, "same", None),
        (5, 4.0, "slower", 4.0),
        (5, 0.2, "faster", 0.2),
        (1, 4.0, "same", None),
        (1, 13.0, "incomparable", 13.0),
    ],
)
def test_times_that_are_far_apart_count_though_the_fingerprints_are_equal(
    tmp_path, processes, factor, verdict, cost
):
    base = runs(tmp_path, *(coded(seed) for seed in range(processes)))
    head = runs(tmp_path, *(coded(seed, factor=factor) for seed in range(10, 10 + processes)))
    rows = by_name(base, head)
    costly = rows.pop("b0")
    assert costly.judgement.verdict == verdict
    assert costly.judgement.same_code == (cost is None)
    assert costly.work.cost == (cost and pytest.approx(cost, rel=0.3))
    assert [note.startswith("same code, but a call costs") for note in costly.notes] == [True] * bool(cost)
    assert all(row.judgement.same_code for row in rows.values())
    elsewhere = runs(tmp_path, coded(9, factor=100, threads=4))
    assert by_name(base, elsewhere)["b0"].judgement.same_code, "of another environment they do not count"


def test_calls_that_become_slow_now_and_then_are_not_the_same_as_before(tmp_path):
    base, head = ([suite(seed, deviation=0.003) for seed in seeds] for seeds in (range(3), range(3, 6)))
    for one in head:
        blocks = one["benchmarks"][0]["extra_info"]["gnnbench"]["measurement"]["processes"][0]["blocks_ns"]
        blocks[::3] = [[9 * ns for ns in block] for block in blocks[::3]]
    slow, *others = by_name(runs(tmp_path, *base), runs(tmp_path, *head)).values()
    assert (slow.judgement.verdict, {row.judgement.verdict for row in others}) == ("undecided", {"same"})
    assert slow.judgement.ratio == pytest.approx(9 ** (1 / 3), rel=0.1)


def test_changed_code_is_judged_by_its_times_and_named(tmp_path):
    base = runs(tmp_path, *(coded(seed) for seed in range(5)))
    rows = by_name(base[:1], runs(tmp_path, coded(2, call=2)))
    assert rows.pop("b0").judgement.verdict == "incomparable", "one process on each side"
    assert {row.judgement.verdict for row in rows.values()} == {"same"}, "is enough for the same code"
    head = runs(tmp_path, *(coded(seed, call=2, factor=1.3) for seed in range(10, 13)))
    rows = by_name(base, head)
    assert rows["b0"].judgement.verdict == "slower"
    assert rows["b0"].notes == ("code: call",)
    assert rows["b1"].judgement.same_code


def test_the_same_code_does_not_count_in_the_correction_for_many_benchmarks(tmp_path):
    def high(make):
        base = runs(tmp_path, *(make(seed) for seed in range(3)))
        (row,) = compare(base, runs(tmp_path, make(9, call=2)), THRESHOLDS).rows[:1]
        return row.judgement.high

    def unknown(seed, **changes):
        made = coded(seed, **changes)
        for one in made["benchmarks"]:
            del one["extra_info"]["gnnbench"]["fingerprint"]
        return made

    assert high(coded) < high(unknown)


def test_other_settings_are_no_same_code(tmp_path):
    prints = (fingerprint(call=1, threads=threads) for threads in "24")
    row = only(*(processes(tmp_path, fingerprint=one) for one in prints))
    assert not row.judgement.same_code
    assert row.notes == ("code: same functions, different settings (threads)",)


@pytest.mark.parametrize(
    ("other", "notes"),
    [
        ({"fingerprint": fingerprint(call=2)}, ()),
        ({"no_fingerprint": "the call starts a process"}, ("code not compared: the call starts a process",)),
    ],
)
def test_a_side_whose_files_disagree_has_no_fingerprint(tmp_path, other, notes):
    head = processes(tmp_path, 1, fingerprint=fingerprint(call=1))
    row = only([*head, *processes(tmp_path, 1, 1, **other)], head)
    assert (row.judgement.same_code, row.notes) == (False, notes)


def test_whole_calls_are_judged_by_their_times_though_nothing_changed(tmp_path):
    why = "each call is timed as a whole (the call starts a process)"
    base = processes(tmp_path, 5, no_fingerprint=why)
    row = only(base, processes(tmp_path, 3, 10, no_fingerprint=why))
    assert (row.judgement.verdict, row.judgement.same_code) == ("same", False)
    assert row.judgement.low is not None
    assert row.notes == (f"code not compared: {why}",)
    assert row.work.no_fingerprint == why


def test_what_others_disturbed_is_no_evidence(tmp_path):
    def process(seed, share):
        return content(measured(entry("b", seed=seed), contention_share=share), entry("c", seed=seed))

    base = runs(tmp_path, *(process(seed, 0.5 if seed == 0 else 0.01) for seed in range(4)))
    rows = by_name(base, runs(tmp_path, process(9, 0.02)))
    assert (rows["b"].judgement.base_processes, rows["c"].judgement.base_processes) == (3, 4)
    rows = by_name(base, runs(tmp_path, process(9, 0.4)))
    assert rows["b"].judgement.reason.startswith("other programs used more than 10% of the CPU time")
    assert rows["c"].judgement.verdict != "incomparable"
