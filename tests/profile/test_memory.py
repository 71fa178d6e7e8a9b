import pytest
import torch
from torch.profiler import record_function

import gnnbench.measure.memory
from gnnbench.measure.memory import Allocation
from gnnbench.profile import memory
from gnnbench.profile.memory import Span
from tests.profile import subjects
from tests.profile.subjects import subject_of


def test_of_each_call_of_a_range_what_was_held():
    spans = [
        Span("layer", 20, 40),
        Span("call", 10, 100),
        Span("mul", 22, 30),
        Span("layer", 50, 60),
        Span("bias", 52, 58),
    ]
    changes = [
        Allocation(5, 1000),  # before the call
        Allocation(15, 10),
        Allocation(25, 100),
        Allocation(35, -100),
        Allocation(55, 40),
        Allocation(70, -1050),  # also what was there before
        Allocation(110, 500),  # after it
    ]
    found = memory.by_range(spans, changes)
    assert found["peak_path"] == ["call", "layer", "mul"]
    assert [
        (row["path"], row["begin_bytes"], row["peak_bytes"], row["end_bytes"]) for row in found["rows"]
    ] == [
        (["call"], [0], [110], [-1000]),
        (["call", "layer"], [10, 10], [110, 50], [10, 50]),
        (["call", "layer", "mul"], [10], [110], [110]),
        (["call", "layer", "bias"], [10], [50], [50]),
    ]


def test_nothing_held():
    found = memory.by_range([Span("call", 0, 9), Span("forward", 1, 2)], [])
    assert [row["peak_bytes"] for row in found["rows"]] == [[0], [0]]
    assert found["peak_path"] == ["call"]


def test_the_peak_of_an_epoch_is_that_of_the_counters_and_messages_are_held_where_they_are_made(
    make_case, tmp_path
):
    case = make_case("epoch", "pyg", "train")
    subject = subjects.epoch(case)
    subject.asked.once()
    section = memory.take(subject, tmp_path)
    assert section == memory.take(subject, tmp_path)
    rows = {tuple(row["path"]): row for row in section["rows"]}
    assert rows["call",]["peak_bytes"] == [
        gnnbench.measure.memory.trace(subject.asked.once, "cpu").peak_bytes
    ]
    assert {("call", "backward"), ("call", "loss"), ("call", "optimizer.step")} < set(rows)
    assert tuple(section["peak_path"]) in rows
    assert section["missing"] == []
    (message,) = [row for path, row in rows.items() if path[-2:] == ("propagate", "message")]
    made = [end - begin for begin, end in zip(message["begin_bytes"], message["end_bytes"], strict=True)]
    # A row of floats for each edge and self-loop, in the width of each layer: 8, 8 and 4 classes.
    loops = (case.graph.edge_index[0] == case.graph.edge_index[1]).sum().item()
    edges = case.graph.num_edges - loops + case.graph.num_nodes
    assert made == [4 * edges * width for width in (8, 8, 4)]


def test_ranges_of_ones_own_are_seen(tmp_path):
    x = torch.ones(1000)

    def call():
        with record_function("graph augmentation"):
            doubled = x + x
        with record_function("compute model"):
            return (doubled * doubled).sum()

    lines = memory.table(memory.take(subject_of(call, "cpu", 1), tmp_path)).splitlines()
    assert [line.split() for line in lines[1:4]] == [
        ["call", "1", "0", "B", "7.8", "KiB", "0", "B"],
        ["graph", "augmentation", "1", "0", "B", "3.9", "KiB", "3.9", "KiB"],
        ["compute", "model", "1", "3.9", "KiB", "7.8", "KiB", "3.9", "KiB"],
    ]
    assert lines[4].startswith("The peak, 7.8 KiB, was first reached in call > compute model.")


@pytest.mark.cuda
def test_a_gpu_has_the_same_table(tmp_path):
    x = torch.ones(1024, 1024, device="cuda")
    section = memory.take(subject_of(lambda: (x + x) + (x + x), "cuda", 2), tmp_path)
    assert section["rows"][0]["peak_bytes"] == [3 * x.nbytes]
