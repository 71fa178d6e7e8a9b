"""How much of each benchmark's time is not timing: inputs, the check, copies, the fingerprint.

    python experiments/checks/outside.py --gnn-dataset ogbn-products:synthetic@0.1 benchmarks/test_spmm.py

Runs pytest with these arguments. For each benchmark it prints the time of one call, the time outside of the
timed region, and how many calls the part of it over a second would take. The first benchmark of each
operation and graph computes the reference, and is marked.
"""

import json
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Run pytest, and print a line for each benchmark."""
    with tempfile.TemporaryDirectory() as folder:
        saved, junit = Path(folder, "run.json"), Path(folder, "junit.xml")
        command = [sys.executable, "-m", "pytest", f"--benchmark-json={saved}", f"--junitxml={junit}"]
        status = subprocess.run([*command, "-q", *arguments], check=False).returncode
        run = json.loads(saved.read_text())
        cases = ET.parse(junit).iter("testcase")  # noqa: S314 - written by pytest just now
        durations = {case.get("name"): float(case.get("time")) for case in cases}
    seen = set()
    print("calls over a second  outside   a call  benchmark")
    for benchmark in run["benchmarks"]:
        name, ours = benchmark["name"], benchmark["extra_info"]["gnnbench"]
        spec = ours["spec"]
        call = ours["measurement"]["location_ns"] / 1e9
        outside = durations[name] - benchmark["stats"]["total"]
        key = spec["operation"], spec["dataset"]
        first = "" if key in seen else "  (first)"
        seen.add(key)
        print(f"{max(0, outside - 1) / call:19.1f} {outside:7.2f}s {call * 1000:6.0f}ms  {name}{first}")
    return status


if __name__ == "__main__":
    if sys.argv[1:] == ["--help"]:
        print(__doc__)
        sys.exit()
    sys.exit(main(sys.argv[1:]))
