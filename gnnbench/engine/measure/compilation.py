"""What torch.compile has done since it was reset.

Dynamo is slow to import; where nothing has imported it, nothing was compiled.
"""

import sys


def reset() -> None:
    """Drop compiled code, because graph breaks are only reported during compilation, and all counts."""
    if dynamo := sys.modules.get("torch._dynamo"):
        dynamo.reset()
        clear()


def clear() -> None:
    """Drop the counts; a call that is not compiled anew then has none."""
    if dynamo := sys.modules.get("torch._dynamo"):
        dynamo.utils.counters.clear()


def counts() -> dict[str, int]:
    """Return the numbers of graphs, recompilations, and graph breaks by reason; empty if there are none."""
    dynamo = sys.modules.get("torch._dynamo")
    graphs = dynamo and dynamo.utils.counters["stats"]["unique_graphs"]
    if not dynamo or not graphs:
        return {}
    compiled = dynamo.convert_frame.FRAME_COMPILE_COUNTER  # compilations by function
    found = {"graphs": graphs, "recompilations": compiled.total() - len(compiled)}
    for reason, number in dynamo.utils.counters["graph_break"].items():
        name = f"graph break: {reason.splitlines()[0]}"  # the other lines are explanations
        found[name] = found.get(name, 0) + number
    return found
