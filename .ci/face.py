"""See that applications import only what `engine/__init__.py` and `suite/__init__.py` list as PUBLIC."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

_PARTS = ("engine", "suite")


def main(root: Path) -> int:
    """Print each import that is not listed, and each entry of a list that nothing imports."""
    package = root / "gnnbench"
    listed = {
        (f"{part}.{module}".rstrip("."), name)
        for part in _PARTS
        for module, names in _public(package / part / "__init__.py").items()
        for name in names.split()
    }
    imported = {entry for file in (package / "apps").rglob("*.py") for entry in _imports(file, package)}
    for text, entries in (("is not listed", imported - listed), ("is listed for nothing", listed - imported)):
        for module, name in sorted(entries):
            print(f"PUBLIC: {name} of gnnbench.{module} {text}")
    return int(imported != listed)


def _public(file: Path) -> dict[str, str]:
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PUBLIC":
            return dict(ast.literal_eval(node.value))
    raise ValueError(f"{file} has no PUBLIC")


def _imports(file: Path, package: Path) -> Iterator[tuple[str, str]]:
    """Yield module and name of what a file imports of the parts."""
    folder = file.relative_to(package).parent.parts
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            module = ".".join((*folder[: len(folder) - node.level + 1], node.module or "")).rstrip(".")
            if module.partition(".")[0] in _PARTS:
                yield from ((module, alias.name) for alias in node.names)


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parents[1]))
