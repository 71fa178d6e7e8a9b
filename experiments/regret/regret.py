"""Are the worst regrets confirmed by `gnnbench ab`, between both ways as users write them?

    python experiments/regret/regret.py FOLDER [--seconds S] [--direction D]

Measures the grid (`gnnbench regret`, unless FOLDER/regret.json is there), takes the ten calls with the
largest regret against ways that take the same structure, and compares each with the fastest way by
`gnnbench ab`, in pairs of new processes. Prints both ratios with their intervals.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from gnnbench.apps.regret.result import Regrets

_SUITE = Path(__file__).parent / "suites/ways"
_GNNBENCH = str(Path(sys.executable).with_name("gnnbench"))
_WORST = 10
_FAMILIES = ("scatter_", "segment_", "gather_scatter_")
"""Beginnings of the calls that the suite has."""


def worst(found: Regrets) -> list[dict[str, object]]:
    """Return the ten calls with the largest regret, each at its worst point."""
    cases: dict[str, dict[str, object]] = {}
    for row in found.regrets(same_structure=True):
        place, judged = row.point.place, row.judgement
        if judged.verdict != "slower" or not row.way.name.startswith(_FAMILIES):
            continue
        case = {
            "id": f"{row.way.name.replace(' on ', '-')}-{place.direction}-{place.dataset}-{place.hidden}",
            "call": row.way.name,
            "fastest": row.fastest,
            "direction": place.direction,
            "dataset": place.dataset,
            "hidden": place.hidden,
            "regret": (judged.ratio, judged.low, judged.high),
        }
        cases.setdefault(row.way.name, case)
    return list(cases.values())[:_WORST]


def main() -> None:
    """Read the command line, and print the table of docs/apps/regret.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", default="1800", help="for the grid")
    parser.add_argument("--direction", default="forward,forward_backward")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    grid, cases, compared = (folder / f"{name}.json" for name in ("regret", "worst", "ab"))
    if not grid.exists():
        limits = ("--budget", options.seconds, "--direction", options.direction)
        command = [_GNNBENCH, "regret", *limits, "--json", str(grid), "--maps", str(folder / "maps")]
        subprocess.run(command, check=True)
    found = worst(Regrets.read(grid))
    cases.write_text(json.dumps(found, indent=1), encoding="utf-8")
    way = f"env:REGRET_WORST={cases} env:REGRET_WAY"
    command = [_GNNBENCH, "ab", f"{way}=fastest", f"{way}=call", "--budget", "30", "--json", str(compared)]
    subprocess.run([*command, "--", str(_SUITE)], check=False)
    content = json.loads(compared.read_text(encoding="utf-8"))
    rows = {row["fullname"]: row["judgement"] for row in content["comparison"]["rows"]}
    print(
        "| call | direction | graph, width | fastest way | regret | ab | verdict |\n"
        "|---|---|---|---|---|---|---|"
    )
    for case in found:
        one = next(row for name, row in rows.items() if f"[{case['id']}]" in name)
        regret, ours = case["regret"], (one["ratio"], one["low"], one["high"])
        shown = (f"{ratio:.3g}x ({low:.3g}-{high:.3g})" for ratio, low, high in (regret, ours))
        print(
            f"| {case['call']} | {case['direction']} | {case['dataset']}, {case['hidden']} "
            f"| {case['fastest']} | {' | '.join(shown)} | {one['verdict']} |"
        )


if __name__ == "__main__":
    main()
