"""Time benchmarks on PyG and on DGL, and write the result into docs/pyg-and-dgl.md.

    python experiments/along/pyg_and_dgl.py FOLDER [--processes 6] [--page FILE] [-- PYTEST ARGS]

PYTEST ARGS choose the benchmarks: by default `benchmarks -m core`; `benchmarks -k "not thread"` for all
operations.

Each process times both platforms; every other process begins with DGL. FOLDER has their run files, so the
same command continues after an interruption. Close other programs first: disturbed measurements do not count.
"""

import argparse
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from gnnbench.engine.drive import along
from gnnbench.engine.drive.along import Axis
from gnnbench.engine.judge.verdict import Thresholds
from gnnbench.engine.show import along as along_document
from gnnbench.engine.show import markdown_text
from gnnbench.engine.store import run_file
from gnnbench.engine.store.run_file import RunFile
from gnnbench.suite.operations import OPERATIONS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "pyg-and-dgl.md"
BEGIN, END = "<!-- begin: experiments/along/pyg_and_dgl.py -->", "<!-- end -->"
SUITE = ("benchmarks", "-m", "core")
ORDERS = ("pyg,dgl", "dgl,pyg")
EFFECT = 0.03


def measure(folder: Path, processes: int, arguments: list[str]) -> list[Path]:
    """Run the processes without a run file, and return the run files of all."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"process-{number}.json" for number in range(1, processes + 1)]
    for number, path in enumerate(paths):
        if not path.exists():
            platforms = ("--gnn-platform", ORDERS[number % 2])
            command = [sys.executable, "-m", "pytest", *(arguments or SUITE), *platforms]
            subprocess.run([*command, f"--benchmark-json={path.absolute()}"], cwd=ROOT, check=True)
    return paths


def block(runs: list[RunFile]) -> str:
    """Return the page's text on these processes."""
    here = runs[0].environment
    assert here
    versions = ", ".join(f"{name} {version}" for name, version in here.libraries)
    threads = f"{here.threads} threads on {here.cores} cores"
    place = f"{here.cpu}, {threads}; Python {here.python}, {versions}"
    commit = f"; commit {here.commit[:8]} of this repository" if here.commit else ""
    thresholds = Thresholds(EFFECT)
    text = f"{place}{commit}.\n"
    for title, chosen in (("Core operations", True), ("Other operations", False)):
        parts = [_of(run, core=chosen) for run in runs]
        if parts[0].benchmarks:
            found = along.compare(parts, Axis("platform", "pyg"), thresholds)
            document = along_document.document(found, thresholds)
            text += f"\n## {title}\n\n{markdown_text.Markdown().write(document)}"
    return text


def _of(run: RunFile, *, core: bool) -> RunFile:
    """Return a run with only its core benchmarks, or only the others."""
    chosen = {
        name: one
        for name, one in run.benchmarks.items()
        if one.spec and ((known := OPERATIONS.get(one.spec.operation)) is not None and known.core) == core
    }
    return replace(run, benchmarks=chosen)


def replaced(page: str, text: str) -> str:
    """Return the page with a new text between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{text}\n{END}{after}"


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("arguments", nargs="*", metavar="PYTEST ARGS")
    options = parser.parse_intermixed_args()
    paths = measure(options.folder, options.processes, options.arguments)
    text = block([run_file.read(path) for path in paths])
    options.page.write_text(replaced(options.page.read_text("utf-8"), text), "utf-8")
    print(f"{options.page} is written")


if __name__ == "__main__":
    main()
