"""An A/A test with gnnbench ab: the working tree against itself."""

import json
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plan import ROOT

from steps import core, rows

GRAPHS = {"large": "ogbn-arxiv:synthetic,rmat:16", "small": "cora,rmat:12"}
"""Two graphs of each size, with twenty core benchmarks without torch_sparse. Small graphs show the host's
speed. Both graphs are in one run, so that processes start half as often."""
SECONDS = 400
"""Seconds of a run; fingerprints take at most half of them."""


def units(small: bool) -> dict[str, float]:  # noqa: ARG001
    """Return a run of the core benchmarks as the unit for each kind of graph."""
    return dict.fromkeys(GRAPHS, SECONDS + 10.0)


def run(unit: str, plan: Any) -> dict[str, Any]:
    """Compare the working tree with itself."""
    return compared(plan, ".", ".", *timed(plan, "1%"), graphs=GRAPHS[unit])


def timed(plan: Any, effect: str) -> tuple[object, ...]:
    """Return the options of `gnnbench ab`: 10 s per benchmark, and the same code is timed too."""
    seconds = 30 if plan.small else 10
    return "--time-all", "--budget", seconds, "--total-budget", SECONDS, "--effect", effect


def compared(
    plan: Any, base: str, head: str, *options: object, graphs: str = "cora", tree: Path = ROOT
) -> dict[str, Any]:
    """Run `gnnbench ab BASE HEAD` in a tree, on the core benchmarks, and return its verdicts.

    Raises:
        RuntimeError: it gave none.
    """
    small = ("-k", "gcn_norm", "--gnn-dataset", "rmat:6")
    chosen = small if plan.small else ("--gnn-dataset", graphs)
    suite = (*core.CORE, "--gnn-device", plan.device, *chosen)
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "ab.json")
        ended = plan.gnnbench("ab", base, head, *options, "--json", file, "--", *suite, tree=tree)
        if not file.exists():
            raise RuntimeError((ended.stdout + ended.stderr)[-2000:])
        content = json.loads(file.read_text(encoding="utf-8"))
    fields = ("verdict", "ratio", "own_low", "own_high", "minimum_detectable_effect", "pairs", "reason")
    return {
        "seconds": content["seconds"],
        "exit_status": ended.returncode,
        "benchmarks": {
            row["fullname"].rpartition("::test_")[2]: {
                field: {**row["judgement"], **(row["counts"] or {})}.get(field) for field in fields
            }
            for row in content["comparison"]["rows"]
        },
    }


def table(found: Mapping[str, Any]) -> str:
    """Return a table of all verdicts, and the number of each."""
    lines, ends = [], []
    for unit, run_ in found.items():
        for name, one in run_["benchmarks"].items():
            ratio = ""
            if one["ratio"] and one["own_low"] and one["own_high"]:
                ratio = f"{one['ratio']:.4f} ({one['own_low']:.4f}-{one['own_high']:.4f})"
            visible = one["minimum_detectable_effect"]
            sees = f"{visible:.1%}" if visible else ""
            lines.append((unit, name, one["verdict"], ratio, one["pairs"], sees, one["reason"] or ""))
        verdicts = Counter(one["verdict"] for one in run_["benchmarks"].values())
        counted = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.items())
        ends.append(f"{unit}: {counted}, in {run_['seconds']:.0f} s; exit status {run_['exit_status']}.")
    heading = "run | benchmark | verdict | ratio (interval) | pairs | sees | reason"
    return "\n\n".join([rows(heading, lines), *ends])
