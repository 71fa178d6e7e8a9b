import json
from collections import Counter

from gnnbench.engine.profile import trace
from tests.profile.subjects import epoch, table


def test_a_trace_has_a_step_and_the_ranges_for_each_repeat(make_case, tmp_path):
    section = trace.trace(epoch(make_case("epoch", "pyg", "train")), tmp_path)
    content = json.loads((tmp_path / trace.FILE).read_text(encoding="utf-8"))
    assert {event["ph"] for event in content["traceEvents"]}.isdisjoint("BE")
    ranges = Counter(one["name"] for one in content["traceEvents"] if one.get("cat") == "user_annotation")
    assert {ranges[name] for name in ("ProfilerStep#1", "ProfilerStep#2")} == {1}
    assert {ranges[name] for name in ("call", "forward", "loss", "backward", "optimizer.step")} == {2}
    assert ranges["x@W"] == 6
    operators = {event["name"] for event in content["traceEvents"] if event.get("cat") == "cpu_op"}
    assert operators > {"aten::mm", "aten::scatter_add_", "aten::nll_loss_backward"}
    assert f"Open {trace.FILE} at https://ui.perfetto.dev" in table("trace", section)
