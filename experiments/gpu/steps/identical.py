"""A/A tests with gnnbench ab."""

import json
import statistics
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steps import rows

RUNS = 10
SECONDS = 120
"""Of a run, for all benchmarks together."""
KERNELS = Path(__file__).parents[1] / "kernels"
_RUN_SECONDS = 150.0


def units(small: bool) -> dict[str, float]:
    """Return the runs."""
    return {f"run {number:02}": _RUN_SECONDS for number in range(1 if small else RUNS)}


def run(unit: str, plan: Any) -> dict[str, Any]:  # noqa: ARG001
    """Compare the working tree with itself, by the core benchmarks on Cora."""
    core = ("benchmarks", "-m", "core", "--gnn-platform", "torch,pyg", "--gnn-device", plan.device)
    chosen = ("-k", "gcn_norm", "--gnn-dataset", "rmat:6") if plan.small else ("--gnn-dataset", "cora")
    return compared(plan, ".", ("--total-budget", 10 if plan.small else SECONDS), (*core, *chosen))


def compared(plan: Any, head: str, budget: Sequence[object], suite: Sequence[object]) -> dict[str, Any]:
    """Run `gnnbench ab . HEAD`, timing also benchmarks that run the same code, and return its verdicts.

    Raises:
        RuntimeError: it gave none.
    """
    variables = {"GPU_DEVICE": plan.device, **({"GPU_SMALL": "1"} if plan.small else {})}
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "ab.json")
        options = ("--time-all", *budget, "--json", file)
        ended = plan.gnnbench("ab", ".", head, *options, "--", *suite, **variables)
        if not file.exists():
            raise RuntimeError((ended.stdout + ended.stderr)[-2000:])
        content = json.loads(file.read_text(encoding="utf-8"))
    fields = ("verdict", "ratio", "own_low", "own_high", "minimum_detectable_effect", "pairs", "reason")
    return {
        "seconds": content["seconds"],
        "benchmarks": {
            one["id"].rpartition("::test_")[2]: {field: one[field] for field in fields}
            for one in content["benchmarks"]
        },
    }


def table(found: Mapping[str, Any]) -> str:
    """Lay out verdicts by kernel, and how many runs had an alarm."""
    alarmed = sum(
        any(one["verdict"] in ("slower", "faster") for one in unit["benchmarks"].values())
        for unit in found.values()
    )
    seconds = statistics.median(unit["seconds"] for unit in found.values())
    end = f"{alarmed} of {len(found)} runs raised an alarm. A run took {seconds:.0f} s (median)."
    return f"{by_kernel(dict.fromkeys(found, 'the same code'), found)}\n\n{end}"


def by_kernel(heads: Mapping[str, str], found: Mapping[str, Any]) -> str:
    """Return a row for each kernel and kind of head."""
    grouped: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for unit, content in found.items():
        for kernel, one in content["benchmarks"].items():
            grouped.setdefault((kernel, heads[unit]), []).append(one)
    lines = []
    for (kernel, head), ones in grouped.items():
        verdicts = Counter(one["verdict"] for one in ones)
        ratios = sorted(one["ratio"] for one in ones if one["ratio"])
        every = (one.get("minimum_detectable_effect") or one.get("smallest_effect") for one in ones)
        seen = [one for one in every if one]
        lines.append(
            [
                *(kernel, head, len(ones)),
                *(verdicts[verdict] for verdict in ("same", "slower", "faster", "undecided", "incomparable")),
                f"{ratios[0]:.4f}-{ratios[-1]:.4f}" if ratios else "",
                f"{statistics.median(one['pairs'] for one in ones):.0f}",
                f"{statistics.median(seen):.1%}" if seen else "",
            ]
        )
    heading = "kernel | head | runs | same | slower | faster | undecided | unjudged | ratios | pairs | sees"
    return rows(heading, lines)
