"""How well do instructions predict time? Times and counts the core suite on Cora, and draws both.

    python experiments/instructions/against_time.py FOLDER

On the CPU, with one thread. FOLDER keeps the times and the numbers, so an interrupted run goes on with
what is missing. The picture is docs/experiments/instructions.svg. On a busy machine times are up to
twice too long; the order over three decades survives that.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import altair as alt
from agreement import counted
from scipy import stats

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs/experiments/instructions.svg"
SUITE = ("benchmarks", "-m", "core", "--gnn-dataset", "cora", "--gnn-device", "cpu")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
COLOURS = {"pyg": "#c8553d", "sparse": "#e0a030", "dgl": "#0b7a75", "torch": "#555577"}
"""Colour by platform."""
POWERS = [10.0**power for power in range(-2, 11)]
LABELLED = 2
"""So many benchmarks with the fewest instructions in a nanosecond are named, and so many with the most."""


class Point(NamedTuple):
    """One benchmark."""

    operation: str
    platform: str
    instructions: int
    median_ns: float

    @property
    def per_ns(self) -> float:
        """Instructions in a nanosecond."""
        return self.instructions / self.median_ns


def points(folder: Path) -> list[Point]:
    """Time and count what is missing; return the benchmarks with the fewest instructions in a ns first."""
    times, counts = folder / "times.json", folder / "instructions.json"
    if not times.exists():
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *SUITE]
        subprocess.run(
            [*command, f"--benchmark-json={times}"], cwd=ROOT, env={**os.environ, **ONE_THREAD}, check=True
        )
    if not counts.exists():
        counts.write_text(json.dumps({name: found.total for name, (found, _) in counted(SUITE)}, indent=1))
    totals, found = json.loads(counts.read_text()), []
    for one in json.loads(times.read_text())["benchmarks"]:
        if total := totals.get(one["fullname"]):
            spec = one["extra_info"]["gnnbench"]["spec"]
            found.append(Point(spec["operation"], spec["platform"], total, 1e9 * one["stats"]["median"]))
    return sorted(found, key=lambda point: point.per_ns)


def table(found: list[Point]) -> None:
    """Print all benchmarks, and how well the orders by instructions and by time agree."""
    print(f"{'instructions':>14} {'median µs':>10} {'per ns':>6}  benchmark")
    for one in found:
        name = f"{one.operation} {one.platform}"
        print(f"{one.instructions:14,} {one.median_ns / 1000:10,.1f} {one.per_ns:6.2f}  {name}")
    correlation = stats.spearmanr([one.instructions for one in found], [one.median_ns for one in found])
    print(f"{len(found)} benchmarks; rank correlation {correlation.statistic:.3f}")
    print(f"instructions in a ns: {found[0].per_ns:.2f} to {found[-1].per_ns:.2f}")


def picture(found: list[Point]) -> alt.LayerChart:
    """Draw instructions against time; diagonals are benchmarks with the same instructions in a ns."""
    rows = [
        {
            "instructions": one.instructions,
            "ms": one.median_ns / 1e6,
            "platform": one.platform,
            "label": f"{one.operation} {one.platform}, {one.per_ns:.1f} per ns",
            "named": not LABELLED <= place < len(found) - LABELLED,
        }
        for place, one in enumerate(found)
    ]
    platforms = sorted({one.platform for one in found}, key=list(COLOURS).index)
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("instructions:Q", title="instructions of a call")
        .scale(type="log", domain=[3e5, 3e9], nice=False)
        .axis(format="~s", values=POWERS),
        y=alt.Y("ms:Q", title="median time of a call, ms")
        .scale(type="log", domain=[0.2, 1000], nice=False)
        .axis(format="~g", values=POWERS),
    )
    marks = base.mark_point(filled=True, size=55, opacity=0.75).encode(
        color=alt.Color("platform:N", title=None, sort=platforms).scale(
            domain=platforms, range=[COLOURS[name] for name in platforms]
        )
    )
    names = (
        base.mark_text(align="right", dx=-8, fontSize=10)
        .encode(text="label:N")
        .transform_filter("datum.named")
    )
    return alt.layer(marks, names).properties(width=560, height=380)


def main() -> None:
    """Measure what is missing, print the table, and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    found = points(folder)
    table(found)
    picture(found).save(PICTURE)


if __name__ == "__main__":
    main()
