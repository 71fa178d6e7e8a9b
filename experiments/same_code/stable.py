"""Are fingerprints the same in each process?

    python experiments/same_code/stable.py FOLDER [--processes 20] [-- PYTEST ARGS]

Takes the fingerprints of the suite in processes that differ in what must not matter: the working folder, the
temporary folder, the hash seed, the order of the tests, whether they run in a process of their own, and the
number of threads, which may change the settings only. FOLDER keeps the fingerprints, so that an interrupted
run can be continued.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_NOTHING_SELECTED = 5
"""pytest's exit code."""
_PARTS = ("functions", "values", "libraries", "work")


class Process(NamedTuple):
    """How one process differs from the others."""

    name: str
    threads: int
    files: Sequence[str]
    """Files of the suite, in the order in which they run."""
    elsewhere: bool
    """Whether the working folder is not the checkout."""


def processes(number: int) -> Iterator[Process]:
    """Yield the processes, which run the suite, the suite in the opposite order, or one of its files."""
    files = sorted(path.name for path in (_ROOT / "benchmarks").glob("test_*.py"))
    for one in range(number):
        chosen = (files, files[::-1], [files[one % len(files)]])
        yield Process(f"{one:02}", 1 + one // 2 % 2, chosen[one % len(chosen)], elsewhere=one % 4 > 1)


def take(process: Process, folder: Path, arguments: Sequence[str]) -> dict[str, Any]:
    """Return the inspections of a process by test id, from its file if there is one."""
    file = folder / f"{process.name}.json"
    if not file.exists():
        plugins = ["-p", "fingerprints", "-p", "no:cacheprovider"]
        options = ["-q", "--gnn-all", *plugins, "-c", str(_ROOT / "pyproject.toml")]
        suite = [str(_ROOT / "benchmarks" / name) for name in process.files]
        with tempfile.TemporaryDirectory() as temporary:
            own = {
                "FINGERPRINTS": str(file.resolve()),
                "PYTHONPATH": str(_HERE),
                "PYTHONHASHSEED": str(int(process.name) + 1),
                "TMPDIR": temporary,
                "OMP_NUM_THREADS": str(process.threads),
            }
            ended = subprocess.run(
                [sys.executable, "-m", "pytest", *options, f"--rootdir={_ROOT}", *suite, *arguments],
                cwd=temporary if process.elsewhere else _ROOT,
                env={**os.environ, **own},
                check=False,
                stdout=subprocess.DEVNULL,
            )
        if ended.returncode not in (0, _NOTHING_SELECTED):
            raise SystemExit(f"process {process.name}: pytest ended with {ended.returncode}")
    return dict(json.loads(file.read_text(encoding="utf-8")))


def differing(prints: Sequence[tuple[str, Any]]) -> Iterator[str]:
    """Yield the parts of a benchmark's fingerprints that differ, with the processes."""
    for part in _PARTS:
        for place in sorted({place for _, one in prints for place in one[part]}):
            hashes = [one[part].get(place) for _, one in prints]
            others = [name for (name, _), value in zip(prints, hashes, strict=True) if value != hashes[0]]
            if others:
                yield f"{part} {place}: {', '.join(others)}"


def main() -> None:
    """Print how many benchmarks have one code hash in all processes, and what differs in the others."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("arguments", nargs="*", metavar="PYTEST ARGS")
    options = parser.parse_intermixed_args()
    folder, arguments = options.folder, options.arguments
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[tuple[str, Any]]] = {}
    chosen = list(processes(options.processes))
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # nothing is timed
        results = pool.map(lambda process: take(process, folder, arguments), chosen)
        for process, taken in zip(chosen, results, strict=True):
            seconds = sorted(row["seconds"] for row in taken.values()) or [0.0]
            each = f"{seconds[0]:.3f} to {seconds[-1]:.3f} s of CPU time each"
            print(f"process {process.name}: {len(taken)} benchmarks, {each}", flush=True)
            for name, one in taken.items():
                found.setdefault(name.partition("::")[2], []).append((process.name, one))
    stable = prints_taken = 0
    for name, inspections in sorted(found.items()):
        without = {f"{process}: {one['unseen']}" for process, one in inspections if not one["fingerprint"]}
        prints = [(process, one["fingerprint"]) for process, one in inspections if one["fingerprint"]]
        hashes = {one["code"] for _, one in prints}
        stable += len(hashes) == 1 and not without
        prints_taken += len(prints)
        for line in sorted(without) if len(hashes) < 2 else differing(prints):  # noqa: PLR2004
            print(f"{name}: {line}")
    print(f"{prints_taken} fingerprints; {stable} of {len(found)} benchmarks have one code hash")


if __name__ == "__main__":
    main()
