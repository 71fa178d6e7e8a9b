"""Is a change of a function that a benchmark calls ever taken for the same code, from files alone?

    python experiments/same_code/mutations.py FOLDER [--number 200]

Two copies of the installed torch_geometric are inspected with its core benchmarks, as by `gnnbench affected`.
That keeps what they use. Then one of the functions that some benchmark calls is changed in the newer copy, at
random: an operator, a comparison, a constant, a condition, or a statement less. Each benchmark that calls it,
by a profile function that knows nothing of gnnbench's own records, must not be known to run the same code.
"""

import argparse
import ast
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

from gnnbench.engine.drive import affected
from gnnbench.engine.process.plan import Plan
from gnnbench.engine.process.unchanged.known import Unchanged
from gnnbench.engine.process.variants.variant import Prepared

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_SUITE = ("benchmarks", "-m", "core", "--gnn-platform", "pyg", "--gnn-dataset", "cora")
_OTHER = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
_OTHER |= {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.Gt: ast.LtE, ast.Is: ast.IsNot}
_OTHER |= {ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And, ast.In: ast.NotIn, ast.NotIn: ast.In}


def functions(file: Path) -> dict[int, ast.FunctionDef]:
    """Return the functions of a file by their first line, which is a decorator's if they have one."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {min([node.lineno, *(one.lineno for one in node.decorator_list)]): node for node in found}


def mutants(function: ast.FunctionDef) -> list[tuple[ast.AST, str]]:
    """Return the nodes of a function that can be changed, each with the source that takes its place."""
    found: list[tuple[ast.AST, str]] = []
    for statement in function.body:
        for node in ast.walk(statement):
            is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
            if is_call or isinstance(node, ast.Assign | ast.AugAssign):
                found.append((node, "pass"))
            elif isinstance(node, ast.If):
                found.append((node.test, f"not ({ast.unparse(node.test)})"))
            elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
                other = not node.value if isinstance(node.value, bool) else node.value + 1
                found.append((node, repr(other)))
            elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in _OTHER:
                changed = ast.parse(ast.unparse(node), mode="eval").body
                changed.op = _OTHER[type(node.op)]()  # type: ignore[attr-defined]
                found.append((node, f"({ast.unparse(changed)})"))
            elif isinstance(node, ast.Compare) and type(node.ops[0]) in _OTHER:
                changed = ast.parse(ast.unparse(node), mode="eval").body
                changed.ops[0] = _OTHER[type(node.ops[0])]()  # type: ignore[attr-defined]
                found.append((node, f"({ast.unparse(changed)})"))
    return found


def replaced(source: str, node: ast.AST, text: str) -> str:
    """Return the source with a node's text replaced; columns are in bytes of UTF-8."""
    lines = source.encode().splitlines(keepends=True)
    before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]  # type: ignore[attr-defined]
    last = node.end_lineno - 1  # type: ignore[attr-defined]
    after = lines[last][node.end_col_offset :] + b"".join(lines[last + 1 :])  # type: ignore[attr-defined]
    return (before + text.encode() + after).decode()


def prepare(folder: Path) -> tuple[Path, Path]:
    """Return two copies of the installed package's folder."""
    base, head = folder / "base", folder / "head"
    package = Path(importlib.util.find_spec("torch_geometric").origin).parent  # type: ignore[union-attr, arg-type]
    for tree in (base, head):
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(package, tree / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    return base, head


def executed(base: Path, folder: Path) -> dict[tuple[Path, int], set[str]]:
    """Return the benchmarks that call a function, by the function's file in the package and first line."""
    file = folder / "executed.json"
    paths = os.pathsep.join((str(base), str(_HERE)))
    variables = {"EXECUTED": str(file), "PACKAGE": str(base), "PYTHONPATH": paths}
    options = ("-q", "-p", "executed", "-p", "no:cacheprovider", "--benchmark-disable")
    command = [sys.executable, "-m", "pytest", *options, *_SUITE]
    subprocess.run(command, cwd=_ROOT, env={**os.environ, **variables}, check=True)
    found = defaultdict(set)
    for name, calls in json.loads(file.read_text(encoding="utf-8")).items():
        for path, line in calls:
            found[Path(path).relative_to(base), line].add(name)
    return found


def main() -> None:
    """Run the experiment."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["GNNBENCH_CACHE"] = str(folder / "cache")
    os.chdir(_ROOT)
    base, head = prepare(folder)
    sides = [Prepared(f"path:{tree}", (tree,), has_code=True) for tree in (base, head)]
    setting = Plan(arguments=_SUITE, folder=_ROOT, timeout_seconds=120, cache=folder / "cache")
    affected.run(
        *sides, setting, SimpleNamespace(**dict.fromkeys(("say", "step", "update"), lambda *_: None))
    )
    calls = executed(base, folder)
    kept = {file for file in (folder / "cache").rglob("*") if file.is_file()}

    def known() -> set[str]:
        """Return the benchmarks that are known to run the same code; the cache stays as it was."""
        _, names = Unchanged(*sides, _SUITE, _ROOT, folder / "cache").known()
        for file in (folder / "cache").rglob("*"):
            if file.is_file() and file not in kept:
                file.unlink()
        return set(names)

    ran = {name for names in calls.values() for name in names}
    assert known() & ran, "nothing is known if nothing differs, so nothing can be missed: repeat the command"
    print(
        f"{len(known() & ran)} of {len(ran)} benchmarks are known if nothing differs; {len(calls)} functions"
    )
    rng = random.Random(options.seed)  # noqa: S311
    seen, missed, others = 0, [], 0
    places = sorted(place for place in calls if place[0].suffix == ".py")  # others are templates
    while seen + len(missed) < options.number:
        file, line = rng.choice(places)
        function = functions(base / file).get(line)
        choices = mutants(function) if function else []
        if not choices:
            continue
        source = (base / file).read_text(encoding="utf-8")
        changed = replaced(source, *rng.choice(choices))
        if ast.dump(ast.parse(changed)) == ast.dump(ast.parse(source)):
            continue
        (head / file).write_text(changed, encoding="utf-8")
        found = known()
        (head / file).write_text(source, encoding="utf-8")
        others += len(found & (ran - calls[file, line]))
        if found & calls[file, line]:
            missed.append(f"{file}:{line}")
        else:
            seen += 1
        if not (seen + len(missed)) % 20:
            print(f"{seen} of {seen + len(missed)} seen", flush=True)
    left = others / options.number
    print(f"{seen} of {options.number} seen; of benchmarks that do not call it {left:.1f} known on average")
    print("\n".join(f"missed: {one}" for one in missed))


if __name__ == "__main__":
    main()
