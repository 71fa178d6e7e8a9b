"""Is 1 % more work in an extension found, with its function's name, and is the same code left alone?

    python experiments/instructions/extension.py [--times 20]

Compiles the extension of tests/plugin/test_instructions.py, records, and runs `--gnn-instructions-limit 0.5%`
alternately with the same extension and with one that does 1 % more.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.plugin.test_instructions import BARE, SUITE, build  # noqa: E402
from tests.suite import environment  # noqa: E402

LIMIT = ("--gnn-instructions", "--gnn-instructions-limit", "0.5%")


def count(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Count the benchmark that calls the extension."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "test_rows", *words]
    variables = environment(PYTHONPATH=str(folder), PYTEST_ADDOPTS=BARE)
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


def main() -> None:
    """Count alternately, and print how often each answer is right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--times", type=int, default=20)
    times = parser.parse_args().times
    named = clean = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "test_suite.py").write_text(SUITE)
        build(folder, 200_000)
        recorded = count(folder, "--gnn-instructions=update")
        if recorded.returncode:
            sys.exit(recorded.stdout)
        for number in range(1, times + 1):
            build(folder, 205_500)
            more = count(folder, *LIMIT)
            named += more.returncode == 1 and bool(re.search(r"in mix_rows \(rows\)", more.stdout))
            build(folder, 200_000)
            clean += count(folder, *LIMIT).returncode == 0
            print(
                f"1 % more found and named: {named} of {number}; same code passes: {clean} of {number}",
                flush=True,
            )


if __name__ == "__main__":
    main()
