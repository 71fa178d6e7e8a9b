import json
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from gnnbench.engine.ground import codec
from gnnbench.engine.measure.sources import Package, Sources, Tree
from tests import forks
from tests.engine.process.variants import repositories
from tests.engine.process.variants.repositories import commit_all, wheel
from tests.runs import environment

_COLLECT = """
import json, site, sys
from importlib import import_module
from pathlib import Path
for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
    del sys.modules[name]  # of the process that was forked
sys.prefix, folder, names, suite = sys.argv[1:]
sys.path.insert(0, "")
site.addsitedir(folder)
for name in names.split():
    import_module(name)
from gnnbench.engine.ground import codec
from gnnbench.engine.measure.sources import collect
print(json.dumps(codec.encode(collect(Path("."), suite.split()))))
"""


def write(file, text=""):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def library(folder, name, source="."):
    """Make a package with a commit; return its folder and the commit."""
    write(folder / source / name / "__init__.py")
    return folder, commit_all(folder)


class Machine:
    """An environment with more than this one's packages, a project, and libraries beside it."""

    def __init__(self, folder):
        self.folder = folder
        self.project = folder / "project"
        self.site = self.project / ".venv" / "lib" / "site-packages"
        checkout, commit = library(folder / "checkout", "tiny_checkout", source="src")
        write(folder / "bare" / "tiny_bare" / "__init__.py")
        write(self.site / "editable.pth", f"{checkout / 'src'}\n{folder / 'bare'}\n")
        archive = wheel(folder, "thing", "2.0")
        with zipfile.ZipFile(archive) as file:
            file.extractall(self.site)
        write(self.site / "thing-2.0.dist-info" / "top_level.txt", "thing\n")
        self.comes_from("thing-2.0", archive, archive_info={})
        built, _ = library(folder / "built", "tiny_built")
        fetched, fetched_commit = library(folder / "fetched", "tiny_fetched")
        for one, origin in (
            (built, {"dir_info": {}}),
            (fetched, {"vcs_info": {"vcs": "git", "commit_id": fetched_commit}}),
        ):
            name = f"tiny_{one.name}"
            write(self.site / name / "__init__.py")
            info = self.site / f"tiny_{name}-1.0.dist-info"
            write(info / "METADATA", f"Metadata-Version: 2.1\nName: Tiny.{name}\nVersion: 1.0\n")
            write(info / "RECORD", f"{name}/__init__.py,,\n")
            self.comes_from(f"tiny_{name}-1.0", one, **origin)
        write(self.project / "kernels" / "__init__.py")
        write(self.project / "benchmarks" / "helpers.py")
        write(self.project / ".gitignore", ".venv\nunknown\n__pycache__\n*.so\n")
        self.commits = {"checkout": commit, "fetched": fetched_commit, "project": commit_all(self.project)}
        self.script = write(folder / "script.py", _COLLECT)

    def comes_from(self, package, place, **origin):
        """Write what pip does about the origin of a package."""
        file = self.site / f"{package}.dist-info" / "direct_url.json"
        write(file, json.dumps({"url": place.as_uri(), **origin}))

    def collect(self, *names, suite=(), libraries=False):
        """Return the sources of a process that imports modules."""
        words = [self.script, self.project / ".venv", self.site, " ".join(names), " ".join(suite)]
        answer = forks.run(list(map(str, words)), self.project, environment(), libraries=libraries)
        assert answer.returncode == 0, answer.stderr
        return codec.decode(json.loads(answer.stdout), Sources)


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
    own, other = machine.collect("kernels", "tiny_checkout").trees
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
    ours = ("gnnbench.engine.plugin.timing", "pytest_benchmark", "rich", "scipy", "torch")
    sources = machine.collect("thing", "numpy", "tiny_built", "tiny_fetched", *ours, libraries=True)
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
