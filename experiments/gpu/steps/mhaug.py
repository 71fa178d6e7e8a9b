"""MH-Aug: a proposal by variant, and as a CUDA graph."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from steps import clocks, rows

_BLOCKS = 20
_VARIANTS = (
    *(("published", "torch"), ("profiled", "dgl"), ("optimised", "torch"), ("optimised", "pyg")),
    *(("optimised", "sparse"), ("compiled", "torch"), ("graph", "torch")),
)
"""The graph is of the optimised variant."""


def units(small: bool) -> dict[str, float]:
    """Return one for each graph."""
    return {"rmat:6": 60.0} if small else {"cora": 60.0, "ogbn-arxiv:synthetic": 80.0}


def run(unit: str, plan: Any) -> dict[str, Any]:
    """Time a proposal of each variant that is here, and hold it against the first's."""
    import torch

    from gnnbench.measure.clock import Call
    from gnnbench.measure.layouts import clock_for

    clock = clock_for((plan.device,), time.perf_counter, flush=True)
    found: dict[str, Any] = {}
    expected = None
    for variant, platform in _VARIANTS:
        try:
            call = _proposal(unit, variant, platform, plan)
            result = call().double().cpu()
            expected = result if expected is None else expected
            torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)
            clock.block(Call(call, (), {}), 5, 1)
            blocks = [clock.block(Call(call, (), {}), 5, 1) for _ in range(2 if plan.small else _BLOCKS)]
        except Exception as error:  # noqa: BLE001 - a library is missing, or a capture is refused: that is what is told
            found[f"{variant} {platform}"] = {"refused": f"{type(error).__name__}: {error}"[:300]}
            continue
        seconds = {"wall": statistics.median(one for block in blocks for one in block.seconds)}
        if plan.device == "cuda":
            seconds["events"] = statistics.median(block.device_seconds for block in blocks)
        found[f"{variant} {platform}"] = seconds
    return found


def _proposal(dataset: str, variant: str, platform: str, plan: Any) -> Callable[[], Any]:
    """Return what proposes from fixed inputs, and returns log densities: float [4].

    Raises:
        RuntimeError: the library cannot work there, or no CUDA graph can be had.
    """
    from gnnbench.files import cache_folder
    from gnnbench.packages import missing
    from gnnbench.workloads.case import Case
    from gnnbench.workloads.graphs.catalog import DatasetName
    from gnnbench.workloads.graphs.load import load
    from gnnbench.workloads.graphs.locate import data_folder
    from gnnbench.workloads.mhaug import workloads
    from gnnbench.workloads.platforms import PLATFORMS, why_not_on
    from gnnbench.workloads.spec import FORWARD, Spec

    if reason := missing(PLATFORMS[platform].packages, plan.device) or why_not_on(platform, plan.device):
        raise RuntimeError(reason)
    graph = load(DatasetName.parse(dataset), data_folder(), cache_folder())
    name = f"mh_proposal_{variant.replace('graph', 'optimised')}"
    spec = Spec(name, FORWARD, platform, "float32", "int64", graph.name, 64, plan.device)
    case = Case(replace(spec), graph)
    propose, inputs = workloads.proposal(case)
    call = partial(propose, *inputs)
    if variant != "graph":
        return call
    if plan.device != "cuda":
        raise RuntimeError("CUDA graphs need CUDA")
    return clocks.captured(call)


def table(found: Mapping[str, Any]) -> str:
    """Lay out times, and ratios to the optimised on PyTorch."""
    from gnnbench import units as words

    lines = []
    for dataset, variants in found.items():
        first = variants.get("optimised torch", {}).get("wall")
        for variant, one in variants.items():
            if "refused" in one:
                lines.append([dataset, variant, one["refused"].splitlines()[0].replace("|", "/"), "", ""])
                continue
            ratio = f"{one['wall'] / first:.2f}" if first else ""
            times = [words.seconds(one[way]) if way in one else "" for way in ("wall", "events")]
            lines.append([dataset, variant, *times, ratio])
    return rows("graph | variant | wall | GPU | over optimised", lines)
