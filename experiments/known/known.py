"""Does `gnnbench ab` find what is known of two releases of PyG?

    python experiments/known/known.py run [FOLDER] [--budget 60]    # continues an interrupted run
    python experiments/known/known.py table [FOLDER]

FOLDER, .benchmarks/known if not given, keeps each comparison as `gnnbench ab --json` writes it. The exit code
is 1 if a verdict is missing or not the expected one.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from gnnbench.engine.ground import units

_ROOT = Path(__file__).parents[2]
_SUITE = "experiments/known/suites/pyg"
_OLD, _NEW = "pip:torch_geometric==2.4.0", "pip:torch_geometric==2.5.0"
_FINISHED = (0, 1)
"""Exit codes of `gnnbench ab` after a comparison: nothing is slower, something is."""


class Comparison(NamedTuple):
    """Two variants, and the expected verdict on each benchmark."""

    base: str
    head: str
    expected: dict[str, str]


COMPARISONS = {
    "with-torch_scatter": Comparison(
        _OLD, _NEW, {"test_softmax_by_ptr": "same", "test_mask_select": "faster"}
    ),
    # 2.4.0 has no softmax by ptr without torch_scatter. 2.5.0 replaces it by one by index.
    "without-torch_scatter": Comparison(
        _OLD, f"{_NEW} env:HIDDEN=torch_scatter", {"test_softmax_by_ptr": "slower"}
    ),
}


def run(folder: Path, budget: str) -> None:
    """Run the comparisons without a result."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (base, head, expected) in COMPARISONS.items():
        file, unfinished = (folder.resolve() / f"{name}.{end}" for end in ("json", "unfinished"))
        if not file.exists():
            command = [Path(sys.executable).with_name("gnnbench"), "ab", base, head, "--budget", budget]
            suite = [f"{_SUITE}/test_utils.py::{test}" for test in expected]
            ended = subprocess.run([*command, "--json", unfinished, "--", *suite], cwd=_ROOT, check=False)
            if ended.returncode not in _FINISHED:
                raise SystemExit(f"{name}: gnnbench ab ended with {ended.returncode}")
            unfinished.rename(file)


def rows(folder: Path) -> list[dict[str, Any]]:
    """Return the verdict on each benchmark with an expected verdict."""
    found = []
    for name, comparison in COMPARISONS.items():
        file = folder / f"{name}.json"
        saved = json.loads(file.read_text(encoding="utf-8"))["comparison"]["rows"] if file.exists() else []
        by_test = {
            row["fullname"].rpartition("::")[2]: {**row, **row["judgement"], **(row["counts"] or {})}
            for row in saved
        }
        for test, expected in comparison.expected.items():
            found.append({"comparison": name, "test": test, "expected": expected, **by_test.get(test, {})})
    return found


def table(found: list[dict[str, Any]]) -> str:
    """Return a row for each expected verdict."""
    names = ("comparison", "benchmark", "expected", "verdict", "ratio", "interval", "time", "pairs")
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for one in found:
        measured = one.get("seconds") and one.get("ratio")
        cells = (
            one["comparison"],
            one["test"].removeprefix("test_"),
            one["expected"],
            one.get("verdict", ""),
            f"{one['ratio']:.2f}x" if measured else "",
            units.interval(one["low"], one["high"]) if measured else "",
            units.seconds(one["seconds"]) if measured else "",
            str(one.get("pairs", "")),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("folder", type=Path, nargs="?", default=_ROOT / ".benchmarks" / "known")
    parser.add_argument("--budget", default="60", help="seconds for each benchmark")
    options = parser.parse_args()
    if options.what == "run":
        run(options.folder, options.budget)
    found = rows(options.folder)
    print(table(found))
    sys.exit(any(one.get("verdict") != one["expected"] for one in found))


if __name__ == "__main__":
    main()
