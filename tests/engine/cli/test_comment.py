import pytest

from gnnbench.engine.ground.errors import UsageError
from gnnbench.engine.show.github import PullRequest, marker
from tests.engine.cli import saved
from tests.gh import ME, TOKEN, GitHub


@pytest.fixture
def github(tmp_path, monkeypatch):
    """`gh`, with this user's token and repository in the variables."""
    github = GitHub(tmp_path / "gh")
    for name, value in {"GITHUB_REPOSITORY": "o/r", "GITHUB_TOKEN": TOKEN, "PATH": github.path}.items():
        monkeypatch.setenv(name, value)
    return github


def test_a_comment_is_created_and_updated_and_a_refusal_is_exit_2(tmp_path, call, github, monkeypatch):
    link = "https://example.org/page"
    words = [saved.ab(tmp_path), "--title", "GCN", "--details-url", link, "--pull-request", "7"]
    for said in ("created", "updated"):
        status, out, err = call("comment", *words)
        (posted,) = github.read()["comments"]
        assert (status, out) == (0, f"{said} {posted['html_url']}\n"), err
    assert posted["user"]["login"] == ME
    assert posted["body"].startswith("**1 of 2 benchmarks is slower**")
    assert posted["body"].endswith(f"{marker('GCN')}\n")
    assert f"({link})" in posted["body"]
    monkeypatch.setenv("GITHUB_TOKEN", "another")
    status, _, err = call("comment", *words)
    assert (status, err.count("\n")) == (2, 1)
    assert "Resource not accessible by integration (HTTP 403); its token needs `pull-requests: write`" in err


def test_nobody_else_s_comment_is_touched_nor_another_title_s(github):
    mine = marker("GCN")
    others = [
        github.add("someone", f"mine\n{mine}"),
        github.add("github-actions", f"mine\n{mine}"),
        github.add(None, f"mine\n{mine}"),  # the account is gone
        github.add(ME, f"`{mine}` in a name\n{marker('another')}"),
        github.add(ME, None),
    ]
    address, known = PullRequest.parse("o/r", "7").publish("body", mine)
    assert github.read()["comments"][:-1] == others
    assert (address, known) == (github.read()["comments"][-1]["html_url"], False)


def test_titles_have_markers_of_their_own_that_cannot_be_left():
    titles = ("", "a", "a-->", "a b", "A", "-->", "--", "ä", "%2d.", "-")
    assert len({marker(title) for title in titles}) == len(titles)
    for title in titles:
        text = marker(title)
        assert text.startswith("<!--")
        assert text.endswith("-->")
        assert "--" not in text[4:-3]


@pytest.mark.parametrize(
    ("repository", "number", "text"),
    [
        ("o/..", "7", "must be OWNER/NAME"),
        ("o/r", "0", "must be a number"),
        ("o/r", "7/x", "must be a number"),
    ],
)
def test_what_cannot_be_used_is_a_line(repository, number, text):
    with pytest.raises(UsageError, match=text):
        PullRequest.parse(repository, number)


def test_gh_that_is_missing_is_a_line(tmp_path, call, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    status, _, err = call("comment", saved.ab(tmp_path), "--pull-request", "7", "--repository", "o/r")
    assert (status, err.count("\n")) == (2, 1)
    assert "gh, which posts the comment, is not installed" in err
