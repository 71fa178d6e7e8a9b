import pytest

from tests.cli import saved
from tests.gfm import render
from tests.github_server import ME, TOKEN, github


@pytest.fixture(autouse=True)
def _nobody_s_variables(monkeypatch):
    for name in ("GITHUB_TOKEN", "GITHUB_API_URL", "GITHUB_REPOSITORY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server(monkeypatch):
    """GitHub, with this user's token and repository in the variables."""
    with github() as server:
        monkeypatch.setenv("GITHUB_API_URL", server.root)
        monkeypatch.setenv("GITHUB_REPOSITORY", "o/r")
        monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
        yield server


def test_a_hostile_name_is_text_in_a_file_too(tmp_path, call):
    file = tmp_path / "comment.md"
    assert call("comment", saved.ab(tmp_path), "-o", str(file)) == (0, "", "")
    assert render(file.read_text()).rows[1][0] == "b[<b>|@x]"


def test_a_comment_is_created_and_updated_and_a_refusal_is_exit_2(tmp_path, call, server):
    link = "https://example.org/page"
    words = [saved.ab(tmp_path), "--title", "GCN", "--details-url", link, "--pull-request", "7"]
    for said in ("created", "updated"):
        status, out, err = call("comment", *words)
        assert (status, out) == (0, f"{said} {server.comments[0]['html_url']}\n"), err
    (posted,) = server.comments
    assert posted["user"]["login"] == ME
    assert posted["body"].startswith("**1 of 2 benchmarks is slower**")
    assert f"({link})" in posted["body"]
    server.failures = [None, {"status": 403, "message": "Resource not accessible by integration"}]
    status, _, err = call("comment", *words)
    assert (status, err.count("\n")) == (2, 1)
    assert "pull-requests: write" in err


TO_A_PULL_REQUEST = ("--pull-request", "7", "--repository", "o/r")


@pytest.mark.parametrize(
    ("words", "variables", "text"),
    [
        (TO_A_PULL_REQUEST, {}, "GITHUB_TOKEN must be set to a token"),
        (["--pull-request", "x", "--repository", "o/r"], {"GITHUB_TOKEN": TOKEN}, "pull request 'x'"),
        (
            TO_A_PULL_REQUEST,
            {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": "http://example.org"},
            "use https",
        ),
    ],
)
def test_what_cannot_be_used_is_a_line(tmp_path, call, monkeypatch, words, variables, text):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    status, _, err = call("comment", saved.ab(tmp_path), *words)
    assert status == 2
    assert text in err
    assert err.count("\n") == 1
    assert TOKEN not in err
