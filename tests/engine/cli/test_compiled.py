"""Commands that build both sides of a package with an extension module."""

import json
import shutil
import subprocess
import sys

import pytest

from tests.engine.process.variants import compiled
from tests.engine.process.variants.repositories import git, without_settings
from tests.runs import gnnbench

THREADS = """
import fastk, torch
VALUES = torch.ones(1 << 20) + 1  # in OpenMP's threads, which a fork has not
def test_work(benchmark):
    assert benchmark(fastk.work, 2000) == 2
def test_plain(benchmark):
    benchmark(lambda: VALUES + fastk.plain())
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    without_settings(monkeypatch)
    folder = compiled.create(tmp_path / "fastk")
    (folder / "gnnbench.toml").write_text(f'build = "{compiled.IN_PLACE}"\n')
    return folder


def affected(folder, *words, **variables):
    """Return what `affected` prints, and what differs by benchmark."""
    arguments = ("affected", *words, "--json", "a.json")
    result = gnnbench(*arguments, cwd=folder, GNNBENCH_CACHE=str(folder / ".cache"), **variables)
    assert result.returncode == 0, result.stderr
    rows = json.loads((folder / "a.json").read_text())["benchmarks"]
    return result, {name.partition("::")[2]: row["work"]["changed"] for name, row in rows.items()}


def test_both_sides_are_built(folder):
    git(folder, "checkout", "-q", "v1")
    (folder / "fastk" / "k.c").write_text(compiled.SOURCE.replace("weigh(1.0, ", "weigh(1.0, 7 + "))
    result, changed = affected(folder, "git:v1", ".")
    assert "built the working tree in " in result.stderr
    assert "_k." in changed["test_work"]["libraries"][0]
    assert not list((folder / "fastk").glob("*.so"))


def test_a_comment_changes_nothing_and_a_function_that_differs_is_named(folder):
    result, changed = affected(folder, "git:v1", "git:v2")
    assert "0 of 2 benchmarks run changed code, 2 run the same code" in result.stdout
    result, changed = affected(folder, "git:v2", "git:v3")
    assert changed["test_work"]["libraries"] == ["work in _k.so"]
    assert "1 of 2 benchmarks runs changed code, 1 runs the same code" in result.stdout
    assert "built git:v2" not in result.stderr, "it is kept"


def test_a_function_that_differs_is_found_where_nothing_can_be_forked(folder):
    (folder / "benchmarks" / "test_k.py").write_text(THREADS)
    result, _ = affected(folder, "git:v2", "git:v3", OMP_DYNAMIC="false")  # so its processes are fresh
    assert "1 of 2 benchmarks runs changed code, 1 runs the same code" in result.stdout


def install(folder, how):
    """Put the extension of the working tree where a user has it, and return the variables that find it."""
    subprocess.run([sys.executable, *compiled.IN_PLACE.split()[1:]], cwd=folder, check=True)
    (module,) = (folder / "fastk").glob("*.so")
    if how == "in place":
        return {}
    site = folder.parent / "site-packages"
    (site / "fastk-1.0.dist-info").mkdir(parents=True)
    (site / "fastk-1.0.dist-info" / "METADATA").write_text("Name: fastk\nVersion: 1.0\n")
    (site / "fastk-1.0.dist-info" / "RECORD").write_text(f"fastk/__init__.py,,\n{module.name},,\n")
    (site / "fastk").mkdir()
    shutil.copy(folder / "fastk" / "__init__.py", site / "fastk")
    module.rename(site / module.name)
    return {"PYTHONPATH": str(site)}


@pytest.mark.parametrize("how", ["in place", "wheel"])
def test_the_extension_of_another_commit_is_not_timed(folder, how):
    (folder / "gnnbench.toml").unlink()
    source = "from {} import work\ndef plain(): return 3\n".format("_k" if how == "wheel" else "._k")
    (folder / "fastk" / "__init__.py").write_text(source)
    git(folder, "commit", "-qam", "v4", "--allow-empty")
    variables = install(folder, how)
    arguments = ("affected", "git:HEAD", ".")
    (folder / "fastk" / "k.c").write_text(f"{compiled.SOURCE}\n")
    result = gnnbench(*arguments, cwd=folder, GNNBENCH_CACHE=str(folder / ".cache"), **variables)
    assert "is not built, and its fastk/k.c differs" in result.stderr
    assert "add --build 'pip install .' (pytest: --gnn-build)" in result.stderr
    assert result.stdout.count("not compared: base: ") == 2, result.stdout
    message = "may be built from other files than this side's: give --build CMD (pytest: --gnn-build)"
    assert message in result.stdout
