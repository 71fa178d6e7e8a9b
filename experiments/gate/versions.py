"""Verdicts of `pytest --benchmark-compare` after a library changed: its version, or its checkout.

    python experiments/gate/versions.py run FOLDER [-- PYTEST ARGS]    # continues an interrupted run
    python experiments/gate/versions.py table FOLDER

FOLDER/environment sees all packages of this environment, and has its own torch_geometric and an editable
installation of the small library FOLDER/edgelists, whose last commit makes `degrees` slower. Each case has a
suite in its own git repository. The old version is installed or checked out and recorded; then the new
version is installed or checked out, and judged. `run` prints pytest's outputs, both commands print the
verdicts.
"""

import argparse
import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

import project

_OLD, _NEW = "torch_geometric==2.3.1", "torch_geometric==2.4.0"


class Case(NamedTuple):
    """A suite, and the requirement or the tag of the library before and after the change."""

    suite: str
    before: str
    after: str


CASES = {
    "upgrade": Case("releases", _OLD, _NEW),
    "downgrade": Case("releases", _NEW, _OLD),
    "checkout-slower": Case("checkout", "first", "slower"),
    "checkout-faster": Case("checkout", "slower", "first"),
}


def prepare(folder: Path) -> str:
    """Make the environment and the library, unless both exist; return the interpreter."""
    environment, library, complete = (folder / name for name in ("environment", "edgelists", "complete"))
    python = str(environment.resolve() / "bin" / "python")
    if not complete.exists():
        shutil.rmtree(library, ignore_errors=True)
        project.make("edgelists", library)
        source = library / "src" / "edgelists" / "__init__.py"
        text = source.read_text(encoding="utf-8")
        source.write_text(text.replace("_ in edges:", "_ in map(tuple, edges):"), encoding="utf-8")
        project.git(library, "commit", "--quiet", "--all", "--message", "slower")
        project.git(library, "tag", "slower")
        subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", environment], check=True)
        packages = next(environment.glob("lib/python*/site-packages"))
        # Unlike a plain path, addsitedir also reads the .pth files of this environment.
        line = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
        (packages / "this_environment.pth").write_text(line, encoding="utf-8")
        _install(python, "--no-build-isolation", "--editable", str(library))
        complete.touch()
    return python


def run(folder: Path, words: list[str]) -> None:
    """Run the cases without a result."""
    folder.mkdir(parents=True, exist_ok=True)
    python = prepare(folder)
    for name, case in CASES.items():
        file = folder / f"{name}.json"
        if not file.exists():
            tree = folder / name
            project.make(case.suite, tree)
            _bring(case.before, folder, python)
            project.record(tree, python)
            _bring(case.after, folder, python)
            found = project.judge(tree, python, file.with_suffix(".txt"), words)
            file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        output = file.with_suffix(".txt").read_text(encoding="utf-8")
        print(f"{name}: {case.before} -> {case.after}\n{output}", flush=True)


def _bring(state: str, folder: Path, python: str) -> None:
    """Install a release, or check the library out."""
    if "==" in state:
        _install(python, state)
    else:
        project.git(folder / "edgelists", "checkout", "--quiet", "--detach", state)


def _install(python: str, *words: str) -> None:
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, *words], check=True)


def table(folder: Path) -> str:
    """Return the verdict and the ratio of each benchmark, by case."""
    lines = ["| case | benchmark | verdict | ratio | reason | seconds |", "|---|---|---|---|---|---|"]
    for case in CASES:
        file = folder / f"{case}.json"
        found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"verdicts": {}}
        for name, one in found["verdicts"].items():
            ratio = f"{one['ratio']:.3f}" if one["ratio"] else ""
            cells = (case, name, one["verdict"], ratio, one["reason"], f"{found['seconds']:.0f}")
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("arguments", nargs="*", metavar="PYTEST ARGS")
    options = parser.parse_intermixed_args()
    if options.what == "run":
        run(options.folder, options.arguments)
    print(table(options.folder))


if __name__ == "__main__":
    main()
