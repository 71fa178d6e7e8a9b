import sys
from collections.abc import Collection, Hashable
from dataclasses import replace

import pytest
import torch
from torch_geometric.nn import GCNConv

from gnnbench.engine.ground import codec
from gnnbench.engine.measure.clock import Call
from gnnbench.engine.measure.counter_changes import changed
from gnnbench.engine.measure.counters import count
from gnnbench.engine.measure.fingerprint.fingerprint import Recordings
from gnnbench.suite.operations import OPERATIONS
from tests.engine.profile.subjects import NODES, edge_index


def called(case):
    """Return what an operation runs on a case, as a function without arguments."""
    kernel = OPERATIONS[case.spec.operation].kernel(case.spec.platform)
    structure, x = kernel.build(case), case.features()
    return lambda: kernel.run(structure, x)


def test_where_nothing_is_compiled_the_compiler_is_not_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch._dynamo", raising=False)
    assert count(lambda: torch.ones(2) + 1).counts["operators"] == {"aten::add": 1, "aten::ones": 1}
    assert "torch._dynamo" not in sys.modules


@pytest.mark.parametrize(
    ("sparse", "requires_grad", "operators", "host_reads"),
    [(False, False, 49, 1), (True, False, 60, 13), (False, True, 52, 1), (True, True, 63, 13)],
)
def test_gcn_conv_waits_more_often_on_a_sparse_tensor(sparse, requires_grad, operators, host_reads):
    """The published counts of GCNConv(64, 64) on Cora's size, forward and backward."""
    structure = edge_index()
    if sparse:
        torch_sparse = pytest.importorskip("torch_sparse")
        structure = torch_sparse.SparseTensor.from_edge_index(structure, sparse_sizes=(NODES, NODES)).t()
    conv, x = GCNConv(64, 64), torch.randn(NODES, 64, requires_grad=requires_grad)
    found = count(lambda: conv(x, structure).sum().backward())
    assert (found.operators, found.host_reads, found.unsteady) == (operators, host_reads, ())
    assert found.counts["operators"].get("aten::max", 0) == (4 if sparse else 0)


def test_what_is_added_to_a_kernel_is_named(make_case):
    run = called(make_case())
    before, after = count(run), count(lambda: run().double())
    assert "+1 aten::_to_copy" in map(str, changed(before.counts, after.counts, after.unsteady))
    assert before.counts["compilation"] == {}


@pytest.mark.parametrize(
    ("platform", "operation", "call"),
    [
        ("sparse", "spmm_max", "torch_sparse::spmm_max"),
        ("dgl", "update_all_copy_u_max", "dgl::DGLKernelSpMM"),
    ],
)
def test_calls_into_libraries_are_counted_and_none_stays_wrapped(make_case, platform, operation, call):
    packet_call = torch._ops.OpOverloadPacket.__call__
    found = count(called(make_case(operation, platform)))
    assert found.counts["library_calls"][call] == 1
    assert torch._ops.OpOverloadPacket.__call__ is packet_call


def test_a_count_that_two_passes_differ_in_is_unsteady_and_not_judged(make_case):
    made, run = [], called(make_case())

    def sometimes():
        made.append(1)
        if len(made) > 4:  # the second round of passes
            torch.ones(3).argsort()
        return run()

    found, steady = count(sometimes), count(run)
    assert "aten::sort" in found.unsteady
    assert "aten::sort" not in found.counts["operators"]
    assert not changed(steady.counts, found.counts, (*found.unsteady, "Python calls"))


@pytest.mark.parametrize(
    ("reads", "host_reads", "mask_reads"),
    [
        (lambda x: x.nonzero(), {"aten::nonzero": 1}, {}),
        (lambda x: x.unique(), {"aten::_unique2": 1}, {}),
        (lambda x: torch.allclose(x, x), {"aten::allclose": 1}, {}),
        (lambda x: bool(x.sum() > 1), {"aten::_local_scalar_dense": 1}, {}),
        (lambda x: x.long().bincount(), {"aten::bincount": 1}, {}),
        (lambda x: x.repeat_interleave(x.long()), {"aten::repeat_interleave": 1}, {}),
        (lambda x: x.repeat_interleave(x.long(), output_size=6), {}, {}),
        (lambda x: x.repeat_interleave(2), {}, {}),
        (lambda x: x[x > 1], {}, {"aten::index": 1}),
        (lambda x: x[x.long()], {}, {}),
        (lambda x: x.to("meta"), {"cpu→meta": 1}, {}),
        (lambda x: x.to("meta", non_blocking=True), {}, {}),
    ],
)
def test_what_a_host_waits_for(reads, host_reads, mask_reads):
    x = torch.tensor([0.0, 1, 2, 3])
    found = count(lambda: reads(x))
    assert (found.details["host_reads"], found.details["mask_reads"]) == (host_reads, mask_reads)
    assert found.host_reads == sum(host_reads.values()) + sum(mask_reads.values())


def test_a_host_does_not_wait_for_its_own_memory():
    x, there = torch.ones(3), torch.ones(3, device="meta")
    found = count(lambda: (x.sum().item(), x[x > 1], there + 1), "meta")
    assert (found.details["host_reads"], found.details["mask_reads"]) == ({}, {})


def test_kernels_memory_and_copies_are_beside_the_counts_that_are_gated_also_in_json():
    x = torch.ones(250, 4)
    found = count(lambda: ((x + x) + x, x.to("meta")))
    assert found.unsteady == ()
    read = codec.encode(found)
    memory = {"allocated_bytes": 8000, "peak_bytes": 8000, "least_peak_bytes": 8000}
    assert read["details"]["memory"] == found.details["memory"] == memory
    assert read["details"]["kernels"] == {}
    assert set(read["counts"]).isdisjoint(read["details"])
    assert read["counts"]["operators"]["aten::add"] == 2
    assert read["counts"]["copies"] == {"cpu→meta": 1}
    assert read["counts"]["copied_bytes"] == {"cpu→meta": 4000}
    assert read["host_reads"] == 1


def broken_twice(x):
    x = x + 1
    torch._dynamo.graph_break()
    x = x.sin()
    torch._dynamo.graph_break()
    return x * 2


def test_graph_breaks_are_counted_with_their_reason_and_compiled_code_runs():
    ran, x = [], torch.ones(3)

    def backend(module, _inputs):
        return lambda *inputs: ran.append(None) or module(*inputs)

    compiled = torch.compile(broken_twice, backend=backend)
    compiled(x)  # warm: what follows starts from cold all the same
    ran.clear()
    found = count(lambda: compiled(x))
    counted = dict(found.counts["compilation"])
    assert (counted.pop("recompilations"), counted.pop("graphs")) == (0, 3)
    assert sum(counted.values()) == 2
    assert all(name.startswith("graph break: ") and "\n" not in name for name in counted)
    assert found.counts["operators"] == {"aten::add": 1, "aten::mul": 1, "aten::sin": 1}
    assert found.unsteady == ()
    assert len(ran) == 7 * 3  # each call, under the dispatch mode too


@pytest.mark.parametrize(
    ("inputs", "graphs"),
    [
        ([torch.ones(3), torch.ones(3)], 1),
        ([torch.ones(3), torch.ones(3).double()], 2),
        ([torch.ones(3), torch.ones(5), torch.ones(3).double()], 3),
    ],
    ids=["same", "dtype", "shape and dtype"],
)
def test_recompilations_are_counted_whatever_was_compiled_before(inputs, graphs):
    compiled = torch.compile(lambda x: x * 2, backend="eager")
    series = inputs[:1], inputs, inputs
    once, *found = (count(lambda given=given: [compiled(x) for x in given]) for given in series)
    expected = {"graphs": graphs, "recompilations": graphs - 1}
    assert [counted.counts["compilation"] for counted in found] == [expected] * 2
    more = map(str, changed(once.counts, found[0].counts, ()))
    assert ("+1 recompilations" in more) == (graphs == 2)


def test_an_abstract_class_that_forgets_changes_no_count():
    """Registering a class with any abstract one, as imports do, makes Python ask again what is which."""

    class Own:
        pass

    def counted(registering):
        calls = iter(range(100))

        def run():
            if next(calls) == registering:
                Hashable.register(type("Other", (), {}))
            return isinstance(Own(), Collection)

        return count(run)

    found = [counted(call) for call in (-1, 1, 2, 4)]
    assert found == found[:1] * 4


@torch.library.custom_op("gnnbench_tests::doubled", mutates_args=())
def doubled(index: torch.Tensor) -> torch.Tensor:
    return index * 2


def test_recording_the_arguments_of_library_calls_changes_no_count():
    call = Call(torch.ops.gnnbench_tests.doubled, (torch.arange(5),), {})
    counted, watched = count(call.__call__, "cpu"), count(call.__call__, "cpu", Recordings(call))
    assert watched.unsteady == counted.unsteady == ()
    assert watched.counts == counted.counts


@pytest.mark.cuda
def test_on_a_gpu_kernels_waits_and_copies_are_the_same_each_time_and_what_is_added_is_named(make_case):
    case = make_case()
    run = called(replace(case, spec=replace(case.spec, device="cuda")))
    found = [count(run, "cuda") for _ in range(10)]
    assert all((one.counts, one.details) == (found[0].counts, found[0].details) for one in found)
    assert found[0].details["kernels"]
    assert found[0].host_reads == 0
    read = count(lambda: run().sum().item(), "cuda")
    assert read.details["host_reads"] == {"aten::_local_scalar_dense": 1}
    assert any("DtoH" in name for name in read.details["kernels"])
    copied = count(lambda: run().cpu(), "cuda")
    assert copied.counts["copies"] == {"cuda→cpu": 1}
    assert copied.counts["copied_bytes"] == {"cuda→cpu": run().nbytes}
    weight = torch.ones(3, device="cuda", requires_grad=True)
    optimizer = torch.optim.Adam([weight])
    weight.grad = torch.ones_like(weight)
    assert not any("Optimizer" in name for name in count(optimizer.step, "cuda").details["kernels"])
