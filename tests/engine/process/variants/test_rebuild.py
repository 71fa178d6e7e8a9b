import shlex
import sys
from dataclasses import replace
from importlib import import_module

import pytest

from gnnbench.engine.ground import codec
from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.ground.packages import version
from gnnbench.engine.measure.sources import Package, Sources, Tree, collect
from gnnbench.engine.process.variants.import_roots import TEST_NAMES
from gnnbench.engine.process.variants.rebuild import differences, variant
from tests.engine.process.variants import repositories
from tests.engine.process.variants.repositories import commit, git

OLDER = "a" * 7
OWN = Tree(".", "a" * 40, 0, ("kernels",), compiled=False)
PYG = Tree("../pyg", "b" * 40, 0, ("torch_geometric",), compiled=False)
SAVED = Sources("3.11", (OWN, PYG), {"torch": Package("2.13.0"), "thing": Package("1.0")})


def with_trees(*trees):
    return replace(SAVED, trees=trees)


def with_packages(sources=SAVED, **packages):
    given = {name: Package(one) if isinstance(one, str) else one for name, one in packages.items()}
    return replace(sources, packages={**sources.packages, **given})


C = "c" * 40
OLD, NEW = (Package("1.0", f"git+https://example.org/thing@{one * 40}") for one in "ab")
WAS, IS = with_packages(thing=OLD), with_packages(thing=NEW)
RELEASED = with_packages(with_trees(OWN), torch_geometric="2.7.0")
INSTALLED = with_packages(pytest=version("pytest"), numpy="1.0")
MOVED = with_trees(OWN, replace(PYG, commit="d" * 40, changed_files=2))
ALL = with_packages(with_trees(replace(OWN, changed_files=1), replace(PYG, commit=C)), thing="2")
ALL_SAID = [f"this project {OLDER} → {OLDER} and 1 changed file", "../pyg bbbbbbb → ccccccc", "thing 1.0 → 2"]
CUDA = f"cuda_bindings 13 → {version('cuda_bindings') or 'none'}"
TRITON = f"triton 3.7.0 → {version('triton') or 'none'}"
COMMIT, CHECKOUT = f"git:{'a' * 40}", f"git:../pyg@{'b' * 40}"


def own(**change):
    return with_trees(replace(OWN, **change), PYG)


@pytest.mark.parametrize(
    ("saved", "here", "text", "said"),
    [
        (SAVED, SAVED, ".", []),
        (SAVED, own(commit=C), COMMIT, ["this project aaaaaaa → ccccccc"]),
        (SAVED, own(changed_files=1), COMMIT, [f"this project {OLDER} → {OLDER} and 1 changed file"]),
        (SAVED, own(commit=None), COMMIT, ["this project aaaaaaa → no commit"]),
        # A project of which nothing is imported needs no commit.
        (own(packages=()), own(packages=(), commit=C), ".", ["this project aaaaaaa → ccccccc"]),
        (SAVED, MOVED, CHECKOUT, ["../pyg bbbbbbb → ddddddd and 2 changed files"]),
        (SAVED, with_packages(thing="1.1"), "pip:thing==1.0", ["thing 1.0 → 1.1"]),
        # What is installed need not have been imported today.
        (INSTALLED, SAVED, "pip:numpy==1.0", [f"numpy 1.0 → {version('numpy')}"]),
        (SAVED, ALL, f"{COMMIT} {CHECKOUT} pip:thing==1.0", ALL_SAID),
        # A package comes from where it came from.
        (WAS, IS, f"'pip:thing @ {OLD.origin}'", [f"thing 1.0 from {OLD.origin} → 1.0 from {NEW.origin}"]),
        (WAS, SAVED, f"'pip:thing @ {OLD.origin}'", [f"thing 1.0 from {OLD.origin} → 1.0"]),
        (SAVED, WAS, "pip:thing==1.0", [f"thing 1.0 → 1.0 from {OLD.origin}"]),
        # A package that became a checkout, and back.
        (RELEASED, SAVED, "pip:torch_geometric==2.7.0", ["torch_geometric 2.7.0 → ../pyg"]),
        (SAVED, RELEASED, CHECKOUT, ["torch_geometric ../pyg → 2.7.0", "../pyg bbbbbbb → none"]),
        # A library that today's run imports too.
        (SAVED, with_packages(torch="2.14.0"), "pip:torch==2.13.0", ["torch 2.13.0 → 2.14.0"]),
        (
            with_packages(torch="2.12.0", triton="3.7.0", cuda_bindings="13"),  # which torch brings
            SAVED,
            "pip:torch==2.12.0",
            ["torch 2.12.0 → 2.13.0", CUDA, TRITON],
        ),
        (with_packages(triton="3.7.0"), SAVED, "pip:triton==3.7.0", [TRITON]),
        (SAVED, with_packages(torch_sparse="0.6.18"), ".", ["torch_sparse none → 0.6.18"]),
    ],
)
def test_what_builds_the_saved_code_again_and_what_differs(saved, here, text, said):
    assert variant(saved, here) == text
    assert differences(saved, here) == said


def test_what_is_not_imported_today_and_a_folder_of_an_odd_name():
    here = replace(SAVED, packages={"torch": Package("2.13.0")})
    assert variant(SAVED, here) == "pip:thing==1.0"
    odd = with_trees(OWN, replace(PYG, path="../my pyg"))
    assert shlex.split(variant(odd, SAVED)) == [f"git:../my pyg@{'b' * 40}"]
    elsewhere = with_packages(torch=Package("2.13.0", "https://example.org/torch.whl"))
    assert variant(SAVED, elsewhere) == "."


LOOSE = with_trees(OWN, replace(PYG, commit=None))
LOCAL = with_packages(thing=Package("1.0", "file:///home/a/thing-1.0.whl#installed=0123"))
UNKNOWN = "this project was not in git, so its commit is unknown"


@pytest.mark.parametrize(
    ("saved", "here", "reason"),
    [
        (SAVED, replace(SAVED, python="3.12"), "it ran on Python 3.11, and this is Python 3.12"),
        (
            own(compiled=True),
            own(commit=C),
            "this project changed since aaaaaaa, and has compiled parts: give --gnn-build",
        ),
        (LOOSE, with_trees(OWN), "../pyg was not in git, so its commit is unknown"),
        (own(commit=None), own(commit=None), UNKNOWN),
        (LOCAL, SAVED, "thing 1.0 was installed from a local file or folder"),
    ],
)
def test_what_cannot_be_built_says_why(saved, here, reason):
    with pytest.raises(UsageError) as caught:
        variant(saved, here)
    assert str(caught.value) == f"the saved code cannot be rebuilt: {reason}"


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
        f"this project {OLDER} → {OLDER} and 2 changed files",
        "Python 3.11 → 3.12",
        "p0 1 → 2",
        "p1 1 → 2",
        "and 7 others",
    ]


def test_a_real_repository_is_rebuilt(repository, prepare, monkeypatch):
    monkeypatch.syspath_prepend(repository)
    monkeypatch.setitem(sys.modules, "thing", None)  # so that it is removed after the test
    del sys.modules["thing"]
    import_module("thing")
    saved = codec.decode(codec.encode(collect(repository, TEST_NAMES)), Sources)
    assert variant(saved, collect(repository, TEST_NAMES)) == "."
    first = git(repository, "rev-parse", "HEAD")
    commit(repository, 4)
    text = variant(saved, collect(repository, TEST_NAMES))
    assert text == f"git:{first}"
    with prepare(text, repository) as made:
        assert repositories.version(made) == 3


def test_compiled_parts_are_built_by_a_command():
    assert variant(own(compiled=True), own(commit=C), is_built=True) == f"git:{OWN.commit}"
