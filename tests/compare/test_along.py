import math

import pytest

from gnnbench.engine.drive import along
from gnnbench.engine.drive.along import Axis
from gnnbench.engine.drive.runs import NO_ROUNDS
from gnnbench.engine.ground import codec
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.judge.verdict import Reason, Thresholds
from gnnbench.engine.store import run_file
from tests.report import contents
from tests.run_files import content, plain, save, scale

THRESHOLDS = Thresholds(effect=0.03)
PLATFORM = Axis("platform")


def compared(folder, *files, axis=PLATFORM):
    return along.compare([run_file.read(path) for path in save(folder, *files)], axis, THRESHOLDS)


def families(count, **changes):
    return [contents.family(seed, operations=4, **changes) for seed in range(count)]


def test_each_platform_is_judged_against_the_first(tmp_path):
    """Platforms take 1, 1.3, 1.6 and 1.9 times as long."""
    found = compared(tmp_path, *families(5))
    row = codec.encode(found)["rows"][0]
    assert row["seconds"] / row["base_seconds"] == pytest.approx(row["judgement"]["ratio"])
    assert found.processes == 5
    assert len(found.rows) == 12
    for row in found.rows:
        truth = {"sparse": 1.3, "torch": 1.6, "dgl": 1.9}[row.pair.value]
        assert row.judgement.verdict == "slower"
        assert row.judgement.low < row.judgement.own_low < row.judgement.own_high < row.judgement.high
        assert row.judgement.low < truth < row.judgement.high
        assert row.seconds / row.base_seconds == pytest.approx(row.judgement.ratio)


def test_a_mean_is_of_the_benchmarks_that_both_have(tmp_path):
    files = families(5)
    for one in files:
        del one["benchmarks"][3]  # op0 on dgl
    found = compared(tmp_path, *files)
    assert [(one.value, one.benchmarks) for one in found.means] == [("sparse", 4), ("torch", 4), ("dgl", 3)]
    for mean in found.means:
        ratios = [row.judgement.ratio for row in found.rows if row.pair.value == mean.value]
        assert mean.judgement.ratio == pytest.approx(math.prod(ratios) ** (1 / len(ratios)))
        assert mean.judgement.own_low < mean.judgement.ratio < mean.judgement.own_high


def test_one_process_has_intervals_but_no_verdict(tmp_path):
    found = compared(tmp_path, *families(1))
    assert found.processes == 1
    for row in found.rows:
        assert (row.judgement.verdict, row.judgement.code) == ("undecided", Reason.ONE_PROCESS)
        assert row.judgement.low < row.judgement.ratio < row.judgement.high
    assert all(one.judgement.ratio and one.judgement.own_low is None for one in found.means)


def test_what_all_processes_shift_alike_cancels(tmp_path):
    """A process that is three times slower as a whole changes no ratio."""
    files = families(5)
    steady = compared(tmp_path, *files)
    for one in files[1]["benchmarks"]:
        scale(one["extra_info"]["gnnbench"]["measurement"], 3)
    for row, other in zip(compared(tmp_path, *files).rows, steady.rows, strict=True):
        assert row.judgement.ratio == pytest.approx(other.judgement.ratio)
        assert row.judgement.low == pytest.approx(other.judgement.low)


def test_what_was_disturbed_is_no_evidence(tmp_path):
    def disturb(one, *platforms):
        for benchmark in one["benchmarks"]:
            ours = benchmark["extra_info"]["gnnbench"]
            if ours["spec"]["platform"] in platforms and ours["spec"]["operation"] == "op0":
                ours["measurement"] |= {"contention_share": 0.5}
        return one

    found = compared(tmp_path, *(disturb(one, "dgl") for one in families(5)))
    row = next(row for row in found.rows if row.pair.value == "dgl")
    assert (row.judgement.verdict, row.judgement.ratio) == ("incomparable", None)
    assert row.judgement.reason.endswith("while the benchmark with platform dgl was timed")
    assert row.seconds
    mixed = [disturb(one, "dgl" if number else "pyg") for number, one in enumerate(families(2))]
    row = next(row for row in compared(tmp_path, *mixed).rows if row.pair.value == "dgl")
    assert row.judgement.reason == "no process timed both"


def test_without_rounds_there_is_no_ratio(tmp_path):
    whole = plain(1, data=False)
    for number, one in enumerate(whole["benchmarks"]):
        one |= {"fullname": f"test_p.py::p[{number}]", "params": {"n": number}, "param": str(number)}
    found = compared(tmp_path, whole, axis=Axis("n"))
    assert {row.judgement.reason for row in found.rows} == {NO_ROUNDS}
    assert found.means == ()


def test_another_way_of_measuring_is_noted(tmp_path):
    entries = [contents.ours("op", name, 1.0) for name in ("pyg", "dgl")]
    entries[1]["extra_info"]["gnnbench"]["measurement"]["layouts"] = "one"
    (row,) = compared(tmp_path, content(*entries)).rows
    assert row.judgement.ratio == pytest.approx(1, rel=0.05)
    (note,) = row.notes
    assert note.startswith("measured differently: ")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"threads": 8}, "threads 2 vs 8"),
        ({"libraries": [["torch", "2.14.0"]]}, "libraries.torch 2.13.0 vs 2.14.0"),
        ({"commit": "b" * 40}, "commit "),
    ],
)
def test_files_of_different_runs_are_refused(tmp_path, changes, message):
    text = f"not a process of the run of .*run-0.json: they differ in {message}"
    other = contents.family(2)
    other["gnnbench"]["environment"] |= changes
    with pytest.raises(UsageError, match=text):
        compared(tmp_path, contents.family(1), other)
