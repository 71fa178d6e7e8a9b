"""Counters: ten counts of the same call, and the effect of an added read and copy."""

from collections.abc import Callable, Mapping
from typing import Any

from steps import rows

_TIMES = 10
_OPERATIONS = ("spmm_sum", "gather_scatter_sum", "epoch")


def units(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Return a unit for each platform."""
    return {"torch": 25.0, "pyg": 25.0}


def run(unit: str, plan: Any) -> dict[str, Any]:
    """Count kernels ten times, then with an added read by the host, and with an added copy to it."""
    return {f"{operation} {unit}": _counted(operation, unit, plan) for operation in _OPERATIONS}


def _counted(operation: str, platform: str, plan: Any) -> dict[str, Any]:
    from gnnbench.engine.measure.counters import count

    call, output = _workload(operation, platform, plan)
    call()
    counts = [count(call, plan.device) for _ in range(_TIMES)]
    first = counts[0]
    read = count(lambda: output(call()).sum().item(), plan.device)
    copied = count(lambda: output(call()).to("meta" if plan.device == "cpu" else "cpu"), plan.device)
    return {
        "differ": sum((one.counts, one.details) != (first.counts, first.details) for one in counts),
        "operators": first.operators,
        "kernels": sum(first.details["kernels"].values()),
        "host_reads": first.host_reads,
        "copies": sum(first.counts["copies"].values()),
        "unsteady": sorted({name for one in counts for name in one.unsteady}),
        "read": _added(first.details["host_reads"], read.details["host_reads"]),
        "copied": _added(first.counts["copies"], copied.counts["copies"]),
    }


def _added(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    return {
        name: number - before.get(name, 0) for name, number in after.items() if number != before.get(name)
    }


def _workload(operation: str, platform: str, plan: Any) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    from gnnbench.engine.ground.files import cache_folder
    from gnnbench.suite import platforms, training
    from gnnbench.suite.case import Case
    from gnnbench.suite.graphs.catalog import DatasetName
    from gnnbench.suite.graphs.load import load
    from gnnbench.suite.graphs.published import data_folder
    from gnnbench.suite.operations import OPERATIONS
    from gnnbench.suite.spec import FORWARD, TRAIN, Spec

    graph = load(DatasetName.parse("rmat:6" if plan.small else "cora"), data_folder(), cache_folder())
    direction = TRAIN if operation == "epoch" else FORWARD
    case = Case(Spec(operation, direction, platform, "float32", "int64", graph.name, 64, plan.device), graph)
    module = platforms.load(platform)
    if operation == "epoch":
        prepared = training.prepare(case, module)
        return lambda: training.epoch(*prepared), lambda loss: loss
    kernel = OPERATIONS[operation].kernel(platform)
    structure, x = kernel.build(case), case.features()
    return lambda: kernel.run(structure, x), module.values


def table(found: Mapping[str, Any]) -> str:
    """Return a table of counts, and of what the read and the copy add."""
    fields = ("operators", "kernels", "host_reads", "copies")
    lines = []
    for name, one in (each for unit in found.values() for each in unit.items()):
        added = (one["read"], one["copied"])
        named = [", ".join(f"+{number} {what}" for what, number in each.items()) for each in added]
        lines.append([name, *(one[field] for field in fields), f"{one['differ']} of {_TIMES}", *named])
    heading = (
        "call | operators | kernels | host reads | copies | counts that differ | with `.item()` | with a copy"
    )
    return rows(heading, lines)
