import json
from collections import Counter
from functools import partial

import pytest
import torch

from gnnbench.engine.measure import counters
from gnnbench.engine.profile import counts
from gnnbench.suite.operations import OPERATIONS
from tests.engine.profile.subjects import EDGES, edge_index, epoch, subject_of
from tests.graphs import needs_dgl


def take(call):
    section = counts.counts(subject_of(call, "cpu", 1))
    assert json.loads(json.dumps(section)) == section
    return section


def total(rows):
    return sum(row["count"] for row in rows)


@pytest.mark.parametrize("platform", OPERATIONS["epoch"].calls)
def test_counts_of_an_epoch_are_those_of_counters(make_case, platform):
    call = epoch(make_case("epoch", platform, "train")).pedantic.target
    expected, section = counters.count(call), take(call)
    for kind in ("operators", "library_calls", "host_reads", "mask_reads"):
        found = Counter()
        for row in section[kind]:
            found[row["name"]] += row["count"]
        assert found == {**expected.counts, **expected.details}[kind], kind
    (layer,) = [row for row in section["ranges"] if row["path"][-1].endswith("Conv")]
    assert layer["count"] == 3
    inside = {tuple(row["path"][:3]) for row in section["operators"]}
    assert {tuple(layer["path"]), ("call", "backward")} <= inside


@needs_dgl
def test_the_caller_of_dgls_reads_is_not_its_name_for_a_function_of_torch(make_case):
    dgl = OPERATIONS["degree_norm"].kernel("dgl")
    case = make_case("degree_norm", "dgl")
    graph, like = dgl.build(case), case.features(1)
    rows = take(lambda: dgl.run(graph, like))["host_reads"]
    assert [row["caller"].split(":")[0] for row in rows] == ["dgl/heterograph.py"] * len(rows)
    assert total(rows) == 2


def test_sorts_are_named_with_their_caller():
    """If a function of torch is benchmarked itself, the benchmark calls it."""
    matrix = torch.sparse_coo_tensor(edge_index(), torch.ones(EDGES)).coalesce()

    def sorting():
        matrix.indices()[0].argsort()
        matrix.indices()[0].unique()
        matrix.to_sparse_csr()
        torch.sparse_coo_tensor(matrix.indices(), matrix.values()).coalesce()

    rows = take(sorting)["sorts"]
    names = ["aten::sort", "aten::_unique2", "aten::_to_sparse_csr", "aten::_coalesce"]
    assert [(row["name"], row["count"]) for row in rows] == [(name, 1) for name in names]
    assert {row["caller"].split(".")[-1] for row in rows} == {"sorting"}
    call = partial(torch.sort, edge_index())
    assert [row["caller"] for row in take(call)["sorts"]] == ["the benchmark"]


def test_an_error_leaves_no_mode_behind():
    before = torch._ops.OpOverloadPacket.__call__, torch.Tensor.backward
    with pytest.raises(ZeroDivisionError):
        take(lambda: 1 / 0)
    assert (torch._ops.OpOverloadPacket.__call__, torch.Tensor.backward) == before
    assert torch._C._len_torch_function_stack() == torch._C._len_torch_dispatch_stack() == 0
