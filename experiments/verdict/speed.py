"""Time of comparing 500 benchmarks with 20 baseline runs.

    python experiments/verdict/speed.py

Writes run files like those of `gnnbench baseline record`, with 120 blocks of three rounds per benchmark, and
times a process of `gnnbench compare` on them.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from gnnbench.measure.estimate import block_values, estimate
from gnnbench.measure.measurement import Measurement, Process
from gnnbench.results.parts import FORMAT_VERSION

BENCHMARKS, RUNS = 500, 20
BLOCKS, ROUNDS = 120, 3


def run(seed: int) -> dict[str, Any]:
    """Return a run file."""
    random = np.random.default_rng(seed)
    entries = []
    for number in range(BENCHMARKS):
        blocks = (1e6 * np.exp(random.normal(0, 0.05, (BLOCKS, ROUNDS)) + random.normal(0, 0.01))).tolist()
        measurement = Measurement("fake", "sampled", stopped_by="time")
        measurement.processes = [Process(blocks)]
        found = estimate(block_values(blocks))
        record = measurement.as_json()
        assert record["location_ns"] == found.location
        ours = {"version": FORMAT_VERSION, "measurement": record}
        entries.append(
            {"fullname": f"test_a.py::test_{number}", "extra_info": {"gnnbench": ours}, "stats": {}}
        )
    return {"benchmarks": entries, "machine_info": {}}


def main() -> None:
    """Make the files and time the command."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for seed in range(RUNS + 1):
            files.append(Path(folder, f"{seed}.json"))
            files[-1].write_text(json.dumps(run(seed)), encoding="utf-8")
        print(
            f"{BENCHMARKS} benchmarks, {RUNS} runs against one, {files[0].stat().st_size / 1e6:.1f} MB a run"
        )
        command = [Path(sys.executable).with_name("gnnbench"), "compare", *files[:-1], "--", files[-1]]
        start = time.monotonic()
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        print(f"judged in {time.monotonic() - start:.2f} s")


if __name__ == "__main__":
    main()
