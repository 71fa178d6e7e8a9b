import importlib.metadata
import os
import sys
from importlib.machinery import PathFinder

import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook

from gnnbench.engine.process.variants.import_roots import Redirect, Trees


def write(folder, *names):
    """Make files, and folders where a name ends with a slash."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).mkdir(exist_ok=True) if name.endswith("/") else (folder / name).touch()


@pytest.fixture
def trees(tmp_path):
    write(tmp_path, "first/spread/", "second/spread/", "second/pytest/", "first/json.py", "first/conftest.py")
    write(tmp_path, "first/package/__init__.py", "first/tests/__init__.py", "second/package/__init__.py")
    write(tmp_path, "second/alone.py", "second/test_own.py", "first/thing-1.5.dist-info/")
    (tmp_path / "first/thing-1.5.dist-info/METADATA").write_text("Name: thing\nVersion: 1.5\n")
    return Trees([str(tmp_path / "first"), str(tmp_path / "second")])


def test_the_first_tree_that_has_a_package_wins(trees, tmp_path):
    assert trees.find_spec("package").origin == str(tmp_path / "first/package/__init__.py")
    assert trees.find_spec("alone").origin == str(tmp_path / "second/alone.py")
    assert list(trees.loaded) == ["package", "alone"]
    assert trees.find_spec("package", [str(tmp_path)]) is None, "what lies in packages is found through them"


@pytest.mark.parametrize("name", ["json", "conftest", "tests", "nowhere", "pytest"])
def test_left_to_other_finders(trees, name):
    assert trees.find_spec(name) is None
    assert not trees.loaded


def test_an_editable_installation_adds_no_modules_to_a_package(trees, tmp_path, monkeypatch):
    """Its finder also finds what lies inside of packages."""
    write(
        tmp_path / "installed",
        "package/__init__.py",
        "package/later.py",
        "other/__init__.py",
        "other/part.py",
    )
    write(tmp_path / "installed", "spread/part.py")

    class Editable:
        @staticmethod
        def find_spec(name, _path=None, _target=None):
            folder = tmp_path / "installed" / name.rpartition(".")[0].replace(".", "/")
            return PathFinder.find_spec(name, [str(folder)])

    monkeypatch.setattr(AssertionRewritingHook, "_find_spec", AssertionRewritingHook._find_spec)
    monkeypatch.setattr(sys, "meta_path", [Editable, PathFinder])
    trees.install()

    def found(name, folder=None):
        specs = (one.find_spec(name, folder and [str(tmp_path / folder)]) for one in sys.meta_path)
        spec = next(filter(None, specs), None)
        return spec and spec.origin and spec.origin.removeprefix(f"{tmp_path}/")

    assert found("package") == "first/package/__init__.py"
    assert found("package.later", "first/package") is None
    assert found("other") == "installed/other/__init__.py"
    assert found("other.part", "installed/other") == "installed/other/part.py"
    assert found("spread") is None, "it has no file"
    assert found("spread.part", "first/spread") == "installed/spread/part.py", "its parts are anywhere"


def test_an_installed_package_replaces_the_working_tree_s_but_not_a_checkout_s(tmp_path, monkeypatch):
    """As with `pip:package==1`, beside a commit, in the package's own repository."""
    write(tmp_path, *(f"{folder}/package/__init__.py" for folder in ("caller", "commit", "overlay")))
    monkeypatch.syspath_prepend(tmp_path / "caller")
    for folder, expected in (("caller", "overlay"), ("commit", "commit")):
        redirect = Redirect(str(tmp_path / "caller"), str(tmp_path / folder), ["package/__init__.py"])
        trees = Trees([str(tmp_path / "overlay")], [redirect])
        assert trees.find_spec("package").origin == str(tmp_path / expected / "package/__init__.py")


def test_parts_of_a_package_without_init(trees, tmp_path, monkeypatch):
    write(tmp_path, "third/spread/")
    monkeypatch.syspath_prepend(tmp_path / "third")
    found = trees.find_spec("spread").submodule_search_locations
    assert found == [str(tmp_path / name / "spread") for name in ("first", "second", "third")]


def test_tests_come_from_the_caller(trees, tmp_path):
    caller = tmp_path / "caller"
    write(caller, "alone/", "src/package/__init__.py", "src/package/tests/__init__.py")
    for test, name in (
        ("alone/test_x.py", "alone"),
        ("test_own.py", "test_own"),
        ("src/package/tests/test_y.py", "package"),
    ):
        trees.add_tests([caller / test], caller)
        assert trees.find_spec(name) is None


def test_versions(trees):
    context = importlib.metadata.DistributionFinder.Context
    assert [one.version for one in trees.find_distributions(context(name="thing"))] == ["1.5"]
    assert not list(trees.find_distributions(context(path=["elsewhere"])))
    assert not list(Trees([]).find_distributions())


@pytest.mark.parametrize(
    ("tree", "uses_builds", "module", "age", "serves"),
    [
        ("commit", True, "caller/pkg/_k.so", 0, True),
        ("commit", True, "caller/pkg/_k.so", 1, False),
        ("commit", False, "caller/pkg/_k.so", 0, False),
        ("commit", True, "caller/pkg/_version.py", 1, True),
        ("commit", True, "installed/_k.so", 1, False),
        ("commit", False, "commit/pkg/_k.so", 0, True),
        ("commit", True, "commit/pkg/_k.so", 1, False),
        ("caller", True, "caller/build/lib/_k.so", 0, True),
        ("caller", True, "caller/pkg/_k.so", 1, False),
        ("caller", True, "caller/pkg/k.c", 1, None),
        ("commit", False, "installed/other.so", 1, None),
    ],
)
def test_whether_what_a_build_made_serves_a_side(tmp_path, tree, uses_builds, module, age, serves):
    """`age`: by how much it is older than a source of the folder in which it was built."""
    for folder in ("caller", "commit"):
        write(tmp_path, f"{folder}/pkg/k.c")
        os.utime(tmp_path / folder / "pkg/k.c", (100, 100))
    write(tmp_path, module)
    os.utime(tmp_path / module, (100 - age, 100 - age))
    caller, installed = str(tmp_path / "caller"), [str(tmp_path / "installed/_k.so")]
    ignored = ["pkg/_k.so", "pkg/_version.py", "build/"]
    terms = {"uses_builds": uses_builds, "sources": ["pkg/k.c", "pkg/gone.c"]}
    redirect = Redirect(caller, str(tmp_path / tree), ["pkg/k.c", "pkg/gone.c"], ignored, installed, **terms)
    assert redirect.may_use(str(tmp_path / module)) is serves
