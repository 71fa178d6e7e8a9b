"""Verdicts of `pytest --benchmark-compare` on four kernels on a real machine, against one record.

    python experiments/gate/runs.py run FOLDER [--runs 10] [-- PYTEST ARGS]    # continues an interrupted run
    python experiments/gate/runs.py table FOLDER

FOLDER/project is a suite in its own git repository with one record. Each run judges a new commit. In an A/A
test the commit swaps two independent statements of a function that all kernels call, so that no benchmark
runs the same code as in the record. In the other runs a kernel is 10 % or 5 % slower, because it waits. There
are twice as many runs with each slowdown as A/A tests. FOLDER gets each run's verdicts and output.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

import project

KERNELS = ("add_remaining_self_loops", "gcn_norm", "spmm", "gather_scatter")
SLOWDOWNS = {"identical": 0.0, "slower-10": 0.1, "slower-5": 0.05}
"""Kinds of runs: the fraction of its own time that a kernel waits."""
_COLUMNS = (
    *("edit", "runs", "found", "failed sessions", "alarms elsewhere", "same", "same code"),
    *("undecided", "longest run"),
)
_SOURCE = Path("kernels", "__init__.py")
_STATEMENTS = ("    empty = matrix.numel() == 0\n", "    negative = nodes < 0\n")


def swapped(source: str) -> str:
    """Swap two independent statements of the function that all kernels call."""
    return source.replace("".join(_STATEMENTS), "".join(reversed(_STATEMENTS)))


def slowed(source: str, kernel: str, share: float) -> str:
    """Make a kernel wait, after its work, for a fraction of the time that the work took."""
    waiting = (
        "    begin = perf_counter()\n"
        r"    result = \2"
        f"    end = begin + {1 + share} * (perf_counter() - begin)\n"
        "    while perf_counter() < end:\n"
        "        pass\n"
        "    return result\n"
    )
    edited = re.sub(
        rf"(def {kernel}\(.*?)    return (.*?\n)", rf"\1{waiting}", source, count=1, flags=re.DOTALL
    )
    return edited.replace("import torch\n", "from time import perf_counter\n\nimport torch\n", 1)


def run(folder: Path, runs: int, words: list[str]) -> None:
    """Run all runs without a result, with alternating kinds."""
    folder.mkdir(parents=True, exist_ok=True)
    tree = folder / "project"
    project.make("four", tree)
    project.git(tree, "checkout", "--quiet", "--force", "--detach", "first")
    project.record(tree, sys.executable)
    wanted = [
        ((number + 0.5) / count, kind, number)
        for kind, share in SLOWDOWNS.items()
        for count in (2 * runs if share else runs,)
        for number in range(count)
    ]
    for _, kind, number in sorted(wanted):
        file = folder / f"{kind}-{number:02}.json"
        if not file.exists():
            edited = KERNELS[number % len(KERNELS)] if SLOWDOWNS[kind] else None
            _commit(tree, edited, SLOWDOWNS[kind], file.stem)
            found = project.judge(tree, sys.executable, file.with_suffix(".txt"), words)
            file.write_text(json.dumps({"edited": edited, **found}, indent=1) + "\n", encoding="utf-8")
            shown = ", ".join(f"{name} {one['verdict']}" for name, one in found["verdicts"].items())
            print(f"{file.stem} ({edited}), {found['seconds']:.0f} s: {shown}", flush=True)


def _commit(tree: Path, edited: str | None, share: float, message: str) -> None:
    project.git(tree, "checkout", "--quiet", "--force", "--detach", "first")
    file = tree / _SOURCE
    source = file.read_text(encoding="utf-8")
    changed = slowed(source, edited, share) if edited else swapped(source)
    file.write_text(changed, encoding="utf-8")
    project.git(tree, "commit", "--quiet", "--all", "--message", message)


def table(folder: Path) -> str:
    """Return the results by kind of run."""
    lines = [f"| {' | '.join(_COLUMNS)} |", "|---" * len(_COLUMNS) + "|"]
    for kind, share in SLOWDOWNS.items():
        # An interrupted run leaves a run file, KIND-NN.run.json.
        files = [one for one in sorted(folder.glob(f"{kind}-[0-9]*.json")) if one.suffixes == [".json"]]
        if runs := [json.loads(file.read_text(encoding="utf-8")) for file in files]:
            name = f"one kernel {100 * share:.0f} % slower" if share else "identical work"
            lines.append(f"| {name} | {' | '.join(_cells(runs))} |")
    return "\n".join(lines)


def _cells(runs: list[dict[str, Any]]) -> list[str]:
    """Return the cells of a row. The edited kernel counts in `found` and in `not decided` only."""
    edited = [run["verdicts"][run["edited"]]["verdict"] for run in runs if run["edited"]]
    others = [one for run in runs for name, one in run["verdicts"].items() if name != run["edited"]]
    verdicts = [one["verdict"] for one in others]
    return [
        str(len(runs)),
        f"{edited.count('slower')} of {len(edited)}" if edited else "",
        str(sum(run["status"] != 0 for run in runs)),
        str(sum(verdict in ("slower", "faster") for verdict in verdicts)),
        f"{verdicts.count('same')} of {len(others)}",
        f"{sum(one['same_code'] for one in others)} of {len(others)}",
        str(sum(verdict in ("undecided", "incomparable") for verdict in [*verdicts, *edited])),
        f"{max(run['seconds'] for run in runs):.0f} s",
    ]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=10, help="A/A tests; twice as many of each slowdown")
    parser.add_argument("arguments", nargs="*", metavar="PYTEST ARGS")
    options = parser.parse_intermixed_args()
    if options.what == "run":
        run(options.folder, options.runs, options.arguments)
    print(table(options.folder))


if __name__ == "__main__":
    main()
