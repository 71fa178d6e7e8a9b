import json
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from gnnbench.measure.sources import Package, Sources, Tree, installed
from tests.run_files import ENVIRONMENT
from tests.variants import repositories
from tests.variants.repositories import git, wheel

_COLLECT = """
import json, sys
from importlib import import_module
from pathlib import Path
sys.path.insert(0, "")
names, suite = sys.argv[1].split(), sys.argv[2].split()
for name in names:
    import_module(name)
from gnnbench.measure.sources import collect
print(json.dumps(collect(Path("."), suite).as_json()))
"""
_PROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "Tiny.{name}"
version = "1.0"
[tool.setuptools]
packages = ["{name}"]
package-dir = {{"" = "{source}"}}
"""


def write(file, text=""):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def library(folder, name, source="."):
    """Make a package that pip can build."""
    write(folder / source / name / "__init__.py")
    write(folder / "pyproject.toml", _PROJECT.format(name=name, source=source))
    return folder


def commit_all(folder):
    if not (folder / ".git").exists():
        git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "all")
    return git(folder, "rev-parse", "HEAD")


class Machine:
    """An environment with this one's packages and more, a project, and libraries beside it."""

    def __init__(self, folder):
        self.folder = folder
        self.project = folder / "project"
        environment = folder / "project" / ".venv"
        venv.create(environment)
        self.python = environment / "bin" / "python"
        (site,) = environment.glob("lib/*/site-packages")
        here = sysconfig.get_path("purelib")
        write(site / "this.pth", f"import site; site.addsitedir({here!r})\n")

        checkout = library(folder / "checkout", "tiny_checkout", source="src")
        bare = library(folder / "bare", "tiny_bare")
        built = library(folder / "built", "tiny_built")
        fetched = library(folder / "fetched", "tiny_fetched")
        self.commits = {one.name: commit_all(one) for one in (checkout, fetched)}
        self._install("-e", checkout, "-e", bare, built)
        self._install(wheel(folder, "thing", "2.0"), f"git+{fetched.as_uri()}")

        write(self.project / "kernels" / "__init__.py")
        write(self.project / "benchmarks" / "helpers.py")
        write(self.project / ".gitignore", ".venv\nunknown\n__pycache__\n*.so\n")
        self.commits["project"] = commit_all(self.project)

    def _install(self, *what):
        options = ["--quiet", "--no-build-isolation", "--no-deps"]
        command = [self.python, "-m", "pip", "install", *options, *map(str, what)]
        subprocess.run(command, check=True, cwd=self.folder)

    def collect(self, *names, suite=()):
        """Return the sources of a process that imports modules."""
        command = [self.python, "-c", _COLLECT, " ".join(names), " ".join(suite)]
        answer = subprocess.run(command, check=True, cwd=self.project, capture_output=True, text=True)
        return Sources.from_json(json.loads(answer.stdout))


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        repositories.without_settings(patch)
        yield Machine(tmp_path_factory.mktemp("machine"))


@pytest.fixture(autouse=True)
def _nobodys_settings(monkeypatch):
    repositories.without_settings(monkeypatch)


def test_each_work_tree_has_its_commit_and_changed_files_are_counted(machine):
    found = machine.collect("kernels", "tiny_checkout", "tiny_bare")
    assert found.python == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert found.trees == (
        Tree(".", machine.commits["project"], 0, ("kernels",), compiled=False),
        Tree("../bare", None, 0, ("tiny_bare",), compiled=False),
        Tree("../checkout", machine.commits["checkout"], 0, ("tiny_checkout",), compiled=False),
    )
    assert not {"tiny_checkout", "kernels"} & found.packages.keys()
    file = machine.folder / "checkout" / "src" / "tiny_checkout" / "__init__.py"
    file.write_text("changed = True\n")
    try:
        own, other = machine.collect("kernels", "tiny_checkout").trees
    finally:
        file.write_text("")
    assert (own.dirty, other.dirty, other.changed_files) == (False, True, 1)


def test_the_benchmarks_are_not_part_of_the_code(machine):
    benchmarks = machine.project / "benchmarks"
    (machine.project / "kernels" / "paths.py").write_text(f"import sys; sys.path.append({str(benchmarks)!r})")
    found = machine.collect("kernels.paths", "helpers", suite=["benchmarks"])
    assert [(tree.path, tree.packages) for tree in found.trees] == [(".", ("kernels",))]
    assert machine.collect("kernels", suite=["kernels"]).trees[0].packages == ()


def test_a_loaded_native_library_makes_a_tree_compiled(machine):
    (extension,) = Path(sysconfig.get_config_var("DESTSHARED")).glob("_queue.*")
    # conda puts libraries here; a virtual environment may be inside the project.
    library = machine.project / ".venv" / "lib" / "native.so"
    library.write_bytes(extension.read_bytes())
    write(machine.project / "kernels" / "native.py", f"import ctypes; ctypes.CDLL({str(library)!r})")
    assert not machine.collect("kernels.native").trees[0].compiled
    (machine.project / "kernels" / extension.name).write_bytes(extension.read_bytes())
    assert machine.collect("kernels._queue").trees[0].compiled


def test_installed_packages_have_version_and_origin_and_what_only_measures_is_left_out(machine):
    ours = ("gnnbench.plugin.timing", "pytest_benchmark", "rich", "scipy", "torch")
    sources = machine.collect("thing", "numpy", "tiny_built", "tiny_fetched", *ours)
    found = sources.packages
    assert found["numpy"].origin is None
    assert found["thing"].version == "2.0"
    assert found["thing"].origin.startswith(f"file://{machine.folder}/thing-2.0-py3-none-any.whl#installed=")
    assert found["tiny_tiny_built"].origin.startswith(f"file://{machine.folder}/built#installed=")
    url = f"git+file://{machine.folder}/fetched@{machine.commits['fetched']}"
    assert found["tiny_tiny_fetched"] == Package("1.0", url)
    assert {"scipy", "torch"} <= found.keys()
    assert not {"gnnbench", "pytest", "pytest_benchmark", "pluggy", "rich"} & found.keys()
    assert [(tree.path, tree.packages) for tree in sources.trees] == [(".", ())]


def test_an_editable_checkout_is_not_an_installed_package():
    assert installed("gnnbench") is None
    assert installed("no-such-package") is None
    assert installed("numpy") == installed("NumPy")


def test_older_files_say_what_their_environment_does():
    found = Sources.of_environment(ENVIRONMENT)
    tree = Tree(".", "a" * 40, 0, None, compiled=False)
    assert found == Sources("3.11", (tree,), {"torch": Package("2.13.0")})
    assert Sources.of_environment({**ENVIRONMENT, "dirty": True}).trees[0].dirty
