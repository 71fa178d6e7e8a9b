"""A history of real runs, for the picture of docs/trend.md.

    python experiments/trend/history.py FOLDER [--runs 40]    # continues an interrupted run
    cd FOLDER/project && gnnbench trend ../runs -o ../trend.html

FOLDER/project is the suite of four kernels of experiments/gate in its own git repository. The commits have
dates of successive days, and each is timed once. One makes a kernel wait for 12 % of its own time,
another one makes another kernel wait for 8 %.
"""

import argparse
import os
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "gate"))
import project
import runs

_CHANGES = {0.4: ("gcn_norm", 0.12), 0.7: ("gather_scatter", 0.08)}
"""When, as a fraction of the history: the kernel that becomes slower, and by how much."""


def main() -> None:
    """Read the command line, and time the commits that were not timed yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=40)
    options = parser.parse_args()
    tree, saved = options.folder / "project", options.folder / "runs"
    saved.mkdir(parents=True, exist_ok=True)
    project.make("four", tree)
    changes = {round(when * options.runs): change for when, change in _CHANGES.items()}
    for number in range(options.runs):
        tag = f"run-{number:02}"
        if not (tree / ".git" / "refs" / "tags" / tag).exists():
            _commit(tree, changes.get(number), tag, date(2026, 1, 1) + timedelta(days=number))
        file = (saved / f"{number:02}.json").resolve()
        if not file.exists():
            project.git(tree, "checkout", "--quiet", "--detach", tag)
            _time(tree, file)
            print(f"{tag}: {file}", flush=True)


def _commit(tree: Path, change: tuple[str, float] | None, tag: str, day: date) -> None:
    """Commit a change of a kernel, or one that does nothing, as of noon of a day."""
    source = tree / "kernels" / "__init__.py"
    text = source.read_text(encoding="utf-8")
    source.write_text(runs.slowed(text, *change) if change else f"{text}# {tag}\n", encoding="utf-8")
    os.environ |= dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"{day}T12:00:00Z")
    project.git(tree, "commit", "--quiet", "--all", "--message", tag)
    project.git(tree, "tag", tag)


def _time(tree: Path, file: Path) -> None:
    variables = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
    words = ["-m", "pytest", "benchmarks", "-q", "--gnn-layouts=sample", f"--benchmark-json={file}"]
    subprocess.run([sys.executable, *words], cwd=tree, env=variables, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
