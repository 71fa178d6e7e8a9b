import shlex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnnbench.errors import UsageError
from gnnbench.variants.variant import Variant, is_local, is_pinned, parse


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (".", {}),
        (" .\t", {}),
        ("git:main", {"git": "main"}),
        ("git:feature/ü;rm", {"git": "feature/ü;rm"}),
        ("git:HEAD~20", {"git": "HEAD~20"}),
        ("git:pyg@2.7.0", {"git": "pyg@2.7.0"}),
        ("git:@{1}", {"git": "@{1}"}),
        ("git:../pyg@2.7.0", {"checkouts": (("../pyg", "2.7.0"),)}),
        ("git:/a@b@feature/ü", {"checkouts": (("/a@b", "feature/ü"),)}),
        ("git:~/pyg@main@{1}", {"checkouts": (("~/pyg", "main@{1}"),)}),
        ("git:.@@{upstream}", {"checkouts": ((".", "@{upstream}"),)}),
        ("git:./pyg@@", {"checkouts": (("./pyg", "@"),)}),
        ("git:'../my pyg@v1'", {"checkouts": (("../my pyg", "v1"),)}),
        (". git:../a@1", {"checkouts": (("../a", "1"),)}),
        ("path:x git:../a@1", {"path": "x", "checkouts": (("../a", "1"),)}),
        (
            "git:../b@2 git:main git:../a@1 pip:a==1 env:A=1",
            {
                "git": "main",
                "checkouts": (("../b", "2"), ("../a", "1")),
                "pip": ("a==1",),
                "env": (("A", "1"),),
            },
        ),
        ("path:../other", {"path": "../other"}),
        ("path:'a b'", {"path": "a b"}),
        (r"path:a\ b", {"path": "a b"}),
        ("path:C:x", {"path": "C:x"}),
        ("pip:torch_geometric==2.4.0", {"pip": ("torch_geometric==2.4.0",)}),
        ("pip:a==1 pip:b>=2,<3", {"pip": ("a==1", "b>=2,<3")}),
        ("pip:'a[x] >= 2; python_version > \"3\"'", {"pip": ('a[x] >= 2; python_version > "3"',)}),
        ("pip:'a @ https://example.org/a-1-py3-none-any.whl'", None),
        ("pip:./dist/x.whl", {"pip": ("./dist/x.whl",)}),
        ("pip:x-1-py3-none-any.whl", {"pip": ("x-1-py3-none-any.whl",)}),
        ("pip:.", {"pip": (".",)}),
        ("env:A=1", {"env": (("A", "1"),)}),
        ("env:A=", {"env": (("A", ""),)}),
        ("env:A='x y=z' env:_b2=:", {"env": (("A", "x y=z"), ("_b2", ":"))}),
        ("env:A=' x'", {"env": (("A", " x"),)}),
        (". env:A=1", {"env": (("A", "1"),)}),
        (
            "env:A=1 git:main pip:a==1 env:A=2",
            {"git": "main", "pip": ("a==1",), "env": (("A", "1"), ("A", "2"))},
        ),
    ],
)
def test_a_variant_is_its_parts(text, fields):
    if fields is None:
        fields = {"pip": (text[5:-1],)}
    assert parse(text) == Variant(text, **fields)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "variant '' is empty: give git:REF"),
        ("  ", "is empty"),
        ("''", "'' is not part"),
        ("git:'main", "is incomplete: no closing quotation"),
        ("git:main\\", "is incomplete: no escaped character"),
        ("git:a\0b", "null character"),
        ("gti:main", "unknown part of a variant 'gti': did you mean git"),
        ("https://example.org", "unknown part of a variant 'https'"),
        ("main", r"did you mean 'git:main or path:main'\?"),
        ("A=1", r"did you mean 'env:A=1'\?"),
        ("torch==2", r"did you mean 'pip:torch==2'\?"),
        ("git:", "give git:REF"),
        ("path:", "give path:DIR"),
        ("pip:", "give pip:REQUIREMENT"),
        ("env:", "give env:NAME=VALUE"),
        ("git:a git:b", "has 2 sources of code, 'git:a' and 'git:b'"),
        ("git:a path:b", "has 2 sources of code"),
        (". git:a", "has 2 sources of code, '.' and 'git:a'"),
        (". .", "has 2 sources of code"),
        ("git:a git:../c@1 git:b", "has 2 sources of code, 'git:a' and 'git:b'"),
        ("git:../pyg", "'git:../pyg' names a folder but no commit: add @REF"),
        ("git:../pyg@", "add @REF"),
        ("git:'~/py\ng@{1}'", "add @REF"),
        ("git:../a@1 git:../a/@2", "two commits of one folder"),
        ("git:--upload-pack=x", "looks like an option of git"),
        ("git:' -f'", "looks like an option of git"),
        ("pip:-r pip:x", "looks like an option of pip"),
        ("pip:--index-url=http://evil", "looks like an option of pip"),
        ("pip:' --pre'", "looks like an option of pip"),
        ("pip:a=1", "is not a requirement"),
        ("pip:'a==1 --pre'", "is not a requirement"),
        ("pip:'a\n--pre'", "is not a requirement"),
        ("pip:https://example.org/a.whl", "is not a requirement"),
        ("pip:'a @ file:///x.whl'", "give its path"),
        ("env:A", "sets nothing"),
        ("env:=1", "'' is not a variable name"),
        ("env:2A=1", "is not a variable name"),
        ("env:A-B=1", "is not a variable name"),
        ("'gi\nt:main'", "unknown part"),
        ("git:a 'path:b\nc'", "has 2 sources of code"),
    ],
)
def test_what_cannot_be_used_is_one_line(text, message):
    with pytest.raises(UsageError, match=message) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


PART = st.tuples(
    st.sampled_from(["git:", "git:/", "path:", "pip:", "env:", ".", "x:", "pip:a==", "pip:a;", ""]), st.text()
)


@given(st.text().map("/".__add__))
@example("/a b'\"$(rm)\n\\@{1}")
def test_any_folder_can_be_quoted(folder):
    text = shlex.join(["git:1f3c", f"git:{folder}@abc", "pip:a==1"])
    if "\0" not in text:
        variant = parse(text)
        assert (variant.git, variant.checkouts, variant.pip) == ("1f3c", ((folder, "abc"),), ("a==1",))


@given(st.text() | st.lists(PART.map("".join)).map(" ".join))
@example("pip:a;" + "(" * 5000)
@example("pip:a==" + "1" * 5000)
@example("pip:'a;" + "(" * 5000 + 'os_name==""' + ")" * 5000 + "'")
def test_arbitrary_text_is_read_or_refused_in_one_line(text):
    try:
        variant = parse(text)
    except UsageError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017 - most text is read
    else:
        for requirement in variant.pip:
            assert is_local(requirement) or is_pinned(requirement) in {True, False}


def test_a_release_is_pinned_by_equality_alone():
    assert [is_pinned(one) for one in ("a==1", "a===1", "a[x]==1.0,>0")] == [True] * 3
    assert not any(is_pinned(one) for one in ("a", "a==1.*", "a>=1", "a~=1.0", "a @ https://e.org/a.whl"))


def test_local_is_what_looks_like_a_path():
    assert all(map(is_local, (".", "./a", "../a", "/a", "~/a", "a.whl", "dist/A.WHL", "a.tar.gz")))
    assert not any(map(is_local, ("a", "a==1", "a @ https://example.org/a.whl", "a.b")))
