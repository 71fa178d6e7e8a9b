"""Verdicts of `gnnbench ab` on four kernels on a real machine, in A/A tests and with slower code.

    python experiments/ab/real.py run FOLDER [--identical 40] [--slower 10]    # continues an interrupted run
    python experiments/ab/real.py table FOLDER

The kernels are those of docs/experiments/measurement.md (kernels/test_kernels.py).
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
KERNELS = "experiments/ab/kernels"


def run(folder: Path, identical: int, slower: int) -> None:
    """Run what is not there yet, by turns."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [
        (number, kind) for kind, count in (("same", identical), ("slow", slower)) for number in range(count)
    ]
    for number, kind in sorted(wanted):
        file = folder / f"{kind}-{number:02}.json"
        if file.exists():
            continue
        options = ["--time-all", "--budget", "10"] if kind == "same" else ["--plant", "5%", "--budget", "60"]
        command = [Path(sys.executable).with_name("gnnbench"), "ab", ".", ".", *options]
        result = subprocess.run(
            [*command, "--json", str(file), "--", KERNELS],
            cwd=ROOT,
            check=False,
            capture_output=True,
            text=True,
        )
        print(file.name, result.stdout.strip().splitlines()[-1:], flush=True)


def table(folder: Path) -> str:
    """Return what was found, by kernel."""
    lines = [
        "| kernel | head | runs | same | slower | faster | undecided | ratios | pairs | seconds |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for kind, head in (("same", "the same code"), ("slow", "5 % slower")):
        found: dict[str, list[dict[str, Any]]] = {}
        for file in sorted(folder.glob(f"{kind}-*.json")):
            for one in json.loads(file.read_text(encoding="utf-8"))["benchmarks"]:
                found.setdefault(one["id"].rpartition("test_")[2], []).append(one)
        for name, ones in found.items():
            verdicts = Counter(one["verdict"] for one in ones)
            ratios = sorted(one["ratio"] for one in ones if one["ratio"] is not None)
            cells = (
                *(verdicts[verdict] for verdict in ("same", "slower", "faster", "undecided")),
                f"{ratios[0]:.3f}-{ratios[-1]:.3f}",
                f"{statistics.median(one['pairs'] for one in ones):.0f}",
                f"{statistics.median(one['seconds'] for one in ones):.1f}",
            )
            lines.append(f"| {name} | {head} | {len(ones)} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--identical", type=int, default=40)
    parser.add_argument("--slower", type=int, default=10)
    options = parser.parse_args()
    if options.what == "run":
        run(options.folder, options.identical, options.slower)
    print(table(options.folder))


if __name__ == "__main__":
    main()
