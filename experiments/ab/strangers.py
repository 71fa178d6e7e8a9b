"""Verdicts of `gnnbench ab` on other projects' benchmarks, unchanged from their source distributions.

    python experiments/ab/strangers.py run FOLDER [--total-budget 600]    # continues an interrupted run
    python experiments/ab/strangers.py table FOLDER
    python experiments/ab/strangers.py results FOLDER

Each suite runs with the same release on both sides, and one suite also with an older release as its base.
The suites' dependencies are installed into FOLDER/packages. `results` times nothing: it compares the outputs
of benchmarks in two releases of a package, and prints a table. If a suite is part of a package, its relative
imports are replaced.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SUITES = {
    "boost_histogram==1.8.1": [
        "tests/test_benchmark_1d.py",
        "tests/test_benchmark_2d.py",
        "tests/test_benchmark_category_axis.py",
    ],
    "cattrs==26.2.1": ["bench"],
    "python-rapidjson==1.25": ["benchmarks"],
}
_PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
_GNNBENCH = str(Path(sys.executable).with_name("gnnbench"))
NEEDED = ["msgspec==0.22.0", "orjson==3.11.4"]
"""Packages that the benchmarks of cattrs need."""
OLDER = ("cattrs==24.1.3", "cattrs==26.2.1")


class Releases(NamedTuple):
    """Two releases of a package, and a suite that uses it."""

    package: str
    base: str
    head: str
    suite: str
    """Requirement whose source distribution has the suite."""
    files: tuple[str, ...]
    """Names of the suite's files and folders in the source distribution."""
    options: tuple[str, ...] = ()
    """Arguments of pytest."""


_HISTOGRAM = ("boost_histogram==1.8.1", ("pyproject.toml", "tests/conftest.py", "tests/test_benchmark_*.py"))
_NUMBAGG = ("numbagg==0.8.2", ("numbagg/test/conftest.py", "numbagg/test/test_benchmark.py"))
_PINT = ("pint/testsuite/conftest.py", "pint/testsuite/benchmarks/test_[1-9]*.py")
_STATS = ("numba-stats==1.14.0", ("bench/test_stats.py",))
_SMALL = ("-m", "not slow and not nightly", "-k")
RELEASES = (
    Releases("bitstring", "4.3.1", "4.4.0", "bitstring==4.4.0", ("tests/test_benchmarks.py",)),
    Releases("boost_histogram", "1.5.2", "1.6.1", *_HISTOGRAM),
    Releases("boost_histogram", "1.6.1", "1.7.2", *_HISTOGRAM),
    Releases("boost_histogram", "1.7.2", "1.8.1", *_HISTOGRAM),
    Releases("cattrs", "24.1.3", "26.2.1", "cattrs==26.2.1", ("bench/*.py",)),
    Releases(
        *("dtaidistance", "2.3.13", "2.5.1", "dtaidistance==2.5.1", ("tests/test_benchmark.py",)),
        ("-k", "not serial_python and not parallel_python"),
    ),
    Releases("numba-stats", "1.8.1", "1.14.0", *_STATS, ("-k", "ours and not parallel and not 100000")),
    Releases("numbagg", "0.8.2", "0.9.6", *_NUMBAGG, (*_SMALL, "numbagg")),
    Releases("pandas", "2.3.3", "3.0.0", *_NUMBAGG, (*_SMALL, "pandas")),
    Releases("pint", "0.24.4", "0.25.3", "pint==0.25.3", _PINT),
    Releases("python-rapidjson", "1.20", "1.25", "python-rapidjson==1.25", ("benchmarks/*.py",)),
    Releases("scipy", "1.16.3", "1.17.1", *_STATS, ("-k", "scipy and not 100000")),
)
USED = (
    *("bitarray==3.12.3", "bottleneck==1.6.0", "flexcache==0.3", "flexparser==0.4", "llvmlite==0.50.0"),
    *("numba==0.68.1", "numba-stats==1.14.0", "numbagg==0.9.6", "platformdirs==4.14.8", "pytz==2026.6"),
    *("tibs==2.0.2", *NEEDED),
)
"""Packages that the suites or the tested packages need."""


def prepare(folder: Path) -> Path:
    """Unpack the sources, install the releases, and return the folders of the releases."""
    packages = folder / "packages"
    if not packages.exists():
        for requirement in SUITES:
            unpack(requirement, folder)
        install(packages, *SUITES, *NEEDED)
    return packages


def unpack(requirement: str, folder: Path) -> Path:
    """Download and unpack a source distribution, unless its folder exists; return the folder."""
    name = requirement.replace("-", "_").replace("==", "-")
    if not (folder / name).exists():
        package = requirement.partition("==")[0]
        download = ["download", "--quiet", "--no-deps", "--no-binary", package, "--dest", str(folder)]
        subprocess.run([*_PIP, *download, requirement], check=True)
        with tarfile.open(folder / f"{name}.tar.gz") as file:
            file.extractall(folder, filter="data")
    return folder / name


def install(packages: Path, *requirements: str) -> None:
    """Install releases without their dependencies."""
    target = ["install", "--quiet", "--no-deps", "--target", str(packages)]
    subprocess.run([*_PIP, *target, *requirements], check=True)


def run(folder: Path, total_budget: float) -> None:
    """Run the comparisons that have no result yet."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(prepare(folder))}
    wanted = {requirement: (".", ".", requirement) for requirement in SUITES}
    wanted[" against ".join(reversed(OLDER))] = (*(f"pip:{release}" for release in OLDER), OLDER[1])
    for name, (base, head, requirement) in wanted.items():
        file = folder / f"{name}.json"
        if file.exists():
            continue
        tree = unpack(requirement, folder)
        command = [_GNNBENCH, "ab", base, head]
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
        verdicts = Counter(row["judgement"]["verdict"] for row in found["comparison"]["rows"])
        cells = (file.stem, verdicts.total(), *(verdicts[kind] for kind in kinds), round(found["seconds"]))
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def suite(releases: Releases, folder: Path) -> Path:
    """Copy a suite out of its source distribution; return the folder to run it in."""
    source = unpack(releases.suite, folder)
    root = folder / f"suite of {source.name}"
    for pattern in releases.files:
        for file in source.glob(pattern):
            parents = file.relative_to(source).parent.parts
            text = file.read_text(encoding="utf-8")
            for dots in range(2, len(parents) + 1):
                package = ".".join(parents[: len(parents) + 1 - dots])
                text = re.sub(rf"^from \.{{{dots}}}(?=\w)", f"from {package}.", text, flags=re.MULTILINE)
                text = re.sub(rf"^from \.{{{dots}}} ", f"from {package} ", text, flags=re.MULTILINE)
            copy = root / ("tests" if parents else ".") / file.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text, encoding="utf-8")
    return root


def results(folder: Path) -> Iterator[str]:
    """Compare the results of each pair of releases, unless that is done, and yield a table row for each."""
    used = folder / "used"
    if not used.exists():
        install(used, *USED)
    kinds = ("equal", "close", "differ", "not compared")
    yield f"| package | releases | benchmarks | same code | {' | '.join(kinds)} | failed |"
    yield "|---" * (len(kinds) + 5) + "|"
    for one in RELEASES:
        file = folder / f"{one.package}-{one.base}-{one.head}-results.json"
        if not file.exists():
            sides = [f"pip:{one.package}=={release}" for release in (one.base, one.head)]
            options = ["--json", str(file.resolve()), "--", "tests", *one.options]
            environment = {**os.environ, "PYTHONPATH": str(used.resolve())}
            root = suite(one, folder)
            command = [_GNNBENCH, "affected", *sides, *options]
            subprocess.run(command, cwd=root, env=environment, check=False, stdout=subprocess.DEVNULL)
        found = json.loads(file.read_text(encoding="utf-8"))["benchmarks"] if file.exists() else {}
        compared = [benchmark["results"] for benchmark in found.values() if benchmark["results"]]
        status = Counter(agreement["status"] for agreement in compared)
        same = sum(benchmark["status"] == "same" for benchmark in found.values())
        counts = (len(found), same, *(status[kind] for kind in kinds))
        failed = len(found) - len(compared) - same
        cells = (one.package, f"{one.base} → {one.head}", *counts, failed)
        yield f"| {' | '.join(map(str, cells))} |"
        for name, benchmark in found.items():
            if (agreement := benchmark["results"]) and agreement["status"] == "differ":
                print(f"{name}: {agreement['reason']}", file=sys.stderr)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("run", "table", "results"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--total-budget", type=float, default=600.0, help="seconds for a suite")
    options = parser.parse_args()
    if options.what == "run":
        run(options.folder, options.total_budget)
    if options.what == "results":
        for row in results(options.folder):
            print(row, flush=True)
    else:
        print(table(options.folder))


if __name__ == "__main__":
    main()
