import json
from collections import Counter

import pytest
from torch_tb_profiler.consts import WORKER_PATTERN
from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.event_parser import ProfileRole

from gnnbench.engine.profile import trace
from tests.profile.subjects import epoch, event, table


def step(number, start_us, duration_us):
    return event("user_annotation", f"ProfilerStep#{number}", start_us, duration_us)


def test_a_trace_has_the_ranges_and_tensorboards_own_plugin_reads_what_the_section_says(make_case, tmp_path):
    section = trace.trace(epoch(make_case("epoch", "pyg", "train")), tmp_path)
    assert [step["name"] for step in section["steps"]] == ["ProfilerStep#1", "ProfilerStep#2"]
    content = json.loads((tmp_path / trace.FILE).read_text(encoding="utf-8"))
    assert {event["ph"] for event in content["traceEvents"]}.isdisjoint("BE")
    ranges = Counter(one["name"] for one in content["traceEvents"] if one.get("cat") == "user_annotation")
    assert {ranges[name] for name in ("ProfilerStep#1", "ProfilerStep#2")} == {1}
    assert {ranges[name] for name in ("call", "forward", "loss", "backward", "optimizer.step")} == {2}
    assert ranges["x@W"] == 6
    (file,) = tmp_path.iterdir()
    assert WORKER_PATTERN.match(file.name)[1] == "gnnbench"
    profile = RunProfileData.parse("gnnbench", None, str(file), str(tmp_path))
    assert profile.steps_names == ["1", "2"]
    for step, ours in zip(profile.steps_costs, section["steps"], strict=True):
        costs_ns = {role.name: step.costs[role] * 1000 for role in ProfileRole}  # of microseconds
        assert costs_ns["Total"] == pytest.approx(ours["total_ns"], abs=1)
        assert costs_ns["CpuOp"] == pytest.approx(ours["cpu_ns"], abs=1000)
        assert costs_ns["Other"] == pytest.approx(ours["other_ns"], abs=1000)
        parts = {name: value for name, value in ours.items() if name not in {"name", "total_ns"}}
        assert sum(parts.values()) == ours["total_ns"]
        assert parts["kernel_ns"] == parts["memcpy_ns"] == parts["runtime_ns"] == 0
        assert min(parts["cpu_ns"], parts["other_ns"]) > 0
    operators = {operator.name for operator in profile.op_list_groupby_name}
    assert operators == {event["name"] for event in content["traceEvents"] if event.get("cat") == "cpu_op"}
    assert operators > {"aten::mm", "aten::scatter_add_", "aten::nll_loss_backward"}
    lines = table("trace", section).splitlines()
    assert [line[:4] for line in lines[1:5]] == ["Even", "CPU:", "othe", "the "]


def test_each_moment_of_a_step_belongs_to_one_part():
    events = [
        step(1, 100, 100),
        event("cpu_op", "aten::mm", 90, 20),  # begins before: 10 within
        event("cpu_op", "aten::add", 120, 30),
        event("cpu_op", "aten::mul", 125, 10),  # within the last
        event("cuda_runtime", "cudaLaunchKernel", 140, 20),  # 10 of them within the last
        event("kernel", "sgemm", 155, 20.5),
        event("kernel", "on another stream", 160, 5),
        event("gpu_memcpy", "Memcpy HtoD", 170, 10),
        event("gpu_memset", "Memset", 195, 10),  # ends after: 5 within
        event("gpu_user_annotation", "ProfilerStep#1", 100, 100),
        step(2, 300, 50),
    ]
    first, second = trace.breakdown(events)
    assert first == {
        "name": "ProfilerStep#1",
        "total_ns": 100_000,
        "kernel_ns": 20_500,
        "memcpy_ns": 4_500 + 5_000,
        "runtime_ns": 15_000,
        "cpu_ns": 10_000 + 20_000,
        "other_ns": 25_000,
    }
    assert second == {
        **dict.fromkeys(first, 0),
        "name": "ProfilerStep#2",
        "total_ns": 50_000,
        "other_ns": 50_000,
    }
    section = {"steps": [first], "cold_ns": 10}
    lines = table("trace", section).splitlines()
    assert [line.split()[-1] for line in lines[1:8]] == ["Frac.", "20%", "9.5%", "15%", "30%", "25%", "100%"]
