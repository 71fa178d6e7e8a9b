"""What `gnnbench ab` decides on a real machine that other programs use, and whether it is right.

    python experiments/busy/busy.py FOLDER [--loads quiet "two loops"] [--share 0] [--command gnnbench]

Core benchmarks on the stand-in of Cora, for 240 s in all, and eight calls of PyG, for 96 s. Half, drawn
from --seed, are 10 % slower, or none with --share 0. LOADS has the programs that run next to it. The table
counts the verdicts on slower and on identical benchmarks.
"""

import argparse
import json
import os
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
SUITES = {
    "core": (
        240,
        ("benchmarks", "-m", "core", "--gnn-platform", "pyg,torch", "--gnn-dataset", "cora:synthetic"),
    ),
    "PyG": (96, (str(HERE / "kernels"),)),
}


@contextmanager
def programs(texts: tuple[str, ...]) -> Iterator[None]:
    """Run programs until the context ends."""
    running = [subprocess.Popen([sys.executable, "-c", text]) for text in texts]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def run(command: str, suite: str, share: float, seed: int, file: Path) -> None:
    """Compare the working tree with itself, half of whose benchmarks are slower."""
    seconds, arguments = SUITES[suite]
    head = f"env:PLANTED={share}:{seed}"
    words = ["ab", ".", head, "--time-all", "--total-budget", str(seconds), "--json", str(file)]
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    with file.with_suffix(".txt").open("w") as output:
        subprocess.run(
            [command, *words, "--", "-p", "planted", *arguments],
            env=environment,
            stdout=output,
            stderr=output,
            check=False,
        )


def row(load: str, suite: str, share: float, seed: int, file: Path) -> str:
    """Return a line of the table."""
    result = json.loads(file.read_text())
    slower, same = Counter(), Counter()
    for benchmark in result["benchmarks"]:
        counts = slower if share and is_planted(benchmark["id"], str(seed)) else same
        counts[benchmark["verdict"]] += 1
    wrong = sum(slower[word] for word in ("same", "faster")) + sum(
        same[word] for word in ("slower", "faster")
    )
    pairs = sorted(benchmark["pairs"] for benchmark in result["benchmarks"])
    decided = slower["slower"] + same["same"] + wrong
    return (
        f"| {load} | {suite} | {decided} of {len(pairs)} | {wrong} | {slower['slower']} of {slower.total()} |"
        f" {same['same']} of {same.total()} | {pairs[len(pairs) // 2]} | {result['seconds']:.0f} |"
    )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--loads", nargs="+", choices=LOADS, default=list(LOADS))
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=list(SUITES))
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--command", default=str(Path(sys.executable).with_name("gnnbench")))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    print("| load | suite | decided | wrong | slower found | same found | pairs (median) | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for load in options.loads:
        for suite in options.suites:
            file = options.folder / f"{load.replace(' ', '-')}-{suite}-{options.share:g}-{options.seed}.json"
            if not file.exists():
                with programs(LOADS[load]):
                    run(options.command, suite, options.share, options.seed, file)
            print(row(load, suite, options.share, options.seed, file), flush=True)


if __name__ == "__main__":
    main()
