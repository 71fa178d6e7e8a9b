"""Do processes agree on the number of instructions, beside a compiler too?

    python experiments/instructions/agreement.py FOLDER [--processes 20] [-- PYTEST ARGS]
    python experiments/instructions/agreement.py FOLDER --table

Counts twelve benchmarks in each process, in two at a time; beside every second pair, g++ compiles. FOLDER
keeps what was counted, so an interrupted run goes on. The table has, by benchmark, the largest distance from
the median and how many processes are within 0.3 % of it.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gnnbench.engine.drive.inspector import ANSWER_SECONDS
from gnnbench.engine.judge.trial import Trial
from gnnbench.engine.judge.visit import NotTimed
from gnnbench.engine.measure.instructions import Instructions, counter_name
from gnnbench.engine.process.pairs import Pairs
from gnnbench.engine.process.plan import PairSettings, Plan
from gnnbench.engine.process.variants.variant import Prepared
from gnnbench.engine.show.progress import Progress

ROOT = Path(__file__).parents[2]
WITHIN = 0.003
WHICH = "(gcn_norm or add_remaining_self_loops or edge_softmax or spmm_sum or test_conv) and forward_backward"
WITHOUT = "(pyg or sparse) and float32 and int64 and not ptr and not edge_index and not edge_weight"
SUITE = [
    *("benchmarks/test_gcn_norm.py", "benchmarks/test_self_loops.py", "benchmarks/test_edge_softmax.py"),
    *("benchmarks/test_spmm.py", "benchmarks/test_conv.py", "--gnn-all", "-k", f"{WHICH} and {WITHOUT}"),
    *("--gnn-dataset", "rmat:10", "--gnn-hidden", "16", "--gnn-device", "cpu"),
]
HARD = "#include <regex>\n#include <map>\n" + "".join(
    f'std::regex r{n}("a+{n}"); std::map<int, std::map<int, std::regex>> m{n};\n' for n in range(200)
)


@contextmanager
def compiler(*, busy: bool) -> Iterator[None]:
    """Compile repeatedly until the context ends."""
    if not busy:
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "hard.cpp").write_text(HARD)
        loop = "while true; do g++ -O2 -c hard.cpp -o hard.o; done"
        process = subprocess.Popen(["/bin/bash", "-c", loop], cwd=folder, start_new_session=True)
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()


def counted(arguments: Sequence[str]) -> Iterator[tuple[str, list[Instructions]]]:
    """Count in two processes; yield the id of each benchmark that can be counted, and what each executes."""
    side = Prepared(".", environment={"PYTHONPATH": str(ROOT)})
    setting = Plan(arguments=arguments, folder=ROOT, timeout_seconds=ANSWER_SECONDS)
    with (
        Progress() as progress,
        Pairs(setting, progress) as pairs,
        pairs.start(PairSettings(side, side, counter=counter_name())) as both,
    ):
        for name in both.suite.names:
            found = both.count(Trial(name))
            if isinstance(found, NotTimed):
                print(f"{name}: not counted: {found.text}", flush=True)
            else:
                yield name, found


def count(folder: Path, number: int, arguments: list[str]) -> None:
    """Count in the two processes of a pair, and save the counts."""
    files = [folder / f"{2 * number + side:02}.json" for side in range(2)]
    if all(file.exists() for file in files):
        return
    with compiler(busy=number % 2 == 1):
        found = dict(counted(arguments))
    for side, file in enumerate(files):
        file.write_text(json.dumps({name: both[side].total for name, both in found.items()}, indent=1))


def table(folder: Path) -> None:
    """Print how well the processes agree."""
    totals: dict[str, list[int]] = {}
    for file in sorted(folder.glob("*.json")):
        for name, total in json.loads(file.read_text()).items():
            totals.setdefault(name, []).append(total)
    inside = number = 0
    print(f"{'instructions':>14} {'furthest':>9} {'within':>7}  benchmark")
    for name, found in totals.items():
        middle = statistics.median(found)
        off = [abs(one / middle - 1) for one in found]
        near = sum(one <= WITHIN for one in off)
        inside, number = inside + near, number + len(off)
        print(f"{middle:14,.0f} {max(off):9.3%} {near:3}/{len(off):<3}  {name.partition('::')[2]}")
    print(f"{inside} of {number} within {WITHIN:.1%}")


def main() -> None:
    """Count, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("arguments", nargs="*", metavar="PYTEST ARGS")
    options = parser.parse_intermixed_args()
    folder = options.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(0 if options.table else options.processes // 2):
        count(folder, number, options.arguments or SUITE)
    table(folder)


if __name__ == "__main__":
    main()
