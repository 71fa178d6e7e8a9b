"""Draws docs/experiments/verdict.svg and verdict-rules.svg from the results of simulate.py.

python experiments/verdict/picture.py
"""

import argparse
import json
from pathlib import Path
from typing import Any

import altair as alt

FOLDER = Path(__file__).parent
DOCS = FOLDER.parents[1] / "docs/experiments"
KINDS = {
    "5v1": "5 against 1",
    "5v3": "5 against 3",
    "5v5": "5 against 5",
    "gate": "5 against 1, confirmed by 3",
}


def power(result: dict[str, Any]) -> alt.Chart:
    """Draw the share of slowdowns that are found, by their size."""
    rows = []
    for deviation in ("0.01", "0.03"):
        for kind, label in KINDS.items():
            for effect, share in result[f"{deviation} {kind}"]["found"].items():
                one = share["one mode"] if isinstance(share, dict) else share
                rows.append(
                    {
                        "slowdown": float(effect),
                        "found": one,
                        "processes": label,
                        "differ": f"processes differ by {float(deviation):.0%}",
                    }
                )
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("slowdown:Q", title="injected slowdown")
            .scale(type="log", domain=[0.02, 0.3])
            .axis(format="%", values=[0.02, 0.03, 0.05, 0.08, 0.12, 0.3]),
            y=alt.Y("found:Q", title="found").axis(format="%"),
            color=alt.Color("processes:N", title=None, sort=list(KINDS.values()))
            .scale(range=["#c8553d", "#e0a030", "#0b7a75", "#555577"])
            .legend(orient="bottom"),
            column=alt.Column("differ:N", title=None),
        )
        .properties(width=300, height=220)
    )


def others(result: dict[str, Any]) -> alt.Chart:
    """Draw each tool's false positives on unchanged code, and how many slowdowns of 5 % it finds."""
    ours = result["0.01 5v5"]
    rows = [
        {
            "rule": "gnnbench, 5 against 5",
            "share": ours["alarms"] / result["runs"],
            "what": "runs with a false positive",
        },
        {
            "rule": "gnnbench, 5 against 5",
            "share": ours["found"]["0.05"]["one mode"],
            "what": "5% slowdowns found",
        },
    ]
    for name, found in result["rules"].items():
        rows.append({"rule": name, "share": found["any"], "what": "runs with a false positive"})
        rows.append({"rule": name, "share": found["found"], "what": "5% slowdowns found"})
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_bar()
        .encode(
            x=alt.X("share:Q", title=None).axis(format="%").scale(domain=[0, 1]),
            y=alt.Y("rule:N", title=None, sort=None).axis(labelLimit=200),
            color=alt.Color("what:N", legend=None).scale(range=["#0b7a75", "#c8553d"]),
            column=alt.Column("what:N", title=None, sort="descending"),
        )
        .properties(width=220, height=170)
    )


def main() -> None:
    """Draw both."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    steady, drifting = (
        json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")) for name in ("steady", "drifting")
    )
    power(steady).save(DOCS / "verdict.svg")
    others(drifting).save(DOCS / "verdict-rules.svg")


if __name__ == "__main__":
    main()
