"""Which modules a package has, and what a side's files contain."""

import pytest

from gnnbench.engine.process.unchanged.code_tree import ABSENT, CodeTree
from gnnbench.engine.process.variants.variant import Prepared


@pytest.fixture
def tree(tmp_path):
    """Return the tree of a side with these files, in its first or its second root."""

    def made(*files):
        roots = tmp_path / "src", tmp_path / "flat"
        for root in roots:
            root.mkdir(exist_ok=True)
        for file in files:
            path = tmp_path / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file)
        given = Prepared("path:", roots, has_code=True)
        return CodeTree(given, tmp_path, ())

    return made


@pytest.mark.parametrize(
    ("file", "is_seen"),
    [
        ("src/a/b/c.py", True),
        ("src/a.py", False),
        ("flat/a.py", False),
        ("flat/a/c.py", False),
        ("src/a/tests/c.py", False),
        ("src/a/.checkpoints/c.py", False),
    ],
)
def test_the_modules_of_a_package_are_those_of_the_first_root_that_has_it(tree, file, is_seen):
    before = tree("src/a/__init__.py", "src/a/b.py").package("a")
    assert before != ABSENT
    assert (tree(file).package("a") != before) == is_seen


def test_a_file_has_the_name_below_the_first_root_that_has_it(tree, tmp_path):
    found = tree("src/a.py", "flat/a.py", "flat/b.py", "flat/tests/c.py")
    paths = ("src/a.py", "flat/a.py", "flat/b.py", "flat/tests/c.py", "else.py")
    assert [found.name(str(tmp_path / one)) for one in paths] == ["a.py", None, "b.py", None, None]
    assert found.name(str(tmp_path / "flat")) == "."
    assert found.content("a.py") == b"src/a.py"
    assert found.digest("a.py") != found.digest("b.py") != found.digest("c.py") == ABSENT
    assert found.digest("/proc/self/mem") == ABSENT, "a file that cannot be read"
