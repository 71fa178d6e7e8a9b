"""Which file has a module, and what a side's files contain."""

import pytest

from gnnbench.engine.process.unchanged.code_tree import ABSENT, CodeTree
from gnnbench.engine.process.variants.prepare import Prepared


@pytest.fixture
def tree(tmp_path):
    """Return the tree of a side with these files, in its first or its second root."""

    def made(*files, suite=()):
        roots = tmp_path / "src", tmp_path / "flat"
        for root in roots:
            root.mkdir(exist_ok=True)
        for file in files:
            path = tmp_path / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file)
        given = Prepared("path:", roots, {}, None, dirty=False, versions={}, has_code=True)
        return CodeTree(given, tmp_path, suite)

    return made


@pytest.mark.parametrize(
    ("files", "module", "found"),
    [
        (["src/a.py"], "a", "a.py"),
        (["src/a.py", "src/a/__init__.py"], "a", "a/__init__.py"),
        (["flat/a.py", "src/a.py"], "a", "a.py"),
        (["src/a/__init__.py"], "a.b", ABSENT),
        (["src/a/__init__.py", "src/a/b.py"], "a.b", "a/b.py"),
        (["src/a/__init__.py", "src/a/b/c.py"], "a.b", "a/b/"),
        (["src/a/x.py"], "a", "a/"),
        (["src/a.abi3.so", "src/a.py"], "a", "a.abi3.so"),
        (["src/tests/x.py"], "tests.x", ABSENT),
    ],
)
def test_the_file_of_a_module_is_that_which_python_loads(tree, files, module, found):
    assert tree(*files).resolved(module) == found


def test_a_file_has_the_name_below_the_first_root_that_has_it(tree, tmp_path):
    found = tree("src/a.py", "flat/a.py", "flat/b.py", "flat/tests/c.py")
    paths = ("src/a.py", "flat/a.py", "flat/b.py", "flat/tests/c.py", "else.py")
    assert [found.name(str(tmp_path / one)) for one in paths] == ["a.py", None, "b.py", None, None]
    assert found.name(str(tmp_path / "flat")) == "."
    assert found.content("a.py") == b"src/a.py"
    assert found.digest("a.py") != found.digest("b.py") != found.digest("c.py") == ABSENT


@pytest.mark.parametrize(("link", "target"), [("src/a/b.py", "{}.py"), ("src/a", "{}")])
def test_a_link_that_leads_elsewhere_is_another_file(tree, tmp_path, link, target):
    path = tmp_path / link
    path.parent.mkdir(parents=True)
    found = []
    for number in "12":
        path.unlink(missing_ok=True)
        path.symlink_to(target.format(number))
        found.append(tree(f"src/{number}/b.py", f"src/a/{number}.py").resolved("a.b"))
    assert found[0] != found[1]
