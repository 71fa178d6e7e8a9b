import shlex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.process.variants.pip import is_pinned
from gnnbench.engine.process.variants.variant import (
    Commit,
    Folder,
    Requirement,
    Variable,
    Variant,
    is_local,
    parse,
)

_URL = "a @ https://example.org/a-1-py3-none-any.whl"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (".", []),
        ("git:main", [Commit("main")]),
        ("git:pyg@2.7.0", [Commit("pyg@2.7.0")]),
        ("git:/a@b@feature/ü", [Commit("feature/ü", "/a@b")]),
        ("git:~/pyg@main@{1}", [Commit("main@{1}", "~/pyg")]),
        ("git:./pyg@@", [Commit("@", "./pyg")]),
        (". git:../a@1", [Commit("1", "../a")]),
        ("git:../b@2 git:main git:../a@1", [Commit("2", "../b"), Commit("main"), Commit("1", "../a")]),
        ("path:'a b' git:../a@1", [Folder("a b"), Commit("1", "../a")]),
        (r"path:a\ b", [Folder("a b")]),
        ("pip:a==1 pip:b>=2,<3", [Requirement("a==1"), Requirement("b>=2,<3")]),
        ("pip:'a[x] >= 2; python_version > \"3\"'", [Requirement('a[x] >= 2; python_version > "3"')]),
        (f"pip:'{_URL}'", [Requirement(_URL)]),
        ("pip:.", [Requirement(".")]),
        ("env:A='x y=z' env:_b2=: env:C=", [Variable("A", "x y=z"), Variable("_b2", ":"), Variable("C", "")]),
    ],
)
def test_a_variant_is_its_parts(text, parts):
    assert parse(text) == Variant(text, tuple(parts))


@pytest.mark.parametrize(
    ("message", "texts"),
    [
        ("is empty", ["", "  "]),
        ("'' is not part", ["''"]),
        ("is incomplete: no", ["git:'main", "git:main\\"]),
        ("unknown part of a variant 'gti': did you mean git", ["gti:main"]),
        ("unknown part", ["https://example.org", "'gi\nt:main'"]),
        (r"did you mean 'git:main' or 'path:main'\?", ["main"]),
        (r"did you mean 'env:A=1'\?", ["A=1"]),
        (r"did you mean 'pip:torch==2'\?", ["torch==2"]),
        ("has no value: give .* env:NAME=VALUE", ["env:"]),
        ("has two sources of code", [". .", "git:a path:b", "git:a 'path:b\nc'"]),
        (
            "has two sources of code for one folder, 'git:a' and 'git:b'",
            ["git:a git:b", "git:a git:../c@1 git:b"],
        ),
        ("'.' and 'git:a': give one", [". git:a"]),
        ("'git:../pyg' names a folder but no commit: add @REF", ["git:../pyg"]),
        ("'git:../a@1' and 'git:../a/@2': give one", ["git:../a@1 git:../a/@2"]),
        (
            "is not a requirement",
            [
                "pip:a=1",
                "pip:'a\n--pre'",
                "pip:https://e.org/a.whl",
                "pip:-r pip:x",
                "pip:--index-url=http://evil",
            ],
        ),
        ("give its path", ["pip:'a @ file:///x.whl'"]),
        ("is not a variable name and a value", ["env:=1", "env:2A=1", "env:A-B=1"]),
    ],
)
def test_what_cannot_be_used_is_one_line(message, texts):
    for text in texts:
        with pytest.raises(UsageError, match=message):
            parse(text)


@given(st.text().map("/".__add__))
@example("/a b'\"$(rm)\n\\@{1}")
def test_any_folder_can_be_quoted(folder):
    text = shlex.join(["git:1f3c", f"git:{folder}@abc", "pip:a==1"])
    if "\0" not in text:
        variant = parse(text)
        assert variant.parts == (Commit("1f3c"), Commit("abc", folder), Requirement("a==1"))


def test_a_release_is_pinned_by_equality_alone_and_local_is_what_looks_like_a_path():
    assert all(map(is_pinned, ("a==1", "a===1", "a[x]==1.0,>0")))
    assert not any(map(is_pinned, ("a", "a==1.*", "a>=1", "a~=1.0", "a @ https://e.org/a.whl")))
    assert all(map(is_local, (".", "./a", "../a", "/a", "~/a", "a.whl", "dist/A.WHL", "a.tar.gz")))
    assert not any(map(is_local, ("a", "a==1", "a @ https://example.org/a.whl", "a.b")))
