"""Is 1 % more work in an extension found, with its function's name, and is the same code left alone?

    python experiments/instructions/extension.py [--times 20]

Compiles the extension of tests/profile/test_instructions.py, and counts alternately the same extension and
one that does 1 % more.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from agreement import ROOT, counted

from gnnbench.compare.instructions import InstructionChange
from gnnbench.measure.instructions.counting import Instructions

sys.path.insert(0, str(ROOT))

from tests.profile.test_instructions import build

LEAST = 0.005
"""A smaller change is not looked for."""
SUITE = """
import rows


def test_rows(benchmark):
    benchmark(rows.step)
"""


def count(folder: Path, times: int) -> Instructions:
    """Compile the extension, and count the benchmark that calls it."""
    build(folder, times)
    ((_, (found, _)),) = counted(["test_suite.py"], folder)
    return found


def main() -> None:
    """Count alternately, and print how often each answer is right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--times", type=int, default=20)
    times = parser.parse_args().times
    named = clean = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "test_suite.py").write_text(SUITE)
        base = count(folder, 200_000)
        for number in range(1, times + 1):
            more, same = (InstructionChange.between(base, count(folder, one)) for one in (205_500, 200_000))
            named += more.fraction > LEAST and "in mix_rows (rows)" in more.sentence()
            clean += same.fraction <= LEAST
            print(
                f"1 % more found and named: {named} of {number}; same code passes: {clean} of {number}",
                flush=True,
            )


if __name__ == "__main__":
    main()
