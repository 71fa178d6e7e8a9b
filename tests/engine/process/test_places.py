"""Each side imports and opens its own files, in the layouts of ordinary projects."""

import shutil

import pytest

from gnnbench.engine.drive import affected
from gnnbench.engine.process.plan import Plan
from gnnbench.engine.process.variants.prepare import prepared
from gnnbench.engine.process.variants.variant import parse
from tests.engine.process.variants.repositories import commit_all, git, without_settings
from tests.engine.process.workers import Watcher

FAST = "def total():\n    return sum(range(10))\n\n\ndef other():\n    return 1\n"
SLOW = FAST.replace("range(10)", "[0, *range(10)]")
SUITE = """
import mylib.core

def test_total(benchmark):
    benchmark(mylib.core.total)

def test_other(benchmark):
    benchmark(mylib.core.other)
"""
CONFTEST = "import sys, pathlib\nsys.path.insert(0, str(pathlib.Path(__file__).resolve().parent{}))\n"
FINDER = """
import os, sys
from importlib.machinery import PathFinder

class Editable:
    def find_spec(self, name, path=None, target=None):
        if name == "mylib":
            return PathFinder.find_spec(name, [os.path.join(os.getcwd(), "code", "deep")])

sys.meta_path.append(Editable())
"""


class Project:
    def __init__(self, top, watcher):
        self.top, self.folder, self.watcher = top, top, watcher
        self.arguments = ["bench"]

    def put(self, name, text):
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def package(self, folder, core=FAST):
        self.put(f"{folder}/mylib/__init__.py", "")
        self.put(f"{folder}/mylib/core.py", core)

    def affected(self, base="git:HEAD", head=".", cache=None):
        setting = Plan(
            arguments=[*self.arguments, "-p", "pytest_benchmark.plugin", "-p", "no:cacheprovider"],
            folder=self.folder,
            timeout_seconds=60,
            cache=cache or self.top.parent / "cache",
            results=True,
            time_all=True,  # without costs, which a busy machine changes
        )
        place = self.top.parent / "worktrees"
        with (
            prepared(parse(base), self.folder, self.watcher, cache=place) as older,
            prepared(parse(head), self.folder, self.watcher, cache=place) as newer,
        ):
            found = affected.run(older, newer, setting, self.watcher)
        self.notes = found.notes
        self.found = {name.partition("::")[2]: one for name, one in found.benchmarks.items()}
        return {name: one.status for name, one in self.found.items()}

    def why(self, name):
        return self.found[name].unknown


@pytest.fixture
def project(tmp_path, monkeypatch):
    without_settings(monkeypatch)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    for name in ("PYTEST_ADDOPTS", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)
    top = tmp_path / "project"
    top.mkdir()
    made = Project(top, Watcher())
    made.put("pyproject.toml", '[project]\nname = "mylib"\n')
    made.put("bench/test_suite.py", SUITE)
    monkeypatch.chdir(top)
    return made


def pythonpath(project, _monkeypatch):
    project.put("pyproject.toml", '[tool.pytest.ini_options]\npythonpath = ["python", "."]\n')
    return "python"


def variable(project, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(project.top / "lib"))
    return "lib"


def sibling(project, _monkeypatch):
    project.put("packages/b/pyproject.toml", '[project]\nname = "mylib"\n')
    project.put("packages/a/pyproject.toml", '[project]\nname = "a"\n')
    project.put("packages/a/bench/test_suite.py", SUITE)
    project.put("packages/a/conftest.py", CONFTEST.format(".parent / 'b' / 'src'"))
    project.folder = project.top / "packages" / "a"
    return "packages/b/src"


def editable(project, monkeypatch):
    """A finder of an editable installation."""
    project.put("../hooks/sitecustomize.py", FINDER)
    monkeypatch.setenv("PYTHONPATH", str(project.top.parent / "hooks"))
    return "code/deep"


def submodule(project, _monkeypatch):
    library = project.top.parent / "library"
    project.package("../library")
    commit_all(library, "first")
    git(project.top, "init", "-q")
    allow = ("-c", "protocol.file.allow=always")
    git(project.top, *allow, "submodule", "add", "-q", str(library), "vendor/library")
    project.put("bench/conftest.py", CONFTEST.format(".parent / 'vendor' / 'library'"))
    return "vendor/library"


nightly = pytest.mark.nightly
LAYOUTS = (
    *(pythonpath, sibling, editable),
    *(pytest.param(layout, marks=nightly) for layout in (variable, submodule)),
)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_change_is_seen_in_each_layout(layout, project, monkeypatch):
    folder = layout(project, monkeypatch)
    if layout is not submodule:
        project.package(folder)
    commit_all(project.top, "first")
    (project.top / folder / "mylib/core.py").write_text(SLOW)
    if layout is submodule:
        commit_all(project.top / folder, "second")
    expected = {"test_total": "changed", "test_other": "same"}
    assert project.affected() == expected
    assert "mylib.core:total" in project.found["test_total"].work.changed.functions
    if layout is pythonpath:
        assert project.affected() == expected, "what the first run kept says the same"
    if layout is sibling:
        commit_all(project.top, "second")
        assert project.affected("git:HEAD~1", "git:HEAD") == expected


def test_tests_inside_of_the_package(project):
    project.package("src")
    shutil.rmtree(project.top / "bench")
    project.put("src/mylib/tests/__init__.py", "")
    project.put("src/mylib/tests/helpers.py", "SIZE = 1\n")
    project.put("src/mylib/tests/test_suite.py", "from mylib.tests.helpers import SIZE\n" + SUITE)
    project.arguments = ["src/mylib/tests"]
    commit_all(project.top, "first")
    project.package("src", SLOW)
    project.put("src/mylib/tests/helpers.py", "SIZE = 2\n")
    assert project.affected() == {"test_total": "changed", "test_other": "same"}
    assert "both sides use the working tree's src/mylib/tests/helpers.py" in project.notes


def test_a_module_that_one_side_has_is_found_there_alone(project):
    core = "try:\n    from mylib.fast import total\nexcept ImportError:\n    total = lambda: 0\n"
    project.package(".", f"{core}\ndef other():\n    return 1\n")
    commit_all(project.top, "first")
    project.put("mylib/fast.py", "def total():\n    return 0\n")
    assert project.affected()["test_total"] == "changed"
    commit_all(project.top, "second")
    assert project.affected("git:HEAD", "git:HEAD~1")["test_total"] == "changed"


def test_changed_and_new_files_of_the_suite_run_on_both_sides(project):
    project.package(".")
    project.put("bench/conftest.py", "")
    commit_all(project.top, "first")
    project.put("bench/helper.py", "from mylib.core import total\n")
    project.put("bench/test_suite.py", SUITE + "\nfrom helper import total\n")
    assert project.affected() == {"test_total": "same", "test_other": "same"}
    assert project.notes.count("both sides use the working tree's bench/test_suite.py") == 1


DATA = """
import json, pathlib, sqlite3
import mylib.core

def read():
    return {}

def test_total(benchmark):
    benchmark(read)
    mylib.core.total()

def test_other(benchmark):
    benchmark(mylib.core.other)
"""
OPENED = {
    "beside the test": "pathlib.Path(__file__).with_name('data.json').read_text()",
    "by a relative path": "open('bench/data.json').read()",
    "a database": "sqlite3.connect('bench/data.json').close()",
    "by its number": "KEPT.seek(0)",
}


@pytest.mark.parametrize(
    "how", ["by its number", *(pytest.param(how, marks=nightly) for how in [*OPENED][:3])]
)
def test_data_of_the_suite_that_differ_are_incomparable(how, project):
    suite = DATA.format(OPENED[how])
    if how == "by its number":
        suite = f"KEPT = open('bench/data.json')\n{suite}"
    project.put("bench/test_suite.py", suite)
    project.put("bench/data.json", "[1]")
    project.package(".")
    commit_all(project.top, "first")
    project.put("bench/data.json", "[1, 2]")
    project.package(".", SLOW)
    found = project.affected()
    assert found["test_total"] == "unknown"
    assert "base: the benchmark uses the working tree's bench/data.json" in project.why("test_total")
    assert project.affected() == found, "a refused run keeps nothing"


def test_data_of_the_package_count_as_its_code(project):
    core = "import pathlib\n\ndef total():\n    return pathlib.Path(__file__).with_name('data').read_text()\n"
    project.package(".", core + "\ndef other():\n    return 1\n")
    project.put("mylib/data", "1")
    commit_all(project.top, "first")
    project.put("mylib/data", "2")
    assert project.affected() == {"test_total": "changed", "test_other": "same"}
    assert project.found["test_total"].work.changed.values == ("file mylib/data",)
    assert project.found["test_total"].results.status == "differ"


STARTS = """
import subprocess, sys
import mylib.core

def start():
    return subprocess.run({}, capture_output=True, text=True).stdout

def test_total(benchmark):
    mylib.core.total()
    benchmark(start)

def test_other(benchmark):
    benchmark(mylib.core.other)
"""


def test_processes_import_their_sides_packages(project, monkeypatch):
    project.put("../hooks/sitecustomize.py", "import sys\nsys.hidden = True\n")
    monkeypatch.setenv("PYTHONPATH", str(project.top.parent / "hooks"))
    code = "import sys, mylib.core; sys.hidden; print(mylib.core.total())"
    project.put("bench/test_suite.py", STARTS.format(f"[sys.executable, '-c', {code!r}]"))
    project.put("conftest.py", CONFTEST.format(" / 'code'"))
    project.package("code")
    project.put("bench/conftest.py", "import os\nos.environ['PYTHONPATH'] += ':' + os.path.abspath('code')\n")
    commit_all(project.top, "first")
    project.package("code", FAST.replace("range(10)", "range(11)"))
    project.affected()
    results = project.found["test_total"].results
    assert results.status == "differ", results
    assert "55" in results.reason


ALONE = "[sys.executable, '-I', '-c', 'import mylib.core; print(mylib.core.total())']"
PROBE = "import sys\nif not sys:\n    import torch\nfrom ctypes import cdll\ncdll.LoadLibrary('libc.so.6')\n"
"""As torch.compile finds out which instructions the CPU has."""


SHARED = "\nimport pytest\n@pytest.fixture(scope='module', autouse=True)\ndef started():\n    start()\n"


@pytest.mark.parametrize(
    ("words", "more", "other", "why"),
    [
        (ALONE, "", "same", "the benchmark starts a Python that does not import this side's code"),
        pytest.param(ALONE.replace("-I", "-E"), "", "same", "starts a Python", marks=nightly),
        (f"[sys.executable, '-I', '-c', {PROBE!r}]", "", "same", "the call starts a process"),
        (ALONE, SHARED, "unknown", "starts a Python"),
    ],
    ids=["alone", "its variables ignored", "a probe", "of a fixture for all benchmarks"],
)
def test_processes_without_their_sides_packages_are_incomparable(words, more, other, why, project):
    project.put("bench/test_suite.py", STARTS.format(words) + more)
    project.package(".")
    commit_all(project.top, "first")
    project.package(".", SLOW)
    assert project.affected() == {"test_total": "unknown", "test_other": other}
    assert why in project.why("test_total")


def generated(project):
    """A package whose build makes a file that git ignores."""
    project.put(".gitignore", "_version.py\n__pycache__\n")
    project.package(".", f"from mylib._version import VERSION\n\n{FAST}")
    project.put("mylib/_version.py", "VERSION = 1\n")
    commit_all(project.top, "first")
    project.package(".", f"from mylib._version import VERSION\n\n{SLOW}")


def test_an_ignored_file_that_a_build_made_is_taken_with_a_note(project):
    generated(project)
    assert project.affected() == {"test_total": "changed", "test_other": "same"}
    assert any("mylib/_version.py" in note for note in project.notes)


@pytest.mark.parametrize("differs", ["pyproject.toml", pytest.param("src/native.c", marks=nightly)])
def test_an_ignored_file_is_not_taken_where_its_source_may_differ(differs, project):
    generated(project)
    project.put(differs, '[project]\nname = "other"\n')
    git(project.top, "add", "-A")
    found = project.affected()
    assert set(found.values()) == {"unknown"}
    assert "mylib/_version.py" in project.why("test_total")
    assert "path:DIR of a build" in project.why("test_total")


def test_a_commit_of_a_submodule_that_is_not_here_is_one_line(project, monkeypatch):
    submodule(project, monkeypatch)
    commit_all(project.top, "first")
    git(project.top, "update-index", "--cacheinfo", f"160000,{'1' * 40},vendor/library")
    git(project.top, "commit", "-qm", "second")
    assert (project.top / "vendor/library").exists()
    with pytest.raises(Exception, match="git submodule update --init vendor/library") as caught:
        project.affected("git:HEAD", "git:HEAD~1")
    assert len(str(caught.value).splitlines()) == 1
