"""Overhead of a block of `gnnbench ab`: the communication with a worker.

    python experiments/ab/protocol.py [--blocks 2000]

A real worker times nearly empty calls: one without inputs, one with a tensor of 256 bytes and one of 4 MiB,
which is re-allocated before each block. Three kinds of blocks alternate: those that leave the process
unpinned, keep it on a core, or move it to another core. Prints the median milliseconds of each.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from gnnbench.cpu import cores
from gnnbench.variants.child import Child

SUITE = """
import torch

def nothing(*inputs):
    pass

def test_no_input(benchmark):
    benchmark(nothing)

def test_256_bytes(benchmark):
    benchmark(nothing, torch.zeros(64))

def test_4_mebibytes(benchmark):
    benchmark(nothing, torch.zeros(1 << 20))
"""
TIMEOUT_SECONDS = 60.0


def cost_ms(worker: Child, name: str, blocks: int) -> dict[str, float]:
    """Return the middle milliseconds of a block by where it runs."""

    def ask(command: str, **terms: object) -> None:
        worker.send({"command": command, "now": None, **terms})
        worker.answer(TIMEOUT_SECONDS)

    ask("run", name=name, seed=0)
    ask("calibrate")
    first, second = cores()[:2]
    # In turns, so that the second and the third begin on the core that they say.
    turns = {"anywhere": None, "to a core": first, "on it again": first, "to another": second}
    found: dict[str, list[float]] = {where: [] for where in turns}
    for _ in range(blocks):
        for where, core in turns.items():
            start = time.perf_counter()
            ask("block", rounds=1, iterations=1, core=core)
            found[where].append(1e3 * (time.perf_counter() - start))
    ask("next")
    return {where: statistics.median(values) for where, values in found.items()}


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--blocks", type=int, default=2000)
    blocks = parser.parse_args().blocks
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        (tree / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        (tree / "test_suite.py").write_text(SUITE, encoding="utf-8")
        given = {"environment": {}, "trees": (), "folder": tree, "log": tree / "log"}
        with Child(["test_suite.py"], **given) as worker:
            for name in worker.answer(TIMEOUT_SECONDS)["names"]:
                costs = cost_ms(worker, name, blocks)
                print(name, ", ".join(f"{where} {cost:.3f} ms" for where, cost in costs.items()), flush=True)


if __name__ == "__main__":
    main()
