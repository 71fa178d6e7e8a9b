"""Verdicts of `gnnbench ab` on a real machine next to other programs, and how many are wrong.

    python experiments/busy/busy.py FOLDER [--loads quiet "two loops"] [--share 0] [--command gnnbench]

SUITES has benchmarks and the seconds for all of them. A half, drawn from --seed, is 10 % slower; with --share
0 none is. LOADS has the other programs. The table counts verdicts on slower and identical benchmarks.
Finished runs are not repeated.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from planted import is_planted

HERE = Path(__file__).parent
_LOOP = "while True: pass"
_MEMORY = "import numpy\na = numpy.zeros(2**26)\nwhile True: a[:] = a[::-1]"
_BURSTS = "import time\nwhile True:\n end = time.time() + 5\n while time.time() < end: pass\n time.sleep(15)"
LOADS = {
    "quiet": (),
    "one loop": (_LOOP,),
    "two loops": (_LOOP, _LOOP),
    "memory": (_MEMORY,),
    "bursts": (_BURSTS, _BURSTS),
}
_CORE = ("benchmarks", "-m", "core", "--gnn-platform", "pyg,torch,dgl", "--gnn-dataset", "cora:synthetic")
SUITES = {
    "core": (240, _CORE),
    "PyG": (96, (str(HERE / "kernels"),)),
}


@contextmanager
def programs(texts: tuple[str, ...]) -> Iterator[None]:
    """Run other programs until the context ends."""
    running = [subprocess.Popen([sys.executable, "-c", text]) for text in texts]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def run(suite: str, options: argparse.Namespace, file: Path) -> None:
    """Compare the working tree with itself; half of the head's benchmarks are slower."""
    seconds, arguments = SUITES[suite]
    sides = []
    for share in (0.0, options.share):
        folder = file.parent.absolute() / f"planted-{share:g}-{options.seed}"
        shutil.copytree("gnnbench", folder / "gnnbench", dirs_exist_ok=True)
        (folder / "planting.py").write_text(f"SHARE, SEED = {share}, {options.seed}\n")
        sides.append(f"path:{folder}")
    words = ["ab", *sides, "--time-all", "--total-budget", str(seconds), "--json", str(file)]
    command = [options.command, *words, "--", "-p", "planted", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    with file.with_suffix(".txt").open("w") as output:
        subprocess.run(command, env=environment, stdout=output, stderr=output, check=False)


def row(file: Path, options: argparse.Namespace) -> list[str]:
    """Return the cells of a run's table row."""
    result = json.loads(file.read_text())
    slower, same = Counter[str](), Counter[str]()
    rows = result["comparison"]["rows"]
    for benchmark in rows:
        counts = slower if options.share and is_planted(benchmark["fullname"], options.seed) else same
        counts[benchmark["judgement"]["verdict"]] += 1
    wrong = slower["same"] + slower["faster"] + same["slower"] + same["faster"]
    pairs = sorted(benchmark["counts"]["pairs"] for benchmark in rows)
    right = f"{slower['slower']} of {slower.total()}", f"{same['same']} of {same.total()}"
    return [*right, str(wrong), str(pairs[len(pairs) // 2]), f"{result['seconds']:.0f}"]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--loads", nargs="+", choices=LOADS, default=list(LOADS))
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=["core", "PyG"])
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--command", default=str(Path(sys.executable).with_name("gnnbench")))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    print("| load | suite | slower found | same found | wrong | pairs (median) | seconds |")
    print("|---|---|---|---|---|---|---|")
    for load in options.loads:
        for suite in options.suites:
            file = options.folder / f"{load.replace(' ', '-')}-{suite}-{options.share:g}-{options.seed}.json"
            if not file.exists():
                with programs(LOADS[load]):
                    run(suite, options, file)
            print(f"| {' | '.join((load, suite, *row(file, options)))} |", flush=True)


if __name__ == "__main__":
    main()
