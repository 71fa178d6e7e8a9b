import shlex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.process.variants.variant import Variant, is_local, is_pinned, parse


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (".", {}),
        ("git:main", {"git": "main"}),
        ("git:pyg@2.7.0", {"git": "pyg@2.7.0"}),
        ("git:/a@b@feature/ü", {"checkouts": (("/a@b", "feature/ü"),)}),
        ("git:~/pyg@main@{1}", {"checkouts": (("~/pyg", "main@{1}"),)}),
        ("git:./pyg@@", {"checkouts": (("./pyg", "@"),)}),
        ("git:'../my pyg@v1'", {"checkouts": (("../my pyg", "v1"),)}),
        (". git:../a@1", {"checkouts": (("../a", "1"),)}),
        ("git:../b@2 git:main git:../a@1", {"git": "main", "checkouts": (("../b", "2"), ("../a", "1"))}),
        ("path:'a b' git:../a@1", {"path": "a b", "checkouts": (("../a", "1"),)}),
        (r"path:a\ b", {"path": "a b"}),
        ("pip:a==1 pip:b>=2,<3", {"pip": ("a==1", "b>=2,<3")}),
        ("pip:'a[x] >= 2; python_version > \"3\"'", {"pip": ('a[x] >= 2; python_version > "3"',)}),
        ("pip:'a @ https://example.org/a-1-py3-none-any.whl'", None),
        ("pip:.", {"pip": (".",)}),
        ("env:A='x y=z' env:_b2=: env:C=", {"env": (("A", "x y=z"), ("_b2", ":"), ("C", ""))}),
    ],
)
def test_a_variant_is_its_parts(text, fields):
    if fields is None:
        fields = {"pip": (text[5:-1],)}
    assert parse(text) == Variant(text, **fields)


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
        ("give env:NAME=VALUE", ["env:"]),
        ("has 2 sources of code", [". .", "git:a path:b", "git:a 'path:b\nc'"]),
        ("has 2 sources of code, 'git:a' and 'git:b'", ["git:a git:b", "git:a git:../c@1 git:b"]),
        ("has 2 sources of code, '.' and 'git:a'", [". git:a"]),
        ("'git:../pyg' names a folder but no commit: add @REF", ["git:../pyg"]),
        ("two commits of one folder", ["git:../a@1 git:../a/@2"]),
        ("looks like an option of git", ["git:--upload-pack=x", "git:' -f'"]),
        ("looks like an option of pip", ["pip:-r pip:x", "pip:--index-url=http://evil", "pip:' --pre'"]),
        (
            "is not a requirement",
            ["pip:a=1", "pip:'a==1 --pre'", "pip:'a\n--pre'", "pip:https://e.org/a.whl"],
        ),
        ("give its path", ["pip:'a @ file:///x.whl'"]),
        ("is not a variable name", ["env:=1", "env:2A=1", "env:A-B=1"]),
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
        assert (variant.git, variant.checkouts, variant.pip) == ("1f3c", ((folder, "abc"),), ("a==1",))


def test_a_release_is_pinned_by_equality_alone_and_local_is_what_looks_like_a_path():
    assert all(map(is_pinned, ("a==1", "a===1", "a[x]==1.0,>0")))
    assert not any(map(is_pinned, ("a", "a==1.*", "a>=1", "a~=1.0", "a @ https://e.org/a.whl")))
    assert all(map(is_local, (".", "./a", "../a", "/a", "~/a", "a.whl", "dist/A.WHL", "a.tar.gz")))
    assert not any(map(is_local, ("a", "a==1", "a @ https://example.org/a.whl", "a.b")))
