import math

import pytest

from gnnbench.engine.drive import along
from gnnbench.engine.drive.along import Axis, pair
from gnnbench.engine.drive.runs import NO_ROUNDS
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.judge.verdict import Thresholds
from gnnbench.engine.store import run_file
from tests.engine.show import contents
from tests.run_files import content, entry, plain, save, scale

PLATFORM = Axis("platform")


def compared(folder, *files, axis=PLATFORM):
    return along.compare([run_file.read(path) for path in save(folder, *files)], axis, Thresholds(0.03))


def families(count):
    return [contents.family(seed, operations=4) for seed in range(count)]


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


def test_what_all_processes_shift_alike_cancels(tmp_path):
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


def test_a_mean_that_contradicts_the_fast_calls_leaves_a_row_undecided(tmp_path):
    files = families(5)
    for one in files:
        (process,) = one["benchmarks"][0]["extra_info"]["gnnbench"]["measurement"]["processes"]  # op0 on pyg
        for block in process["blocks_ns"][::4]:
            block[:] = [100 * time for time in block]
    rows = compared(tmp_path, *files).rows
    assert [row.judgement.verdict for row in rows] == 3 * ["undecided"] + 9 * ["slower"]
    assert rows[0].judgement.ratio < 1
    assert rows[0].judgement.reason.startswith("the mean time of a block")


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


def benchmarks(folder, *entries):
    (path,) = save(folder, content(*entries))
    return list(run_file.read(path).benchmarks.values())


def of(name, param="", **params):
    ids = param or "-".join(map(str, params.values()))
    return entry(f"{name}[{ids}]") | {"params": params or None, "param": ids}


def test_what_differs_in_another_field_too_has_no_partner(tmp_path):
    others = ({}, {"dtype": "bfloat16"}, {"hidden": 64})
    entries = [contents.ours("op", "pyg", 1.0), *(contents.ours("op", "dgl", 1.0, **one) for one in others)]
    paired = pair(benchmarks(tmp_path, *entries), PLATFORM)
    assert (len(paired.pairs), paired.alone) == (1, 2)
    assert [one.value for one in pair(benchmarks(tmp_path, *entries), Axis("hidden")).pairs] == ["64"]
    paired = pair(benchmarks(tmp_path, *entries), Axis("dtype", "bfloat16"))
    assert [(one.value, one.fields["platform"]) for one in paired.pairs] == [("float32", "dgl")]


def test_threads_are_in_the_name_of_the_operation(tmp_path):
    names = ("spmm_sum_1_thread", "spmm_sum_2_threads", "spmm_sum_all_threads", "spmm_sum")
    entries = [contents.ours(name, "pyg", 1.0) for name in names]
    paired = pair(benchmarks(tmp_path, *entries), Axis("threads"))
    assert (paired.base, [one.value for one in paired.pairs], paired.alone) == ("1", ["2", "all"], 0)
    assert paired.pairs[0].fields["operation"] == "spmm_sum"


def test_an_object_is_called_as_in_the_test_id(tmp_path):
    functions = {name: f"UNSERIALIZABLE[<function {name} at 0x7f00>]" for name in ("csr", "coo")}
    entries = [of("test_sum", f"{name}-8", sum=one, n=8) for name, one in functions.items()]
    (found,) = pair(benchmarks(tmp_path, *entries), Axis("sum")).pairs
    assert found.value == "coo"
    unclear = [of("test_sum", "a-b-8", sum=functions["csr"], n=8), of("test_sum", "c-8", sum=[1], n=8)]
    (found,) = pair(benchmarks(tmp_path, *unclear), Axis("sum")).pairs
    assert found.value == "c"


def test_a_parameter_of_ones_own_beside_a_spec_is_a_field(tmp_path):
    entries = []
    for heads in (1, 4):
        one = contents.ours("own", "torch", 1.0)
        params = {**one["extra_info"]["gnnbench"]["spec"], "heads": heads}
        params["graph"] = params.pop("dataset")
        entries.append(one | {"params": params, "fullname": f"{one['fullname']}{heads}"})
    (found,) = pair(benchmarks(tmp_path, *entries), Axis("heads")).pairs
    assert found.value == "4"
    assert "graph" not in found.fields


def test_benchmarks_that_cannot_be_told_apart_are_left_out(tmp_path):
    entries = [contents.ours("op", name, 1.0) for name in ("pyg", "dgl", "torch")]
    twin = entries[1] | {"fullname": "other.py::test_twin"}
    paired = pair(benchmarks(tmp_path, *entries, twin), PLATFORM)
    assert ([one.value for one in paired.pairs], paired.ambiguous) == (["torch"], 2)


def test_a_field_and_its_base_are_parsed():
    assert Axis.parse("index-dtype=int32") == Axis("index_dtype", "int32")
    assert Axis.parse("platform") == PLATFORM
    for wrong in ("", "=pyg", "platform="):
        with pytest.raises(UsageError, match="must be a field"):
            Axis.parse(wrong)
