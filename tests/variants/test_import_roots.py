import importlib.metadata
import sys
from importlib.machinery import PathFinder

import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook

from gnnbench.variants.import_roots import Trees


@pytest.fixture
def trees(tmp_path):
    for name in (
        "first/package",
        "first/tests",
        "first/spread",
        "second/package",
        "second/spread",
        "second/pytest",
    ):
        (tmp_path / name).mkdir(parents=True)
    for name in ("first/package", "first/tests", "second/package"):
        (tmp_path / name / "__init__.py").touch()
    for name in ("first/json.py", "first/conftest.py", "second/alone.py", "second/test_own.py"):
        (tmp_path / name).touch()
    info = tmp_path / "first/thing-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: thing\nVersion: 1.5\n")
    return Trees([str(tmp_path / "first"), str(tmp_path / "second")])


def test_the_first_tree_that_has_a_package_wins(trees, tmp_path):
    assert trees.find_spec("package").origin == str(tmp_path / "first/package/__init__.py")
    assert trees.find_spec("alone").origin == str(tmp_path / "second/alone.py")
    assert list(trees.loaded) == ["package", "alone"]


@pytest.mark.parametrize("name", ["json", "conftest", "tests", "nowhere"])
def test_left_to_other_finders(trees, name):
    assert trees.find_spec(name) is None
    assert not trees.loaded


def test_what_lies_in_packages_is_found_through_them(trees, tmp_path):
    assert trees.find_spec("package", [str(tmp_path)]) is None


def test_an_editable_installation_adds_no_modules_to_a_package(trees, tmp_path, monkeypatch):
    """Its finder also finds what lies inside of packages."""
    for name in ("package/__init__", "package/later", "other/__init__", "other/part", "spread/part"):
        (tmp_path / "installed" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"installed/{name}.py").touch()

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


def test_parts_of_a_package_without_init(trees, tmp_path, monkeypatch):
    (tmp_path / "third/spread").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path / "third")
    found = trees.find_spec("spread").submodule_search_locations
    assert found == [str(tmp_path / name / "spread") for name in ("first", "second", "third")]


def test_a_mere_folder_hides_no_package(trees):
    assert trees.find_spec("pytest") is None
    assert PathFinder.find_spec("pytest") is not None


def test_tests_come_from_the_caller(trees, tmp_path):
    caller = tmp_path / "caller"
    (caller / "alone").mkdir(parents=True)
    trees.leave([caller / "alone/test_x.py"], caller)
    assert trees.find_spec("alone") is None
    trees.leave([caller / "test_own.py"], caller)
    assert trees.find_spec("test_own") is None
    (caller / "src/package/tests").mkdir(parents=True)
    for name in ("src/package", "src/package/tests"):
        (caller / name / "__init__.py").touch()
    trees.leave([caller / "src/package/tests/test_y.py"], caller)
    assert trees.find_spec("package") is None


def test_versions(trees):
    context = importlib.metadata.DistributionFinder.Context
    assert [one.version for one in trees.find_distributions(context(name="thing"))] == ["1.5"]
    assert not list(trees.find_distributions(context(path=["elsewhere"])))
    assert not list(Trees([]).find_distributions())
