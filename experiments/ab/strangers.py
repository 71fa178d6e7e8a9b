"""Verdicts of `gnnbench ab` on other projects' benchmarks, unchanged from their source distributions.

    python experiments/ab/strangers.py run FOLDER [--total-budget 600]    # continues an interrupted run
    python experiments/ab/strangers.py table FOLDER

Each suite runs with the same release on both sides, and one suite also with an older release as its base.
The suites' dependencies are installed into FOLDER/packages.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path

SUITES = {
    "boost_histogram==1.8.1": [
        "tests/test_benchmark_1d.py",
        "tests/test_benchmark_2d.py",
        "tests/test_benchmark_category_axis.py",
    ],
    "cattrs==26.2.1": ["bench"],
    "python-rapidjson==1.25": ["benchmarks"],
}
NEEDED = ["msgspec==0.22.0", "orjson==3.11.4"]
"""By the benchmarks of cattrs."""
OLDER = ("cattrs==24.1.3", "cattrs==26.2.1")


def prepare(folder: Path) -> Path:
    """Download and unpack the sources, install the releases; return where the latter are."""
    packages, pip = folder / "packages", [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    if not packages.exists():
        for requirement in SUITES:
            download = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(folder)]
            subprocess.run([*pip, *download, requirement], check=True)
        for archive in folder.glob("*.tar.gz"):
            with tarfile.open(archive) as file:
                file.extractall(folder, filter="data")
        install = ["install", "--quiet", "--no-deps", "--target", str(packages)]
        subprocess.run([*pip, *install, *SUITES, *NEEDED], check=True)
    return packages


def run(folder: Path, total_budget: float) -> None:
    """Run what is not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(prepare(folder))}
    wanted = {requirement: (".", ".", requirement) for requirement in SUITES}
    wanted[" against ".join(reversed(OLDER))] = (*(f"pip:{release}" for release in OLDER), OLDER[1])
    for name, (base, head, requirement) in wanted.items():
        file = folder / f"{name}.json"
        if file.exists():
            continue
        tree = folder / requirement.replace("python-", "python_").replace("==", "-")
        command = [Path(sys.executable).with_name("gnnbench"), "ab", base, head]
        budget = ["--total-budget", str(total_budget), "--json", str(file.resolve())]
        result = subprocess.run(
            [*command, *budget, "--", *SUITES[requirement]],
            cwd=tree,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
        )
        print(name, (result.stdout or result.stderr).strip().splitlines()[-1:], flush=True)


def table(folder: Path) -> str:
    """Return the verdicts of each suite."""
    kinds = ("same", "slower", "faster", "undecided", "incomparable")
    lines = [f"| suite | benchmarks | {' | '.join(kinds)} | seconds |", "|---" * (len(kinds) + 3) + "|"]
    for file in sorted(folder.glob("*.json")):
        found = json.loads(file.read_text(encoding="utf-8"))
        verdicts = Counter(one["verdict"] for one in found["benchmarks"])
        cells = (file.stem, verdicts.total(), *(verdicts[kind] for kind in kinds), round(found["seconds"]))
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--total-budget", type=float, default=600.0, help="seconds for a suite")
    options = parser.parse_args()
    if options.what == "run":
        run(options.folder, options.total_budget)
    print(table(options.folder))


if __name__ == "__main__":
    main()
