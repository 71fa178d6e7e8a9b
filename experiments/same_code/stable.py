"""Are fingerprints the same in each process?

python experiments/same_code/stable.py FOLDER [--processes N] [-- PYTEST ARGS]

Takes the fingerprints of the default suite (or of PYTEST ARGS) in N processes that differ in what must not
matter: the working folder, the temporary folder, the hash seed, the order of the tests, whether a test runs
alone (--benchmark by file) or after others, and the number of threads, which may change the settings only.
FOLDER keeps the fingerprints; what is there is not taken again.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]


class Process(NamedTuple):
    """How one process differs from the others."""

    name: str
    threads: int
    files: tuple[str, ...]
    """Only these files of the suite, in this order; empty: all."""
    elsewhere: bool
    """Whether the working folder is not the checkout."""


def processes(number: int) -> Iterator[Process]:
    """Yield the processes: a third runs a single file, a third the files in the opposite order."""
    files = sorted(path.name for path in (_ROOT / "benchmarks").glob("test_*.py"))
    for one in range(number):
        chosen = ((), tuple(reversed(files)), (files[one % len(files)],))[one % 3]
        yield Process(f"{one:02}", 1 + one // 2 % 2, chosen, elsewhere=one % 4 == 3)


def take(process: Process, folder: Path, arguments: Sequence[str]) -> dict[str, Any]:
    """Return the fingerprints of a process by test id, from its file if there is one."""
    file = folder / f"{process.name}.json"
    if not file.exists():
        suite = [str(_ROOT / "benchmarks" / name) for name in process.files] or [str(_ROOT / "benchmarks")]
        with tempfile.TemporaryDirectory() as temporary, tempfile.TemporaryDirectory() as elsewhere:
            environment = {
                **os.environ,
                "FINGERPRINTS": str(file),
                "PYTHONPATH": str(_HERE),
                "PYTHONHASHSEED": str(int(process.name) + 1),
                "TMPDIR": temporary,
                "OMP_NUM_THREADS": str(process.threads),
            }
            subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "-p", "fingerprints", f"--rootdir={_ROOT}", "-p", "no:cacheprovider",
                 "-c", str(_ROOT / "pyproject.toml"), *suite, *arguments],
                cwd=elsewhere if process.elsewhere else _ROOT,
                env=environment,
                check=True,
                stdout=subprocess.DEVNULL,
            )  # fmt: skip
    return dict(json.loads(file.read_text(encoding="utf-8")))


def main() -> None:
    """Print, for each benchmark, the number of different code hashes, and what differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--processes", type=int, default=20)
    own, arguments = parser.parse_known_args()
    own.folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[tuple[str, Any]]] = {}
    for process in processes(own.processes):
        taken = take(process, own.folder, [word for word in arguments if word != "--"])
        print(f"process {process}: {len(taken)} benchmarks", flush=True)
        for name, one in taken.items():
            found.setdefault(name.partition("::")[2], []).append((process.name, one))
    unstable = without = 0
    for name, all_of_it in sorted(found.items()):
        prints = [(process, one["fingerprint"]) for process, one in all_of_it if one["fingerprint"]]
        without += len(prints) < len(all_of_it)
        if len(prints) < len(all_of_it):
            print(f"no fingerprint: {name}: { ({one['unseen'] for _, one in all_of_it}) }")
        codes = {one["code"] for _, one in prints}
        if len(codes) > 1:
            unstable += 1
            print(f"{len(codes)} code hashes: {name}")
            for part in ("functions", "values", "libraries", "work"):
                names = {place for _, one in prints for place in one[part]}
                for place in sorted(names):
                    hashes = [one[part].get(place, "absent") for _, one in prints]
                    if len(set(hashes)) > 1:
                        processes_of = [
                            process
                            for (process, _), value in zip(prints, hashes, strict=True)
                            if value != hashes[0]
                        ]
                        print(f"    {part} {place}: differs in {' '.join(processes_of)}")
    print(
        f"{len(found)} benchmarks: {unstable} with several code hashes, {without} without a fingerprint somewhere"
    )


if __name__ == "__main__":
    main()
