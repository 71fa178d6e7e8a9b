"""Bisects PyG's history.

    python experiments/bisect/real.py PYG FOLDER [mask_select | to_torch_csr_tensor]

PYG is a clone of PyG with its tags. FOLDER gets the results and the cache; a case with a result is not run
again. Run it on a quiet machine.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SUITES = {
    "mask_select": "experiments/known/suites/pyg/test_utils.py::test_mask_select",
    "to_torch_csr_tensor": "examples/ab/test_pyg.py::test_to_torch_csr_tensor",
}


def run(case: str, pyg: Path, folder: Path) -> None:
    """Bisect a case, and save the result."""
    script = str(Path(sys.executable).with_name("gnnbench"))
    result = folder / f"{case}.json"
    words = [script, "bisect", f"git:{pyg}@2.3.1", f"git:{pyg}@2.5.0", "--json", str(result)]
    words += ["--budget", "900", "--total-budget", "3600", "--", SUITES[case]]
    variables = {**os.environ, "GNNBENCH_CACHE": str(folder / "cache")}
    status = subprocess.run(words, cwd=ROOT, env=variables, check=False).returncode
    if status not in (0, 1, 3):
        raise SystemExit(status)


def main() -> None:
    """Run the cases without a result, and print the result of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("pyg", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("cases", nargs="*", metavar="CASE", default=list(SUITES), help="default: all")
    options = parser.parse_args()
    pyg, folder = options.pyg.resolve(), options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for case in options.cases:
        file = folder / f"{case}.json"
        if not file.exists() or json.loads(file.read_text())["unfinished"] == "interrupted":
            run(case, pyg, folder)
        found = json.loads(file.read_text())
        for one in found["findings"]:
            causes = [f"{cause['name'][:40]} {cause['title']}".strip() for cause in one["causes"]]
            ratios = [f"{change['ratio']:.2f}x" for change in one["changes"].values()]
            print(f"{case}: {', '.join(ratios)}: {' | '.join(causes[:3])} ({len(causes)})")
        print(f"{case}: {found['pairs']} pairs, {found['seconds']:.0f} s")


if __name__ == "__main__":
    main()
