import pytest

from gnnbench import git
from tests.variants import repositories
from tests.variants.repositories import create


@pytest.fixture
def repository(monkeypatch, tmp_path):
    repositories.without_settings(monkeypatch)
    return create(tmp_path / "repository")


def test_a_repository_is_described(repository, tmp_path):
    commit = repositories.git(repository, "rev-parse", "HEAD")
    assert git.state(repository) == (commit, False)
    assert git.tracked(repository) == {"thing"}
    assert git.tracked(repository / "thing") == {"__init__.py"}
    assert git.top(repository / "thing") == repository
    (repository / "new.py").write_text("")
    assert git.changed_files(repository) == 0, "of tracked ones"
    (repository / "thing" / "__init__.py").write_text("changed")
    assert git.changed_files(repository / "thing") == 1
    repositories.git(repository, "add", "new.py")
    assert git.changed_files(repository) == 2
    assert git.state(repository)[1]
    # A folder that git does not track has no names.
    ignored = repository / "lib" / "thing"
    ignored.mkdir(parents=True)
    (ignored / "__init__.py").write_text("")
    assert git.tracked(ignored.parent) == frozenset()
    assert git.tracked(tmp_path) == git.tracked(tmp_path / "missing") == frozenset()


def test_without_a_repository_or_git_nothing_is_known(repository, tmp_path, monkeypatch):
    repositories.git(tmp_path, "init", "-q", "empty")
    for folder in (tmp_path, tmp_path / "missing", tmp_path / "empty"):
        assert git.state(folder) == (None, False)
    assert git.top(tmp_path) == tmp_path
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git.state(repository) == (None, False)
    assert git.tracked(repository) == frozenset()


def test_a_hook_s_variables_are_another_repository_s(repository, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert git.tracked(repository) == {"thing"}
    assert not git.state(repository)[1]


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://github.com/pyg-team/geometric.git", "https://github.com/pyg-team/geometric"),
        ("https://user:secret@example.org:8443/a/b/", "https://example.org:8443/a/b"),
        ("http://example.org/a/b.js", "http://example.org/a/b.js"),
        ("git@github.com:a/b.git", "https://github.com/a/b"),
        ("ssh://git@example.org:2222/a/b.git", "https://example.org/a/b"),
        ("git://example.org/~a/b", "https://example.org/~a/b"),
        ("https://user:sec@ret@example.org/a/b", None),
        ("https://example.org/a/b?token=secret", None),
        ("javascript:alert(1)//https://example.org/a", None),
        ("alias:a/b.git", None),
        ("file:///srv/bare.git", None),
        ("/srv/bare.git", None),
        (None, None),
    ],
)
def test_the_web_address_of_a_repository(repository, remote, address):
    if remote:
        repositories.git(repository, "remote", "add", "origin", remote)
    assert git.web_address(repository) == address


def test_commits_are_known_or_not(repository, tmp_path):
    commit = repositories.git(repository, "rev-parse", "HEAD")
    assert git.has_any(repository, ["0" * 40, commit])
    for names in (["0" * 40, "unversioned", "HEAD", f"x\n{commit}", ""], []):
        assert not git.has_any(repository, names)
    assert not git.has_any(tmp_path, [commit])
