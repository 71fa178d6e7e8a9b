"""Prints what the repository weighs beside the limits in pyproject.toml, and fails above one."""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

_APPS = "gnnbench/apps", "tests/apps", "docs/apps"
"""Applications have their own tests and pages."""
_WHAT = {
    "package": ("lines of gnnbench/ without apps", ("gnnbench",), "py"),
    "apps": ("lines of gnnbench/apps", ("gnnbench/apps",), "py"),
    "tests": ("lines of tests/ without those of apps", ("tests",), "py"),
    "apps-tests": ("lines of tests/apps", ("tests/apps",), "py"),
    "experiments": ("lines of experiments/", ("experiments",), "py"),
    "examples": ("lines of examples/, with their tests", ("examples",), "py"),
    "modules": ("modules of gnnbench/ without apps", ("gnnbench",), "py"),
    "pages": ("words of README.md and docs/ without apps", ("README.md", "docs"), "md"),
    "apps-pages": ("words of docs/apps", ("docs/apps",), "md"),
    "examples-pages": ("words of the pages in examples/", ("examples",), "md"),
}


def weights(root: Path) -> dict[str, int]:
    """Return the number of each kind."""
    found = {}
    for name, (text, places, suffix) in _WHAT.items():
        contents = [path.read_text(encoding="utf-8") for path in _files(root, places, suffix)]
        if text.startswith("modules"):
            found[name] = len(contents)
        else:
            words = text.startswith("words")
            found[name] = sum(len(one.split() if words else one.splitlines()) for one in contents)
    return found


def _files(root: Path, places: tuple[str, ...], suffix: str) -> Iterator[Path]:
    for place in places:
        start = root / place
        for path in [start] if start.is_file() else start.rglob(f"*.{suffix}"):
            inside = path.relative_to(root).as_posix()
            if place in _APPS or not inside.startswith(tuple(f"{app}/" for app in _APPS)):
                yield path


def main(root: Path) -> int:
    """Print all weights; return 1 if one is above its limit."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    limits = settings["tool"]["gnnbench-weight"]
    above = []
    for name, weight in weights(root).items():
        limit = limits.get(name)
        print(f"{weight:7,}  {_WHAT[name][0]}{'' if limit is None else f'; at most {limit:,}'}")
        if limit is not None and weight > limit:
            above.append(f"{name} weighs {weight - limit:,} more than [tool.gnnbench-weight] allows")
    for line in above:
        print(f"{line}: take as much away elsewhere", file=sys.stderr)
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]))
