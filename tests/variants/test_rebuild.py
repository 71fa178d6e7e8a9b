import json
import shlex
import sys
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version

import pytest

from gnnbench.measure.sources import Package, Sources, Tree, collect
from gnnbench.variants.import_roots import LEFT
from gnnbench.variants.rebuild import NotRebuiltError, differences, variant, without_git
from tests.variants import repositories
from tests.variants.repositories import commit, git

OWN = Tree(".", "a" * 40, 0, ("kernels",), compiled=False)
PYG = Tree("../pyg", "b" * 40, 0, ("torch_geometric",), compiled=False)
SAVED = Sources("3.11", (OWN, PYG), {"torch": Package("2.13.0"), "thing": Package("1.0")})


def with_trees(*trees):
    return replace(SAVED, trees=trees)


def with_packages(sources=SAVED, **packages):
    given = {name: Package(one) if isinstance(one, str) else one for name, one in packages.items()}
    return replace(sources, packages={**sources.packages, **given})


def fails(saved, here):
    with pytest.raises(NotRebuiltError, match="the saved code cannot be built again: ") as caught:
        variant(saved, here)
    reason = str(caught.value).partition(": ")[2]
    assert "\n" not in reason
    return reason


def test_where_nothing_differs_it_is_today_s_code():
    assert variant(SAVED, SAVED) == "."
    assert differences(SAVED, SAVED) == []


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"commit": "c" * 40}, "this project aaaaaaa → ccccccc"),
        ({"changed_files": 1}, "1 changed file in this project"),
        ({"commit": "c" * 40, "changed_files": 3}, "this project aaaaaaa → ccccccc and 3 changed files"),
        ({"commit": None}, "this project aaaaaaa → no commit"),
    ],
)
def test_the_commit_of_this_project(change, text):
    here = with_trees(replace(OWN, **change), PYG)
    assert variant(SAVED, here) == f"git:{'a' * 40}"
    assert differences(SAVED, here) == [text]


def test_a_project_of_which_nothing_is_imported_needs_no_commit():
    saved, here = (with_trees(replace(OWN, packages=(), commit=one * 40), PYG) for one in "ac")
    assert variant(saved, here) == "."
    assert differences(saved, here) == ["this project aaaaaaa → ccccccc"]


def test_the_commit_of_another_checkout():
    here = with_trees(OWN, replace(PYG, commit="d" * 40, changed_files=2))
    assert variant(SAVED, here) == f"git:../pyg@{'b' * 40}"
    assert differences(SAVED, here) == ["../pyg bbbbbbb → ddddddd and 2 changed files"]
    odd = replace(PYG, path="../my pyg")
    assert shlex.split(variant(with_trees(OWN, odd), here)) == [f"git:../my pyg@{'b' * 40}"]


def test_versions_of_packages():
    here = with_packages(thing="1.1")
    assert variant(SAVED, here) == "pip:thing==1.0"
    assert differences(SAVED, here) == ["thing 1.0 → 1.1"]
    assert variant(SAVED, replace(here, packages={"torch": Package("2.13.0")})) == "pip:thing==1.0"


def test_what_is_installed_need_not_have_been_imported_today():
    saved = with_packages(pytest=version("pytest"), numpy="1.0")
    assert variant(saved, SAVED) == "pip:numpy==1.0"
    assert differences(saved, SAVED) == [f"numpy 1.0 → {version('numpy')}"]


def test_trees_and_packages_together():
    here = with_packages(with_trees(replace(OWN, changed_files=1), replace(PYG, commit="c" * 40)), thing="2")
    assert variant(SAVED, here) == f"git:{'a' * 40} git:../pyg@{'b' * 40} pip:thing==1.0"


def test_a_package_comes_from_where_it_came_from():
    old, new = (Package("1.0", f"git+https://example.org/thing@{one * 40}") for one in "ab")
    saved = with_packages(thing=old)
    assert shlex.split(variant(saved, with_packages(thing=new))) == [f"pip:thing @ {old.origin}"]
    assert differences(saved, with_packages(thing=new)) == [
        f"thing 1.0 from {old.origin} → 1.0 from {new.origin}"
    ]
    assert differences(saved, SAVED) == [f"thing 1.0 from {old.origin} → 1.0 from the index"]
    assert variant(SAVED, saved) == "pip:thing==1.0"


def test_a_package_that_became_a_checkout_and_back():
    released = with_packages(with_trees(OWN), torch_geometric="2.7.0")
    assert variant(released, SAVED) == "pip:torch_geometric==2.7.0"
    assert differences(released, SAVED) == ["torch_geometric 2.7.0 → ../pyg"]
    assert variant(SAVED, released) == f"git:../pyg@{'b' * 40}"
    assert differences(SAVED, released) == ["torch_geometric ../pyg → 2.7.0", "../pyg bbbbbbb → none"]


@pytest.mark.parametrize(
    ("saved", "here", "reason"),
    [
        (SAVED, replace(SAVED, python="3.12"), "it ran on Python 3.11, and this is Python 3.12"),
        (
            SAVED,
            with_packages(torch="2.14.0"),
            "it ran with torch 2.13.0, and here torch is 2.14.0",
        ),
        (
            with_trees(replace(OWN, compiled=True)),
            with_trees(replace(OWN, commit="c" * 40)),
            "this project changed since aaaaaaa, and has compiled parts",
        ),
        (
            with_trees(OWN, replace(PYG, commit=None)),
            with_trees(OWN),
            "../pyg was not in git, so its commit is unknown",
        ),
        (
            with_packages(thing=Package("1.0", "file:///home/a/thing-1.0.whl#installed=0123")),
            SAVED,
            "thing 1.0 was installed from a local file or folder",
        ),
    ],
)
def test_what_cannot_be_built_says_why(saved, here, reason):
    assert fails(saved, here) == reason
    assert variant(saved, saved) == "."


def test_torch_that_is_not_there():
    saved = replace(SAVED, packages={"torch": Package("0.1")})
    assert fails(saved, with_trees(OWN, PYG)) == "it ran with torch 0.1, and here torch is 2.13.0"


def test_torch_of_the_same_version_is_the_same_torch():
    assert variant(SAVED, with_packages(torch=Package("2.13.0", "https://example.org/torch.whl"))) == "."


def test_at_most_six_differences_and_the_libraries_first():
    names = {f"p{number}": "1" for number in range(9)}
    saved = with_packages(**names, dgl="2.0", torch_geometric="2.7.0")
    here = replace(
        with_packages(**dict.fromkeys(names, "2"), dgl="2.1", torch_geometric="2.8.1"), python="3.12"
    )
    here = replace(here, trees=(replace(OWN, changed_files=2), PYG))
    assert differences(saved, here) == [
        "torch_geometric 2.7.0 → 2.8.1",
        "dgl 2.0 → 2.1",
        "2 changed files in this project",
        "Python 3.11 → 3.12",
        "p0 1 → 2",
        "p1 1 → 2",
        "and 7 other packages",
    ]


def test_a_library_that_today_s_run_imports_too():
    assert differences(SAVED, with_packages(torch_sparse="0.6.18")) == ["torch_sparse none → 0.6.18"]
    assert variant(SAVED, with_packages(torch_sparse="0.6.18")) == "."


def test_a_tree_without_git_is_taken_as_unchanged_if_its_functions_can_be_compared():
    loose = replace(OWN, commit=None)
    saved = with_trees(loose, PYG)
    assert variant(saved, saved) == "."
    assert without_git(saved) == {"kernels"}
    assert without_git(SAVED) == set()
    assert variant(saved, SAVED) == "."
    assert fails(saved, with_trees(PYG)) == "this project was not in git, so its commit is unknown"
    unknown = with_trees(replace(loose, packages=None))
    assert fails(unknown, unknown) == "this project was not in git, so its commit is unknown"


def test_an_older_file_of_a_suite_that_imports_nothing_of_its_project_needs_no_commit():
    assert (
        variant(with_trees(replace(OWN, packages=None)), with_trees(replace(OWN, packages=(), commit="c")))
        == "."
    )


def test_an_older_file_names_its_commit_and_versions():
    environment = {"python": "3.11.2", "libraries": [["torch", "2.13.0"], ["torch_geometric", "2.7.0"]]}
    saved = Sources.of_environment({**environment, "commit": "c" * 40, "dirty": False})
    here = with_packages(with_trees(OWN), torch_geometric="2.8.1")
    assert variant(saved, here) == f"git:{'c' * 40} pip:torch_geometric==2.7.0"
    assert (
        variant(saved, with_packages(with_trees(replace(OWN, commit="c" * 40)), torch_geometric="2.7.0"))
        == "."
    )
    without_git = Sources.of_environment({**environment, "commit": None, "dirty": None})
    assert fails(without_git, here) == "this project was not in git, so its commit is unknown"


def test_a_real_repository_is_rebuilt(repository, prepare, monkeypatch):
    monkeypatch.syspath_prepend(repository)
    monkeypatch.setitem(sys.modules, "thing", None)  # so that it is removed after the test
    del sys.modules["thing"]
    import_module("thing")
    saved = Sources.from_json(json.loads(json.dumps(collect(repository, LEFT).as_json())))
    assert variant(saved, collect(repository, LEFT)) == "."
    first = git(repository, "rev-parse", "HEAD")
    commit(repository, 4)
    text = variant(saved, collect(repository, LEFT))
    assert text == f"git:{first}"
    with prepare(text, repository) as made:
        assert repositories.version(made) == 3
