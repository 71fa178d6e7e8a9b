import pytest

from gnnbench.engine.drive.along import Axis, pair
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.store import run_file
from tests.report import contents
from tests.run_files import content, entry, save


def benchmarks(folder, *entries):
    (path,) = save(folder, content(*entries))
    return list(run_file.read(path).benchmarks.values())


def of(name, param="", **params):
    ids = param or "-".join(map(str, params.values()))
    return entry(f"{name}[{ids}]") | {"params": params or None, "param": ids}


def shown(found):
    return [(one.base.partition("::")[2], one.fullname.partition("::")[2], one.value) for one in found.pairs]


def test_platforms_of_an_operation_stand_side_by_side(tmp_path):
    found = benchmarks(tmp_path, *contents.family(1, operations=2, blocks=3)["benchmarks"])
    paired = pair(found, Axis("platform"))
    assert paired.base == "pyg"
    assert [one.value for one in paired.pairs] == ["sparse", "torch", "dgl"] * 2
    assert [one.fields["operation"] for one in paired.pairs] == ["op0"] * 3 + ["op1"] * 3
    assert all("op0-forward-pyg" in one.base for one in paired.pairs[:3])
    assert "platform" not in paired.pairs[0].fields
    assert pair(found, Axis("platform", "dgl")).pairs[0].value == "pyg"


def test_what_differs_in_another_field_too_has_no_partner(tmp_path):
    others = ({}, {"dtype": "bfloat16"}, {"hidden": 64})
    entries = [contents.ours("op", "pyg", 1.0), *(contents.ours("op", "dgl", 1.0, **one) for one in others)]
    paired = pair(benchmarks(tmp_path, *entries), Axis("platform"))
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


def test_parameters_of_another_project_are_fields(tmp_path):
    entries = [of("test_sort", n=n, kind=kind) for n in (10, 1000) for kind in ("quick", "stable")]
    found = benchmarks(tmp_path, *entries, of("test_other", n=10), of("test_other", n=1000), of("test_none"))
    assert shown(pair(found, Axis("kind"))) == [
        ("test_sort[10-quick]", "test_sort[10-stable]", "stable"),
        ("test_sort[1000-quick]", "test_sort[1000-stable]", "stable"),
    ]
    assert shown(pair(found, Axis("n"))) == [
        ("test_sort[10-quick]", "test_sort[1000-quick]", "1000"),
        ("test_sort[10-stable]", "test_sort[1000-stable]", "1000"),
        ("test_other[10]", "test_other[1000]", "1000"),
    ]


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
    paired = pair(benchmarks(tmp_path, *entries, twin), Axis("platform"))
    assert ([one.value for one in paired.pairs], paired.ambiguous) == (["torch"], 2)


def test_an_unknown_name_is_refused_with_those_that_are_known(tmp_path):
    found = benchmarks(tmp_path, contents.ours("op_2_threads", "pyg", 1.0), contents.ours("op", "dgl", 1.0))
    known = "dataset, device, direction, dtype, hidden, index_dtype, operation, platform, threads"
    with pytest.raises(UsageError, match=f"^unknown field 'nope': known: {known}$"):
        pair(found, Axis("nope"))
    with pytest.raises(UsageError, match="unknown platform 'dlg': did you mean dgl"):
        pair(found, Axis("platform", "dlg"))
    with pytest.raises(UsageError, match="these benchmarks have no parameters"):
        pair(benchmarks(tmp_path, entry("b")), Axis("nope"))


def test_a_field_and_its_base_are_parsed():
    assert Axis.parse("index-dtype=int32") == Axis("index_dtype", "int32")
    assert Axis.parse("platform") == Axis("platform")
    for wrong in ("", "=pyg", "platform="):
        with pytest.raises(UsageError, match="must be a field"):
            Axis.parse(wrong)
